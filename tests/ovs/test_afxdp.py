# SPDX-License-Identifier: Apache-2.0
"""Event packets through AF_XDP ports, in the generic mode that every driver
has."""

import pytest

from cases import BOTH, IPV4, IPV6, each_member, load
from netns import Host
from switch import Switch
from test_veth import Wire, check


@pytest.fixture(scope="module")
def wire(programs, tmp_path_factory):
    hosts = [Host("h1", "v1"), Host("h2", "v2")]
    switch = None
    try:
        switch = Switch(programs, tmp_path_factory.mktemp("ovs"))
        switch.start("--disable-system")
        switch.add_netdev_bridge("br0", [])
        for port in ("v1", "v2"):
            switch.vsctl("add-port", "br0", port, "--", "set", "interface",
                         port, "type=afxdp", "options:xdp-mode=generic")
        load(switch, "v2")
        switch.add_flows("br0", "table=0,priority=65535,dl_type=0x88b5,"
                         "actions=output:v2")
        wire = Wire(switch, *hosts)
        wire.mtu = 1500
        wire.forward([])
        ports = switch.appctl("dpctl/show")
        assert ports.count("afxdp: ") == 2, ports
        yield wire
        switch.check_health()
    finally:
        if switch:
            switch.stop()
        for host in hosts:
            host.destroy()


@pytest.mark.parametrize("family", [4, 6])
def test_every_case(wire, family):
    cases = dict(BOTH, **(IPV4 if family == 4 else IPV6))
    for fields in cases.values():
        check(wire, each_member(family=family, **fields))
