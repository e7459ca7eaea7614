# SPDX-License-Identifier: Apache-2.0
"""The experiment of the demo: five sources, ten compute nodes, three epochs.

    daq1 --.                  .-- cn0   epoch 1: cn0 alone
    daq2 --+                  +-- cn1   epoch 2: cn4, cn5, cn6
     ...   +-- Open vSwitch --+-- ...   epoch 3: all ten, cn5 with twice the
    daq5 --'        |         '-- cn9            share of any other
                  evlbd

All sources send packets of the same events, out of order, each source a while
behind the one before.  Epochs 2 and 3 are connected by evlbctl while events
flow.  Everything that enters and leaves the switch is captured; audit.py
accounts for it.
"""

import json
import os
import re
import shutil
import sys
import time

import capture
import lab

BALANCER = "10.42.0.1"
INSTANCE = "demo"
MAC = "02:65:76:6c:%02x:%02x"
# The host of evlbd, on the bridge.
HOST = "10.42.0.250"
PORT = 20000
# What the switch needs to take up a change, as evlbd takes it to be if it has
# not measured it.
LEAD = 0.3
# Ticks are a little over four milliseconds' worth of microseconds apart, an
# odd number, so that every slot is met.
STEP = 4001
# For each source: bytes of its part of an event, packets that may overtake
# one, version of the header.  The last one sends one packet of each event.
SOURCES = {1: ("3000-10000", 8, 2), 2: ("1000-14000", 16, 3),
           3: ("4000-9000", 24, 2), 4: ("7000", 0, 3), 5: ("100-1400", 6, 3)}
PACKETS_PER_EVENT = 21.6
# How far each source is behind the one before, in seconds.
LAG = 0.3
# Members and their weights.
EPOCHS = [{0: 1}, {4: 1, 5: 1, 6: 1}, {m: 1 + (m == 5) for m in range(10)}]
# A boundary is a multiple of this, so that prefixes are few.
GRAIN = 1 << 18


class Progress:
    """Says how far things are: on a terminal in one line that changes."""

    def __init__(self, quiet=False):
        self.quiet = quiet
        self.tty = sys.stdout.isatty()
        self.begun = time.monotonic()
        self.shown = 0.0
        self.dirty = False
        self.last = (self.begun, 0)

    def say(self, text):
        """Prints a line that stays."""
        if not self.quiet:
            print("%s%6.1f s  %s" % ("\r\033[K" if self.dirty else "",
                                     time.monotonic() - self.begun, text),
                  flush=True)
            self.dirty = False

    def is_due(self):
        """Returns true if it is time to show something again."""
        return not self.quiet and (time.monotonic() - self.shown
                                   >= (0.25 if self.tty else 4))

    def show(self, text):
        """Shows where the run is, if it is time."""
        if self.is_due():
            self.shown = time.monotonic()
            text = "%6.1f s  %s" % (self.shown - self.begun, text)
            print("\r" + text + "\033[K" if self.tty else text,
                  end="" if self.tty else "\n", flush=True)
            self.dirty = self.tty

    def status(self, events, counters, epoch):
        """Shows how many events there were."""
        if self.is_due():
            now = time.monotonic()
            seconds, packets = self.last
            rate = (counters[0] - packets) / max(now - seconds, 0.001)
            self.last = (now, counters[0])
            self.show("epoch %d  events %6d  packets in %7d, out %7d  %5.0f/s"
                      % (epoch, events, *counters, rate))


