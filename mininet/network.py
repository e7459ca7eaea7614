# SPDX-License-Identifier: Apache-2.0
"""A network of sources, bridges and compute nodes, and its accounts.

Every source and every node has a port on each bridge; all bridges are in one
switch and get the same rules from one evlbd, as those behind a LAG do.  Events
are accounted for by the logs of the receivers: what evlbd committed says which
node each of them had to reach, and on which UDP port.
"""

import collections
import json
import os
import re
import time

import account
import lab

MAC = "02:65:76:6c:%02x:%02x"
BRIDGE_MAC = "02:65:76:6c:62:01"
BASE = 20000
BITS = 2
# Boundaries are multiples of this many microseconds: short prefixes.
COARSE = 1 << 16


def round_up(tick):
    """Returns the next tick that is a coarse boundary."""
    return -(-tick // COARSE) * COARSE


def now_us():
    """Returns what evlb-send --tick-clock takes for the current tick."""
    return time.time_ns() // 1000


class Instance:
    """An instance of the balancer, with its epochs."""

    def __init__(self, number, name, members, sources="10.42.0.0/24"):
        self.number = number
        self.name = name
        self.members = members
        self.sources = sources
        self.epochs = []        # (id, first tick, {member: weight})

    def address(self, family=4):
        """Returns the address that events are sent to."""
        return ("10.42.0.%d" if family == 4 else "fd42::%d") % (self.number
                                                                + 1)

    def connect(self, first, shares):
        """Adds an epoch, and lets the fifth oldest go."""
        number = self.epochs[-1][0] + 1 if self.epochs else 1
        self.epochs = self.epochs[-3:] + [(number, first, shares)]
        return number

    def to_config(self):
        """Returns the instance as evlbd's configuration has it."""
        members = ",\n".join(
            "{ id = %d; ip = \"%s\"; mac = \"%s\"; base = %d; bits = %d; "
            "egress = %d; }" % (m, address, MAC % (1, node), BASE, BITS,
                                100 + node)
            for node in self.members
            for m, address in ((node, "10.42.0.%d" % (100 + node)),
                               (1000 + node, "fd42::%d" % (100 + node))))
        epochs = ",\n".join(
            "{ id = %d; from = %dL; members = ( %s ); }" % (
                number, first, ", ".join("{ id = %d; weight = %d; }" % share
                                         for share in shares.items()))
            for number, first, shares in self.epochs)
        return """{ name = "%s"; id = %d;
addresses = [ "10.42.0.%d", "fd42::%d" ];
sources = [ "%s", "fd42::/64" ];
members = ( %s );
epochs = ( %s ); }""" % (self.name, self.number, self.number + 1,
                         self.number + 1, self.sources, members, epochs)


class Network:
    """Sources, nodes, bridges, and evlbd.

    Source i is on bridge (i - 1) modulo 'bridges'; a node is on all bridges,
    with one MAC address, as with a bond."""

    def __init__(self, out, daqs, nodes, instances, bridges=1):
        self.out = out
        os.makedirs(out, exist_ok=True)
        self.instances = instances
        self.bridges = ["br%d" % i for i in range(bridges)]
        self.streams = []
        self.controller = None
        self.start_controller()
        self.switch = lab.Switch(out, "br0", self.datapath_id(0))
        for i in range(1, bridges):
            self.switch.vsctl("add-br", self.bridges[i], "--", "set", "bridge",
                              self.bridges[i], "datapath_type=netdev",
                              "fail_mode=secure", "protocols=OpenFlow15",
                              "other_config:datapath-id="
                              + self.datapath_id(i),
                              "other_config:disable-in-band=true")
        self.daqs = [self.add_host("daq", 0, 10, i)
                     for i in range(1, daqs + 1)]
        self.nodes = [self.add_host("cn", 1, 100, i)
                      for i in range(1, nodes + 1)]
        for i, daq in enumerate(self.daqs):
            self.add_port(i % bridges, daq.name, 10 + i)
        for i, node in enumerate(self.nodes, 1):
            self.add_node_ports(i, node)
        for bridge in self.bridges:
            self.switch.vsctl("set-controller", bridge, "tcp:127.0.0.1:6653")
        self.wait_committed()

    def start_controller(self):
        """Starts evlbd."""
        self.controller = lab.Controller(self.out, self.configuration())

    @staticmethod
    def datapath_id(i):
        """Returns the datapath id of bridge 'i'."""
        return "%016x" % (i + 1)

    @staticmethod
    def add_host(kind, subnet, first, i):
        """Adds source or node 'i'."""
        return lab.Host("%s%d" % (kind, i), MAC % (subnet, i),
                        ["10.42.0.%d/24" % (first + i),
                         "fd42::%d/64" % (first + i)])

    def add_port(self, bridge, name, number):
        """Puts the interface 'name' on a bridge, as port 'number'."""
        self.switch.vsctl("add-port", self.bridges[bridge], name, "--", "set",
                          "interface", name, "ofport_request=%d" % number)

    def add_node_ports(self, i, node):
        """Puts node 'i' on all bridges."""
        self.add_port(0, node.name, 100 + i)
        for bridge in range(1, len(self.bridges)):
            name, peer = "%s-%d" % (node.name, bridge), "eth%d" % bridge
            lab.run("ip", "link", "add", name, "mtu", "9000", "type", "veth",
                    "peer", "name", peer, "mtu", "9000", "address", node.mac,
                    "netns", node.name)
            node.run("ip", "link", "set", peer, "up")
            lab.run("ip", "link", "set", name, "up")
            self.add_port(bridge, name, 100 + i)

    def configuration(self):
        """Returns evlbd's configuration."""
        return """bridges = ( %s );
interfaces = ( { name = "data"; mac = "%s"; } );
instances = ( %s );
""" % (", ".join("{ name = \"%s\"; datapath_id = \"%s\"; }"
                 % (bridge, self.datapath_id(i))
                 for i, bridge in enumerate(self.bridges)), BRIDGE_MAC,
            ",\n".join(i.to_config() for i in self.instances))

    def wait_committed(self):
        """Waits until all bridges have the newest epoch of each instance."""
        wanted = {(instance.name, instance.epochs[-1][0], bridge)
                  for instance in self.instances if instance.epochs
                  for bridge in self.bridges}

        def committed():
            self.controller.process.check_alive()
            return wanted <= {(e["instance"], e["epoch"], e["switch"])
                              for e in self.controller.epochs()}
        lab.wait_for("epochs %s" % sorted(wanted), committed)

    def reload(self):
        """Puts the instances' epochs into service, and waits for it."""
        self.controller.reload(self.configuration())
        self.wait_committed()

    def upcalls(self):
        """Returns how many packets the fast path did not know what to do
        with."""
        stats = self.switch.appctl("dpif-netdev/pmd-stats-show")
        return sum(int(n) for n in re.findall(
            r"miss with (?:success|failed) upcall: (\d+)", stats))

    def counted(self, direction, daq):
        """Returns how many packets the port of source 'daq' has counted."""
        stats = self.switch.ofctl("dump-ports", self.daqs[daq - 1].name)
        return int(re.search(r"%s pkts=(\d+)" % direction, stats).group(1))

    def stop_streams(self):
        """Ends what sends and receives."""
        for stream in self.streams:
            for process in stream.senders + stream.receivers:
                process.stop()

    def stop(self):
        """Ends all of it, so that another network can be made."""
        self.stop_streams()
        self.controller.process.stop()
        self.switch.stop()
        os.remove(os.path.join(lab.RUN, "conf.db"))
        for host in self.daqs + self.nodes:
            lab.run("ip", "netns", "del", host.name)


class Stream:
    """Events from some sources to an instance, and where they arrived."""

    def __init__(self, network, name, instance, daqs, nodes, family=4,
                 options=()):
        self.network = network
        self.name = name
        self.instance = instance
        self.nodes = nodes
        self.options = options
        self.receivers, self.senders = [], []
        network.streams.append(self)
        for i in nodes:
            self.start_receiver(i, family)
        for i in daqs:
            self.start_sender(i, instance.address(family))

    def path(self, what, i):
        """Returns the name of a file."""
        return os.path.join(self.network.out, "%s.%s%d" % (self.name, what, i))

    def start_receiver(self, i, family):
        """Starts the receiver on node 'i'."""
        address = ("10.42.0.%d" if family == 4 else "fd42::%d") % (100 + i)
        if os.path.exists(self.path("ready", i)):
            os.remove(self.path("ready", i))
        receiver = self.network.nodes[i - 1].start(
            "%s.recv%d" % (self.name, i),
            [os.path.join(lab.BIN, "evlb-recv"), "--listen", address, "--port",
             str(BASE), "--ports", str(1 << BITS), "--ready-file",
             self.path("ready", i), "--event-log", self.path("events", i),
             "--quiet", "--json"], self.network.out)
        self.receivers.append(receiver)

        def ready():
            receiver.check_alive()
            return os.path.exists(self.path("ready", i))
        lab.wait_for("evlb-recv on cn%d" % i, ready)

    def start_sender(self, i, address):
        """Starts the sender on source 'i', whose data id is its number."""
        self.senders.append(self.network.daqs[i - 1].start(
            "%s.send%d" % (self.name, i),
            [os.path.join(lab.BIN, "evlb-send"), "--dest", address, "--port",
             "16384-16391", "--sockets", "4", "--data-id", str(i), "--log",
             self.path("sent", i), "--quiet", "--json", *self.options],
            self.network.out))

    def finish(self, seconds=120):
        """Waits for the end of all events, and returns the account."""
        for sender in self.senders:
            sender.wait(seconds)
        time.sleep(0.5)
        for receiver in self.receivers:
            receiver.stop()
        return self.account()

    def sent(self):
        """Returns {(tick, data id): destination} and the number of packets."""
        epochs = account.read_epochs(self.network.controller.epoch_log,
                                     self.instance.name)
        members = {m: (BASE, BITS)
                   for node in range(1, len(self.network.nodes) + 1)
                   for m in (node, 1000 + node)}
        events, packets = {}, 0
        for sender in self.senders:
            number = int(sender.name.rsplit("send", 1)[1])
            for packet in account.read_log(self.path("sent", number)):
                packets += 1
                key = int(packet["tick"]), int(packet["data_id"])
                if key not in events:
                    events[key] = account.destination(epochs, members, packet)
        return events, packets

    def account(self):
        """Compares what was sent with what was received."""
        expected, packets_in = self.sent()
        report = collections.Counter(
            packets_in=packets_in, packets_out=0, events=len(expected),
            split=0, misrouted=0, incomplete=0, missing=0)
        seen = collections.defaultdict(set)
        for i, receiver in zip(self.nodes, self.receivers):
            report["packets_out"] += json.loads(receiver.text())["packets"]
            for event in account.read_log(self.path("events", i)):
                key = int(event["event_num"]), int(event["data_id"])
                seen[key].add((i, int(event["port"])))
                if (event["status"] != "complete"
                        or event["port_changed"] != "0"):
                    report["incomplete"] += 1
                if (expected.get(key, (0, 0, 0))[1] % 1000,
                        expected.get(key, (0, 0, 0))[2]) != (
                            i, int(event["port"])):
                    report["misrouted"] += 1
        nodes = collections.defaultdict(set)
        for (tick, _), places in seen.items():
            nodes[tick] |= {node for node, _ in places}
        report["split"] = sum(1 for places in nodes.values()
                              if len(places) > 1)
        report["missing"] = len(expected.keys() - seen.keys())
        report["lost"] = packets_in - report["packets_out"]
        self.places = nodes
        return report


def expect_clean(report):
    """Raises an error if 'report' is not that of a run without a fault."""
    wrong = {name: n for name, n in report.items()
             if n and not name.startswith("packets") and name != "events"}
    if wrong or not report["events"]:
        raise lab.LabError("not clean: %s" % dict(report))
