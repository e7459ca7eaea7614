# SPDX-License-Identifier: Apache-2.0
"""A switch whose tables evlbd writes, and what its counters say."""

import os
import re
import signal
import subprocess

from switch import TOP, Capture, Switch, end_with_parent

EVLBD = os.path.join(TOP, "build", "bin", "evlbd")

# The interfaces' MAC addresses, by VLAN.
MAC = {0: "02:00:00:00:00:01", 7: "02:00:00:00:00:07"}
# Addresses of instance a, and of instance b.
A4, A4_OTHER, A6, A6_OTHER = "10.0.0.1", "10.0.9.1", "fd00::1", "fd00::abcd"
B4, B6 = "10.0.0.2", "fd00::2"
SOURCE = {4: "192.168.0.1", 6: "2001:db8:1::1"}

CONFIG = """
openflow = { listen = [ "unix:%(directory)s/of.sock" ]; };
admin = { socket = "%(directory)s/admin.sock"; };
l2_miss = "%(l2_miss)s";
bridges = ( { name = "br0"; datapath_id = "42"; } );
interfaces = ( { name = "plain"; mac = "02:00:00:00:00:01"; },
               { name = "tagged"; id = 5; vlan = 7;
                 mac = "02:00:00:00:00:07"; } );
instances = (
  { name = "a"; id = 3;
    addresses = [ "10.0.0.1", "10.0.9.1", "fd00::1", "fd00::abcd" ];
    sources = [ "192.168.0.1", "192.168.7.0/24", "2001:db8:1::1",
                "2001:db8:7::/48" ];
    members = (
      { id = 1; ip = "10.1.0.1"; mac = "02:00:00:00:01:01"; base = 20000;
        bits = 2; egress = "p2"; },
      { id = 2; ip = "10.1.0.2"; mac = "02:00:00:00:01:02"; base = 65535;
        keep = true; egress = "p3"; },
      { id = 3; ip = "10.1.0.3"; mac = "02:00:00:00:01:03"; base = 20000;
        egress = "in_port"; },
      { id = 4; ip = "10.1.0.4"; mac = "02:00:00:00:01:04"; base = 20000;
        egress = "nowhere"; },
      { id = 61; ip = "fd01::61"; mac = "02:00:00:00:06:01"; base = 20000;
        bits = 14; egress = "p2"; },
      { id = 62; ip = "fd01::62"; mac = "02:00:00:00:06:02"; base = 20000;
        keep = true; egress = "p3"; }
    );
    epochs = (
      { id = 7; from = 1000; bits = 2;
        members = ( { id = 1; }, { id = 2; }, { id = 3; }, { id = 4; } ); },
      { id = 8; from = 2000; bits = 0; members = ( { id = 1; } ); },
      { id = 9; from = 3000; bits = 1;
        members = ( { id = 61; }, { id = 62; } ); }
    );
  },
  { name = "b"; id = 4; addresses = [ "10.0.0.2", "fd00::2" ];
    interfaces = [ "plain" ]; udp_ports = [ 19522, 19523 ];
    sources = [ "0.0.0.0/0", "::/0" ]; late = "drop";
    members = (
      { id = 1; ip = "10.2.0.1"; mac = "02:00:00:00:02:01"; base = 30000;
        egress = "p3"; }
    );
    epochs = ( { id = 7; from = 100; bits = 0;
                 members = ( { id = 1; } ); } );
  },
  { name = "empty"; id = 5; addresses = [ "10.0.0.3" ];
    interfaces = [ "plain" ]; sources = [ "0.0.0.0/0" ]; }
);
"""

COOKIE = re.compile(r"cookie=0x4c42(..)(..)(....)(....),.*?n_packets=(\d+)")


def read_verdicts():
    """Returns {number: name} of docs/openflow-pipeline.md, which is what users
    have to go by."""
    verdicts = {}
    with open(os.path.join(TOP, "docs", "openflow-pipeline.md"),
              encoding="utf-8") as doc:
        for line in doc:
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) < 4 or not re.match(r"[0-9a-f]{2}(,|$)", cells[1]):
                continue
            numbers, names = cells[1].split(", "), cells[2].split(", ")
            prefix = names[0].rsplit("_", 1)[0]
            if len(numbers) > 1:
                prefix = re.match(r"icmpv._unreach", names[0]).group()
            for number, name in zip(numbers, names):
                verdicts[int(number, 16)] = (prefix + name if name[0] == "_"
                                             else name)
    return verdicts


