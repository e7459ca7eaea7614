# SPDX-License-Identifier: Apache-2.0
"""A private ovsdb-server and ovs-vswitchd, and what tests ask of them."""

import ctypes
import json
import os
import re
import signal
import socket
import struct
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

# Frames with this Ethernet type (for local experiments) mark the end of what
# a test sent.
MARK_TYPE = 0x88b5

# netdev-dummy queues up to 100 packets.
BATCH = 90

# What the log may not hold: warnings are what tests cause.  Of a frame that
# ends within a VLAN tag, Open vSwitch itself makes a key that it cannot read.
# AF_XDP ports ask for more locked memory, which not every machine allows.
FAULT = re.compile(r"\|(EMER|ERR)\|(?!internal error parsing flow mask .*"
                   r"encap\(\) \(too_much\)$|"
                   r"setrlimit\(RLIMIT_MEMLOCK\) failed)")


PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None)


def end_with_parent():
    """In a child: it ends when the test run does, however that ends."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class CommandError(Exception):
    """A command failed; the text is what it wrote."""


def find_programs():
    """Returns the directories of Open vSwitch's programs.  EVLB_OVS names
    another installation than build/ovs, or a source tree that was built."""
    prefix = os.environ.get("EVLB_OVS", os.path.join(TOP, "build", "ovs"))
    for subdirs in (("bin", "sbin"), ("utilities", "ovsdb", "vswitchd")):
        dirs = [os.path.join(prefix, d) for d in subdirs]
        if any(os.access(os.path.join(d, "ovs-vswitchd"), os.X_OK)
               for d in dirs):
            return dirs
    raise RuntimeError("no ovs-vswitchd in %s (make ovs)" % prefix)


def find_schema(dirs):
    for name in [os.path.join(d, "vswitch.ovsschema") for d in dirs] + [
            os.path.join(os.path.dirname(dirs[0]),
                         "share/openvswitch/vswitch.ovsschema")]:
        if os.path.exists(name):
            return name
    raise RuntimeError("no vswitch.ovsschema beside %s" % dirs[0])


def read_pcap(data, offset):
    """Returns the frames that are whole in 'data' from 'offset' on, and the
    offset behind them."""
    frames = []
    while offset + 16 <= len(data):
        size = struct.unpack_from("<I", data, offset + 8)[0]
        if offset + 16 + size > len(data):
            break
        frames.append(data[offset + 16:offset + 16 + size])
        offset += 16 + size
    return frames, offset


class Capture:
    """What a dummy port sent, as it writes it to its tx_pcap file."""

    def __init__(self, path):
        self.path = path
        self.offset = 24        # Behind the file's header.
        self.frames = []        # Frames that nobody has asked for yet.
        self.marks = 0          # How many marks there were.

    def poll(self):
        with open(self.path, "rb") as f:
            f.seek(self.offset)
            frames, size = read_pcap(f.read(), 0)
        self.offset += size
        for frame in frames:
            if frame[12:14] == struct.pack(">H", MARK_TYPE):
                self.marks += 1
            else:
                self.frames.append(frame)

    def count_marks(self):
        self.poll()
        return self.marks

    def take(self):
        """Returns the frames since the last call."""
        self.poll()
        frames, self.frames = self.frames, []
        return frames


class Flow:
    """A line of dump-flows: table, n_packets, and the text of its match and
    actions."""

    def __init__(self, line):
        self.line = line.strip()
        self.table = int(re.search(r"table=(\d+)", line).group(1))
        self.n_packets = int(re.search(r"n_packets=(\d+)", line).group(1))
        m = re.search(r"(?:idle_age|n_bytes)=\d+,"
                      r"(?: idle_age=\d+,)?(?: hard_age=\d+,)? (.*?) ?"
                      r"actions=(.*)$", self.line)
        self.match, self.actions = m.groups()

    def __repr__(self):
        return self.line


class Megaflow:
    """A line of dpctl/dump-flows: key, packets, and actions."""

    def __init__(self, line):
        self.line = line.strip()
        self.key, rest = re.match(r"(.*?), packets:(.*)$",
                                  self.line).groups()
        self.packets = int(rest.split(",")[0])
        self.actions = rest.split("actions:", 1)[1]

    def __repr__(self):
        return self.line


class Switch:
    def __init__(self, dirs, rundir):
        self.dirs = dirs
        self.rundir = str(rundir)
        self.processes = {}
        self.captures = {}
        self.others = {}        # For tests: what other ports sent.
        self.log_offset = 0
        self.env = dict(os.environ, OVS_RUNDIR=self.rundir,
                        OVS_DBDIR=self.rundir, OVS_LOGDIR=self.rundir,
                        OVS_SYSCONFDIR=self.rundir, LC_ALL="C",
                        PATH=":".join(dirs + [os.environ["PATH"]]))

    # Programs.

    def run(self, *command, stdin=None, check=True):
        """Runs a program of Open vSwitch.  Returns its standard output, or
        raises CommandError with all that it wrote."""
        done = subprocess.run(command, env=self.env, input=stdin, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60)
        if check and done.returncode:
            raise CommandError(done.stdout + done.stderr)
        return done.stdout

    def spawn(self, name, *args):
        self.processes[name] = subprocess.Popen(
            (name,) + args, env=self.env, cwd=self.rundir,
            stdin=subprocess.DEVNULL, preexec_fn=end_with_parent,
            stdout=open(self.path(name + ".out"), "w"),
            stderr=subprocess.STDOUT)
        self.wait_for(lambda: self.answers(self.ctl_path(name)),
                      name + " starts")

    def answers(self, path):
        try:
            return self.unixctl(path, "version", [])
        except OSError:
            return False

    def path(self, name):
        return os.path.join(self.rundir, name)

    def ctl_path(self, name):
        return self.path("%s.%d.ctl" % (name, self.processes[name].pid))

    def start(self, *options, **config):
        """'config' is what other_config holds before ovs-vswitchd starts."""
        db = self.path("conf.db")
        self.run("ovsdb-tool", "create", db, find_schema(self.dirs))
        self.spawn("ovsdb-server", db, "--no-chdir", "--pidfile",
                   "--log-file", "-vconsole:off",
                   "--remote=punix:" + self.path("db.sock"))
        # Revalidators that run often keep the tests short.
        config.setdefault("max-revalidator", "100")
        self.vsctl("--no-wait", "init", "--", "set", "Open_vSwitch", ".",
                   *["other_config:%s=%s" % item for item in config.items()])
        self.spawn("ovs-vswitchd", "--no-chdir", "--pidfile", "--log-file",
                   "-vconsole:off", *options, "unix:" + self.path("db.sock"))
        self.appctl("vlog/disable-rate-limit")

    def stop(self):
        for name, args in (("ovs-vswitchd", ["--cleanup"]),
                           ("ovsdb-server", [])):
            process = self.processes.pop(name, None)
            if not process:
                continue
            try:
                self.unixctl(self.path("%s.%d.ctl" % (name, process.pid)),
                             "exit", args)
            except (OSError, CommandError):
                process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log(self):
        with open(self.path("ovs-vswitchd.log"), errors="replace") as f:
            return f.read()

    def new_log(self):
        """Returns what was logged since the last call."""
        log = self.log()
        new, self.log_offset = log[self.log_offset:], len(log)
        return new

    def check_health(self):
        for name, process in self.processes.items():
            assert process.poll() is None, \
                "%s ended with %s" % (name, process.returncode)
        faults = [line for line in self.log().splitlines()
                  if FAULT.search(line)]
        assert not faults, faults

    def wait_for(self, condition, what, seconds=20):
        """Waits until 'condition' returns true and returns its value."""
        end = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise RuntimeError("%s ended with %d while waiting: %s" % (
                        name, process.returncode, what))
            if time.monotonic() > end:
                raise RuntimeError("timed out: " + what)
            time.sleep(0.002)

    # ovs-vsctl, ovs-appctl, ovs-ofctl.

    def vsctl(self, *args):
        return self.run("ovs-vsctl", "--db=unix:" + self.path("db.sock"),
                        "--timeout=20", *args)

    def unixctl(self, path, method, params):
        """Calls 'method' of the daemon at 'path', as ovs-appctl does, but
        takes arguments of any size."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(60)
            s.connect(path)
            s.sendall(json.dumps({"method": method, "params": params,
                                  "id": 0}).encode())
            data = b""
            while True:
                more = s.recv(1 << 20)
                if not more:
                    raise CommandError(method + ": connection closed")
                data += more
                try:
                    reply = json.loads(data)
                    break
                except ValueError:
                    continue
        if reply["error"] is not None:
            raise CommandError(reply["error"])
        return reply["result"]

    def appctl(self, method, *params):
        return self.unixctl(self.ctl_path("ovs-vswitchd"), method,
                            list(params))

    def ofctl(self, *args, version="OpenFlow15", stdin=None):
        return self.run("ovs-ofctl", "-O", version, *args, stdin=stdin)

    # Bridges.

    def add_dummy_bridge(self, name, ports, mtu=9200):
        args = ["add-br", name, "--", "set", "bridge", name,
                "datapath_type=dummy", "fail-mode=secure",
                "protocols=OpenFlow10,OpenFlow13,OpenFlow14,OpenFlow15"]
        for i, port in enumerate(ports):
            args += ["--"] + self.dummy_port(name, port, i + 1, mtu)
        self.vsctl(*args)

    def add_netdev_bridge(self, name, ports):
        args = ["add-br", name, "--", "set", "bridge", name,
                "datapath_type=netdev", "fail-mode=secure",
                "protocols=OpenFlow13,OpenFlow15"]
        for port in ports:
            args += ["--", "add-port", name, port]
        self.vsctl(*args)

    def dummy_port(self, bridge, port, ofport, mtu=9200):
        """Returns the ovs-vsctl command that adds a captured dummy port."""
        path = self.path(port + ".pcap")
        self.captures[port] = Capture(path)
        return ["add-port", bridge, port, "--", "set", "interface", port,
                "type=dummy", "ofport_request=%d" % ofport,
                "mtu_request=%d" % mtu, "options:tx_pcap=" + path]

    def clear(self, bridge):
        self.ofctl("del-flows", bridge)
        self.ofctl("del-groups", bridge)
        self.appctl("revalidator/purge")

    def settle(self):
        """Waits until the datapath's flows agree with the bridges', and the
        bridges' counters with the datapath's.  The first round of the
        revalidators may have begun before."""
        for _ in range(2):
            self.appctl("revalidator/wait")

    def add_flows(self, bridge, *flows, version="OpenFlow15"):
        text = "\n".join(line for flow in flows
                         for line in flow.strip().splitlines())
        bundle = ["--bundle"] if version >= "OpenFlow14" else []
        self.ofctl(*bundle, "add-flows", bridge, "-", stdin=text,
                   version=version)

    def add_group(self, bridge, group, version="OpenFlow15"):
        self.ofctl("add-group", bridge, "-", stdin=group, version=version)

    def flows(self, bridge, match="", version="OpenFlow15"):
        text = self.ofctl("dump-flows", bridge, *([match] if match else []),
                          version=version)
        return [Flow(line) for line in text.splitlines() if "actions=" in line]

    def counters(self, bridge, table):
        """Returns {match: packets} of a table, brought up to date."""
        self.settle()
        return {flow.match: flow.n_packets
                for flow in self.flows(bridge, "table=%d" % table)}

    def megaflows(self, *args):
        text = self.appctl("dpctl/dump-flows", *args)
        return [Megaflow(line) for line in text.splitlines()
                if "actions:" in line]

    def trace(self, bridge, *args):
        return self.appctl("ofproto/trace", bridge, *args)

    def coverage(self, counter):
        return int(self.appctl("coverage/read-counter", counter))

    def lookups(self):
        """Returns the datapath's (hit, missed, lost)."""
        m = re.search(r"hit:(\d+) missed:(\d+) lost:(\d+)",
                      self.appctl("dpctl/show"))
        return tuple(int(n) for n in m.groups())

    # Packets.

    def mark_flow(self):
        """The flow that returns marks to where they came from, first of all.
        """
        return ("table=0,priority=65535,dl_type=%#x,actions=in_port" %
                MARK_TYPE)

    def receive(self, port, frames):
        """Lets 'port' receive 'frames' and waits until the switch is done
        with them.  Needs mark_flow()."""
        mark = bytes(12) + struct.pack(">H", MARK_TYPE) + bytes(46)
        capture = self.captures[port]
        for i in range(0, len(frames), BATCH):
            before = capture.count_marks()
            self.appctl("netdev-dummy/receive", port,
                        *[f.hex() for f in frames[i:i + BATCH]], mark.hex())
            self.wait_for(lambda: capture.count_marks() > before,
                          "%s has received" % port)

    def sent(self, port):
        """Returns the frames that 'port' sent since the last call."""
        return self.captures[port].take()

    def forward(self, port, frames, out):
        """Returns what 'out' sends when 'port' receives 'frames'."""
        self.sent(out)
        self.receive(port, frames)
        return self.sent(out)
