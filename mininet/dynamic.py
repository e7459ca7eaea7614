# SPDX-License-Identifier: Apache-2.0
"""The dynamic experiment: an instance is reserved through the control API, and
workers come and go while five sources send.

    daq1 --.                  .-- cn1  cn2  cn3  cn4   there from the beginning
    daq2 --+                  +-- cn5  cn6             join
     ...   +-- Open vSwitch --+-- cn2                  leaves
    daq5 --'        |         +-- cn4                  slows down: its control
                  evlbd       |                        signal is below 0
                              `-- cn1                  dies

Nobody tells evlbd anything but the workers and the sources themselves, as they
would at an experiment: a worker registers and reports, a source sends Sync.
The control loop connects the epochs.  Then every packet is accounted for by the
logs of both ends, and by what the switch has committed.
"""

import collections
import json
import os
import shutil
import signal
import time

import account
import lab

INSTANCE = "demo"
HOST = "10.42.0.250"
API = HOST + ":19523"
MAC = "02:65:76:6c:%02x:%02x"
BASE = 20000
BITS = 2
SOURCES = range(1, 6)
WORKERS = range(1, 7)
FIRST = (1, 2, 3, 4)            # Workers that are there from the beginning.
SLOW = 4                        # The one that is slow, and what it reports.
SLOW_SIGNAL = "-40"
SECONDS = 26
# What happens, so many seconds after the first event.
PLAN = [(4, "join", 5), (8, "join", 6), (12, "leave", 2), (17, "die", 1)]

CONFIG = """
openflow = { listen = [ "tcp:127.0.0.1:6653" ]; };
api = {
    listen = [ "tcp:%(api)s" ];
    allow_plain = true;         # A network of the demo's own.
    root_token = "%(token)s";
    public_address = "%(api)s";
};
l2_miss = "normal";
bridges = (
    { name = "br0"; datapath_id = "000065766c620001";
      lead_probe = { interface = "probe1"; port = "probe0"; }; }
);
interfaces = (
    { name = "data"; mac = "02:65:76:6c:62:01";
      networks = [ "10.42.0.0/24" ]; }
);
instances = (
    { name = "demo"; id = 0; addresses = [ "10.42.0.1" ];
      reservable = true;
      sync = "udp:%(host)s:19531"; }
);
"""


class Worker:
    """One registration of a node."""

    def __init__(self, number, process, log):
        self.number = number
        self.process = process
        self.log = log
        self.died = False


