# SPDX-License-Identifier: Apache-2.0
"""Our switch, controller and a network for Mininet's mn.

    mininet/mn                                  starts all of it, and the CLI
    mininet/mn --test pingall

"mininet/mn" starts Open vSwitch from build/ovs and calls mn with this file.
With Open vSwitch running and its tools and evlbd in PATH, mn can be called by
hand, from the top of the checkout:

    mn --custom mininet/custom.py --topo evlb --switch evlb --controller evlb

    --topo evlb,daqs=3,nodes=8     another number of sources and nodes
    --controller remote            an evlbd that was started otherwise

The controller's configuration is configs/mininet.conf, or the file that the
environment variable EVLB_CONFIG names.  On Mininet's command line:

    daq1 ping -c 1 10.42.0.1
    cn1 evlb-recv --listen 10.42.0.101 --port 20000 --ports 4 &
    daq1 evlb-send --dest 10.42.0.1 --port 16384 --events 100
    s1 ovs-ofctl -O OpenFlow15 dump-flows s1
"""

import os

from mininet.link import Link
from mininet.node import Controller, Host, OVSSwitch
from mininet.topo import Topo

MAC = "02:65:76:6c:%02x:%02x"


class EvlbHost(Host):
    """A host with an IPv6 address, whose packets have checksums: the switch
    in userspace sees them as they are, and no hardware fills them in."""

    def config(self, ip6=None, **params):
        """Configures the host."""
        result = super().config(**params)
        interface = self.defaultIntf().name
        self.cmd("ethtool -K %s tx off" % interface)
        if ip6:
            self.cmd("ip -6 address add %s dev %s nodad" % (ip6, interface))
        return result


class EvlbSwitch(OVSSwitch):
    """A bridge of the userspace datapath that speaks OpenFlow 1.5."""

    def __init__(self, name, **params):
        params.update(datapath="user", protocols="OpenFlow15",
                      failMode="secure")
        super().__init__(name, **params)


class EvlbController(Controller):
    """evlbd, with configs/mininet.conf."""

    def __init__(self, name, **params):
        config = os.environ.get("EVLB_CONFIG", "configs/mininet.conf")
        params.update(command="evlbd", cargs="-c %s" % config)
        super().__init__(name, **params)

    def start(self):
        """Starts evlbd; its log is in /tmp, as Mininet has it."""
        log = "/tmp/%s.log" % self.name
        self.cmd("%s %s >%s 2>&1 &" % (self.command, self.cargs, log))
        self.execed = False

    @classmethod
    def isAvailable(cls):
        """Tells whether evlbd is in PATH."""
        return any(os.access(os.path.join(directory, "evlbd"), os.X_OK)
                   for directory in os.environ["PATH"].split(":"))


class EvlbTopo(Topo):
    """Sources and compute nodes on one switch."""

    def build(self, daqs=2, nodes=4):
        """Adds 'daqs' sources and 'nodes' compute nodes."""
        switch = self.addSwitch("s1", dpid="1")
        for name, subnet, first, n in (("daq", 0, 10, daqs),
                                       ("cn", 1, 100, nodes)):
            for i in range(1, int(n) + 1):
                host = self.addHost(
                    "%s%d" % (name, i), cls=EvlbHost,
                    ip="10.42.0.%d/24" % (first + i),
                    ip6="fd42::%d/64" % (first + i), mac=MAC % (subnet, i))
                self.addLink(host, switch, cls=Link,
                             intfName2="s1-%s%d" % (name, i))


topos = {"evlb": EvlbTopo}
switches = {"evlb": EvlbSwitch}
controllers = {"evlb": EvlbController}
hosts = {"evlb": EvlbHost}