class World:
    """Bridge br0 with ports p1 to p4 on the dummy datapath, and evlbd."""

    def __init__(self, programs, directory, l2_miss, config=CONFIG):
        self.config = config
        self.directory = str(directory)
        self.l2_miss = l2_miss
        self.switch = Switch(programs, directory)
        self.evlbd = None
        self.verdicts = read_verdicts()
        self.last = {}          # The counters after the last send().

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self):
        self.switch.start("--enable-dummy=override", "--disable-system")
        self.switch.add_dummy_bridge("br0", ["p1", "p2", "p3", "p4"])
        self.switch.vsctl("set", "bridge", "br0",
                          "other_config:datapath-id=0000000000000042")
        self.capture_local()
        self.start_evlbd(self.config)
        # A bridge that gets its first controller forgets its flows.
        self.switch.vsctl("set-controller", "br0",
                          "unix:" + self.path("of.sock"))
        self.switch.add_flows("br0", self.switch.mark_flow())
        self.wait_committed(1)
        self.last = self.counters()

    def capture_local(self):
        """Captures what goes to the host."""
        path = self.path("br0.pcap")
        self.switch.captures["br0"] = Capture(path)
        self.switch.vsctl("set", "interface", "br0", "options:tx_pcap=" + path)

    def start_evlbd(self, config):
        self.write(config)
        self.evlbd = subprocess.Popen(
            [EVLBD, "-c", self.path("evlb.conf")], stdin=subprocess.DEVNULL,
            stdout=open(self.path("evlbd.out"), "w", encoding="utf-8"),
            stderr=subprocess.STDOUT, preexec_fn=end_with_parent)

    def write(self, config):
        with open(self.path("evlb.conf"), "w", encoding="utf-8") as conf:
            conf.write(config % {"directory": self.directory,
                                 "l2_miss": self.l2_miss})

    def log(self):
        with open(self.path("evlbd.out"), encoding="utf-8") as out:
            return out.read()

    def wait_committed(self, n):
        """Waits until 'n' changes are committed."""
        def committed():
            assert self.evlbd.poll() is None, self.log()
            return self.log().count("change committed") >= n
        self.switch.wait_for(committed, "change %d: %s" % (n, self.log()))
        self.switch.settle()

    def reload(self, config):
        """Puts 'config' in service."""
        n = self.log().count("change committed")
        self.write(config)
        self.evlbd.send_signal(signal.SIGHUP)
        self.wait_committed(n + 1)
        self.last = self.counters()

    def stop(self):
        if self.evlbd:
            self.evlbd.terminate()
            self.evlbd.wait()
        self.switch.stop()

    def counters(self):
        """Returns {(verdict, owner, detail): packets} of all flows that end a
        packet's way or count it; those by which it only goes on are left
        out."""
        self.switch.settle()
        counters = {}
        for _, verdict, owner, detail, n in COOKIE.findall(
                self.switch.ofctl("dump-flows", "br0")):
            verdict = int(verdict, 16)
            if verdict:
                key = (self.verdicts[verdict], int(owner, 16),
                       int(detail, 16))
                counters[key] = counters.get(key, 0) + int(n)
        return counters

    def send(self, port, *frames):
        """Lets 'port' receive 'frames'.  Returns {port: frames that it sent}
        and {(verdict, owner, detail): packets}, both without what is empty."""
        before = self.last
        for capture in self.switch.captures.values():
            capture.take()
        self.switch.receive(port, list(frames))
        after = self.last = self.counters()
        sent = {name: capture.take()
                for name, capture in self.switch.captures.items()}
        return ({name: out for name, out in sent.items() if out},
                {key: after[key] - before.get(key, 0) for key in after
                 if after[key] != before.get(key, 0)})