class Dynamic:
    """One run, whose files are in 'out'."""

    def __init__(self, out, rate, progress):
        self.out = out
        self.rate = rate
        self.progress = progress
        self.members = {}           # Member id -> number of the node.
        self.workers = {}
        self.senders = []
        self.hosts = {}
        self.uri = None
        self.worst = (0, 0)
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        os.makedirs("/run/evlb", exist_ok=True)
        lab.add_probe()
        self.switch = lab.Switch(out, "br0", "000065766c620001")
        self.controller = None

    def path(self, name):
        """Returns the path of a file of the run."""
        return os.path.join(self.out, name)

    def configuration(self, token):
        """Returns the configuration of evlbd."""
        return CONFIG % {"api": API, "host": HOST, "token": token,
                         "out": self.out}

    # Setting up.

    def set_up(self):
        """Makes hosts, connects them, and reserves the instance."""
        for i in SOURCES:
            self.add_host("daq%d" % i, MAC % (0, i), "10.42.0.%d" % (10 + i))
        for i in WORKERS:
            self.add_host("cn%d" % i, MAC % (1, i), "10.42.0.%d" % (100 + i))
        self.switch.add_port("probe0")
        # The host's own port: the control API is there, and Sync comes in.
        lab.run("sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1")
        lab.run("sysctl", "-qw", "net.ipv6.conf.br0.disable_ipv6=1")
        lab.run("ip", "address", "add", HOST + "/24", "dev", "br0")
        lab.run("ip", "link", "set", "br0", "up")
        with open("/dev/urandom", "rb") as random:
            token = random.read(16).hex()
        self.controller = lab.Controller(self.out, self.configuration(token))
        self.switch.set_controller("tcp:127.0.0.1:6653")
        self.switch.vsctl("set", "controller", "br0", "max_backoff=1000")
        lab.wait_for("the switch", lambda: '"state": "ready"'
                     in self.evlbctl("--json", "targets"))
        self.uri = self.evlbctl(
            "reserve", "dynamic", "--for", "1h",
            *[arg for i in SOURCES
              for arg in ("--sender", "10.42.0.%d" % (10 + i))]).strip()

    def add_host(self, name, mac, address):
        """Adds a host to the bridge."""
        self.hosts[name] = lab.Host(name, mac, [address + "/24"])
        self.hosts[name].run("sysctl", "-qw",
                             "net.ipv6.conf.eth0.disable_ipv6=1")
        self.switch.add_port(name)

    def evlbctl(self, *args):
        """Runs evlbctl at evlbd's Unix socket."""
        lab.wait_for("evlbd", lambda: os.path.exists("/run/evlb/evlbd.sock"))
        return lab.run(os.path.join(lab.BIN, "evlbctl"), *args)

    # Workers.

    def join(self, number, *options):
        """Has a node register."""
        name = "cn%d" % number
        process = self.hosts[name].start("recv-" + name, [
            "env", "EJFAT_URI=" + self.uri,
            os.path.join(lab.BIN, "evlb-recv"), "--listen",
            "10.42.0.%d" % (100 + number), "--port", str(BASE), "--ports",
            str(1 << BITS), "--name", name, "--ready-file",
            self.path("ready-" + name), "--event-log",
            self.path("events-%s.tsv" % name), "--timeout", "3", "--quiet",
            "--json", *options] + (["--control", SLOW_SIGNAL]
                                   if number == SLOW else []), self.out)
        self.workers[number] = Worker(number, process,
                                      self.path("events-%s.tsv" % name))

        def ready():
            process.check_alive()
            return os.path.exists(self.path("ready-" + name))
        lab.wait_for("evlb-recv on " + name, ready)

    def leave(self, number):
        """Has a node end as it should: it deregisters first."""
        self.workers[number].process.signal(signal.SIGTERM)

    def die(self, number):
        """Has a node vanish."""
        self.workers[number].process.signal(signal.SIGKILL)
        self.workers[number].died = True

    def status(self):
        """Returns what evlbd says of the reservation."""
        overview = json.loads(self.evlbctl("--json", "overview"))
        return overview["loadBalancers"][0]["status"]

    def note_members(self):
        """Notes which node is which member."""
        for m in json.loads(self.evlbctl("--json", "members"))["members"]:
            self.members[m["id"]] = int(m["ip"].rsplit(".", 1)[1]) - 100

    # Running.

    def start_senders(self, seconds=SECONDS):
        """Starts the sources, for so long; 0 for no end.  Ticks are about
        microseconds, the same ones at all sources."""
        start = time.time_ns() // 1000
        for i in SOURCES:
            self.senders.append(self.hosts["daq%d" % i].start(
                "send-daq%d" % i, [
                    "env", "EJFAT_URI=" + self.uri,
                    os.path.join(lab.BIN, "evlb-send"), "--port",
                    "16384-16391", "--sockets", "2", "--data-id", str(i),
                    "--tick-start", str(start), "--tick-step",
                    str(1000000 // self.rate), "--rate", str(self.rate),
                    "--events", str(seconds * self.rate), "--event-size", "2000-8000", "--entropy", "random", "--lb-version",
                    str(2 + i % 2), "--log", self.path("sent-daq%d.tsv" % i),
                    "--quiet", "--json"], self.out))

    def stream(self):
        """Sends, while workers come and go."""
        for number in FIRST:
            self.join(number)
        lab.wait_for("an epoch with all workers", lambda: len(
            [w for w in self.status().get("workers", [])
             if w.get("slotsAssigned")]) == len(FIRST))
        self.note_members()
        self.start_senders()
        begun = time.monotonic()
        plan = list(PLAN)
        while any(s.popen.poll() is None for s in self.senders):
            elapsed = time.monotonic() - begun
            if plan and elapsed >= plan[0][0]:
                _, what, number = plan.pop(0)
                self.progress.say("cn%d %s" % (number, {
                    "join": "joins", "leave": "leaves",
                    "die": "dies"}[what]))
                getattr(self, what)(number)
            self.note_members()
            self.show(elapsed)
            time.sleep(0.3)
        for sender in self.senders:
            sender.wait(5)
        time.sleep(4)               # Nodes give up what is incomplete.

    def show(self, elapsed):
        """Shows where the run is."""
        slots = {w["name"]: w.get("slotsAssigned", 0)
                 for w in self.status().get("workers", [])}
        self.progress.show("%4.0f s of %d  slots: %s" % (
            elapsed, SECONDS, "  ".join(
                "%s %3d" % item for item in sorted(slots.items()))))

    def finish(self):
        """Ends all of it and returns the account."""
        slots = self.status()
        for worker in self.workers.values():
            worker.process.stop()
        epochs = account.read_epochs(self.controller.epoch_log, INSTANCE)
        report = self.account(epochs)
        report["final_status"] = slots
        self.controller.process.stop()
        self.switch.stop()
        return report

    # The account.

    def expected(self, epochs):
        """Returns {(tick, data id): [packets, node, port]} of what was
        sent."""
        places = {m: (BASE, BITS) for m in self.members}
        events = {}
        for i in SOURCES:
            for packet in account.read_log(self.path("sent-daq%d.tsv" % i)):
                key = int(packet["tick"]), int(packet["data_id"])
                if key not in events:
                    route = account.destination(epochs, places, packet)
                    events[key] = [0, self.members[route[1]] if route else
                                   None, route[2] if route else None]
                events[key][0] += 1
        return events

    def account(self, epochs):
        """Compares what was sent with what arrived."""
        expected = self.expected(epochs)
        seen = collections.defaultdict(set)
        report = collections.Counter(
            events=len({tick for tick, _ in expected}),
            packets=sum(n for n, _, _ in expected.values()),
            epochs=len(epochs), lost=0, lost_at_dead=0, split=0, misrouted=0,
            incomplete=0)
        for worker in self.workers.values():
            for event in self.read_events(worker):
                key = int(event["event_num"]), int(event["data_id"])
                seen[key].add(worker.number)
                if event["status"] != "complete":
                    report["incomplete"] += 1
                if expected.get(key, [0, 0, 0])[1:] != [
                        worker.number, int(event["port"])]:
                    report["misrouted"] += 1
        nodes = collections.defaultdict(set)
        for (tick, _), places in seen.items():
            nodes[tick] |= places
        report["split"] = sum(len(places) > 1 for places in nodes.values())
        for key, (_, node, _) in expected.items():
            if key not in seen:
                dead = node in self.workers and self.workers[node].died
                report["lost_at_dead" if dead else "lost"] += 1
        return dict(report)

    @staticmethod
    def read_events(worker):
        """Yields the events that a node logged; the log of one that died may
        end in the middle of a line."""
        with open(worker.log, encoding="utf-8") as log:
            columns = log.readline().rstrip("\n").split("\t")
            for line in log:
                values = line.rstrip("\n").split("\t")
                if line.endswith("\n") and len(values) == len(columns):
                    yield dict(zip(columns, values))