class Experiment:
    """One run, whose files are in 'out'."""

    def __init__(self, out, events, rate, progress):
        self.out = out
        self.events = events
        self.rate = rate
        self.progress = progress
        self.sources = {i: "daq%d" % i for i in SOURCES}
        self.nodes = {i: "cn%d" % i for i in range(10)}
        third = events * STEP // 3 // GRAIN * GRAIN
        self.boundaries = [0, third, 2 * third]
        self.hosts = {}
        self.senders = {}
        self.receivers = {}
        self.upcalls = []
        self.lead = None
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        os.makedirs("/run/evlb", exist_ok=True)
        lab.add_probe()
        self.controller = lab.Controller(out, self.configuration())
        self.switch = lab.Switch(out, "br0", "000065766c620001")
        self.capture = None

    def path(self, name):
        """Returns the path of a file of the run."""
        return os.path.join(self.out, name)

    def configuration(self):
        """Returns the configuration of evlbd."""
        with open(os.path.join(lab.TOP, "configs", "demo.conf"),
                  encoding="utf-8") as conf:
            return conf.read()

    # Setting up.

    def set_up(self):
        """Makes hosts, connects them and starts what receives."""
        for i, name in self.sources.items():
            self.hosts[name] = lab.Host(name, MAC % (0, i),
                                        ["10.42.0.%d/24" % (10 + i)])
        for i, name in self.nodes.items():
            self.hosts[name] = lab.Host(name, MAC % (1, i),
                                        ["10.42.0.%d/24" % (100 + i)])
        for name, host in self.hosts.items():
            # Nothing but events: no multicast of IPv6's own.
            host.run("sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=1")
            self.switch.add_port(name)
        self.switch.add_port("probe0")
        # The host's own port: Sync comes in there.  Ports of the bridge are
        # interfaces of the host, but do not answer for its address.
        lab.run("sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1")
        lab.run("sysctl", "-qw", "net.ipv6.conf.br0.disable_ipv6=1")
        lab.run("ip", "address", "add", HOST + "/24", "dev", "br0")
        lab.run("ip", "link", "set", "br0", "up")
        self.switch.set_controller("tcp:127.0.0.1:6653")
        self.controller.wait_for_epoch(INSTANCE, 1)
        self.start_receivers()
        self.capture = capture.Capture(self.path("capture.pcap"))

    def start_receivers(self):
        """Starts a receiver on each node, and waits until all are ready."""
        with open(self.controller.config, encoding="utf-8") as conf:
            bits = [int(b) for b in re.findall(r"bits = (\d+)", conf.read())]
        for i, name in self.nodes.items():
            self.receivers[i] = self.hosts[name].start("recv-" + name, [
                os.path.join(lab.BIN, "evlb-recv"), "--listen",
                "10.42.0.%d" % (100 + i), "--port", str(PORT), "--ports",
                str(1 << bits[i]), "--ready-file", self.path("ready-" + name),
                "--log", self.path("received-%s.tsv" % name), "--event-log",
                self.path("events-%s.tsv" % name), "--timeout", "3",
                "--epochs", self.controller.epoch_log, "--instance", INSTANCE,
                "--member", str(i),
                "--quiet", "--json"], self.out)
        for i, receiver in self.receivers.items():
            def ready(i=i, receiver=receiver):
                receiver.check_alive()
                return os.path.exists(self.path("ready-" + self.nodes[i]))
            lab.wait_for("evlb-recv on " + self.nodes[i], ready)

    def start_senders(self):
        """Starts the sender on each source."""
        for i, name in self.sources.items():
            size, reorder, version = SOURCES[i]
            self.senders[i] = self.hosts[name].start("send-" + name, [
                os.path.join(lab.BIN, "evlb-send"), "--dest", BALANCER,
                "--port", "16384-16391", "--sockets", "2", "--data-id",
                str(i), "--events", str(self.events), "--event-size", size,
                "--tick-step", str(STEP), "--rate", str(self.rate),
                "--lb-version", str(version), "--sync", HOST + ":19531", "--entropy", "random",
                "--reorder", str(reorder), "--log",
                self.path("sent-%s.tsv" % name), "--json"]
                + (["--delay", str(LAG * (i - 1))] if i > 1 else []),
                self.out)

    # Running.

    def counters(self):
        """Returns how many packets came into and went out of the switch."""
        into = out = 0
        with open("/proc/self/net/dev", encoding="ascii") as table:
            for line in table:
                name, _, rest = line.partition(":")
                fields = rest.split()
                if name.strip() in self.sources.values():
                    into += int(fields[1])
                elif name.strip() in self.nodes.values():
                    out += int(fields[9])
        return into, out

    def count_upcalls(self):
        """Notes how many packets the fast path did not know how to treat."""
        stats = self.switch.appctl("dpif-netdev/pmd-stats-show")
        self.upcalls.append(sum(int(n) for n in re.findall(
            r"miss with (?:success|failed) upcall: (\d+)", stats)))

    def is_sending(self):
        """Returns true as long as there are packets to come."""
        return any(s.popen.poll() is None for s in self.senders.values())

    def watch(self, condition):
        """Shows progress until 'condition(tick)' is true, where 'tick' is
        about the highest that was sent, or until all is sent."""
        before = self.counters()
        while self.is_sending():
            into, out = self.counters()
            packets = into - self.base[0], out - self.base[1]
            events = min(int(packets[0] / PACKETS_PER_EVENT), self.events)
            ahead = events + int(self.rate * LAG * (len(SOURCES) - 1) / 2)
            tick = ahead * STEP
            epoch = sum(b <= tick for b in self.boundaries)
            self.progress.status(events, packets, epoch)
            if condition(tick):
                return
            time.sleep(0.05)
        if before == self.counters():
            raise lab.LabError("no packet was sent")

    def evlbctl(self, *args):
        """Tells evlbd what the operator wants."""
        return lab.run(os.path.join(lab.BIN, "evlbctl"), *args)

    def change(self, number):
        """Connects epoch 'number', the first being 1, in service."""
        self.count_upcalls()
        boundary = self.boundaries[number - 1]
        shares = ["%d=%d" % share for share in EPOCHS[number - 1].items()]
        self.progress.say("evlbctl lb set demo --at-event %d %s"
                          % (boundary, " ".join(shares)))
        self.evlbctl("lb", "set", INSTANCE, "--at-event", str(boundary),
                     *shares)
        self.controller.wait_for_epoch(INSTANCE, number)

    def stream(self, interfere=None):
        """Sends all events and changes the epoch in between.  Once the last
        change is in effect for a while, calls 'interfere'."""
        self.base = self.counters()
        self.count_upcalls()
        self.start_senders()
        ahead = max(1.5, 4 * LEAD) * self.rate * STEP
        for number in (2, 3):
            self.watch(lambda tick, n=number:
                       tick >= self.boundaries[n - 1] - ahead)
            self.change(number)
        if interfere:
            interfere(self)
        self.watch(lambda tick: False)
        for sender in self.senders.values():
            sender.wait(5)

    def finish(self):
        """Ends all, and writes down what the audit has to know."""
        sent = sum(lab.last_json(s.text())["packets"]
                   for s in self.senders.values())
        try:
            lab.wait_for("all packets",
                         lambda: self.counters()[1] - self.base[1] >= sent, 2)
        except lab.LabError:
            pass                    # The account says which are lost.
        self.count_upcalls()
        for receiver in self.receivers.values():
            receiver.stop()
        drops = self.capture.stop()
        status = json.loads(self.evlbctl("--json", "status"))
        timing = [t for t in status["instances"] if t["lead_measured"]]
        if not timing:
            raise lab.LabError("evlbd has not measured how long a change "
                               "takes")
        self.lead = timing[0]["lead_ms"] / 1000
        self.progress.say("evlbd measured that a boundary must lie %.3f s "
                          "ahead" % self.lead)
        with open(self.path("flows.txt"), "w", encoding="utf-8") as out:
            out.write(self.switch.ofctl("dump-flows"))
            out.write(self.switch.ofctl("dump-groups"))
        self.write_run(drops)
        self.controller.process.stop()
        self.switch.stop()

    def write_run(self, drops):
        """Writes run.json."""
        index = interface_numbers()
        run = {
            "instance": INSTANCE, "config": "evlb.conf",
            "epochs": "epochs.json", "capture": "capture.pcap",
            "capture_drops": drops, "n_epochs": len(EPOCHS),
            "lead_seconds": max(LEAD, self.lead), "upcalls": self.upcalls,
            "sources": {index[name]: name for name in self.sources.values()},
            "nodes": {index[name]: i for i, name in self.nodes.items()},
            "names": {i: name for i, name in self.nodes.items()},
            "senders": {name: "send-%s.out" % name
                        for name in self.sources.values()},
            "receivers": {i: {"report": "recv-%s.out" % name,
                              "log": "received-%s.tsv" % name}
                          for i, name in self.nodes.items()},
            "versions": self.versions()}
        with open(self.path("run.json"), "w", encoding="utf-8") as out:
            json.dump(run, out, indent=4)

    def versions(self):
        """Returns what ran."""
        def first(*command):
            return lab.run(*command).splitlines()[0].strip()
        return {"evlbd": first(os.path.join(lab.BIN, "evlbd"), "--version"),
                "ovs-vswitchd": first(os.path.join(
                    lab.OVS, "sbin", "ovs-vswitchd"), "--version"),
                "kernel": os.uname().release,
                "tcpdump": capture.tcpdump_version(),
                "python": sys.version.split()[0]}


def interface_numbers():
    """Returns {name: number} of the interfaces here."""
    return {link["ifname"]: link["ifindex"]
            for link in json.loads(lab.run("ip", "-j", "link", "show"))}
