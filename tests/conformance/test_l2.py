# SPDX-License-Identifier: Apache-2.0
"""Frames before any instance knows of them."""

import pytest
from packets import ETH_IP, ETH_IPV6, SRC_MAC, event, frame, ipv4, ipv6, udp
from switch import find_programs
from world import A4, A6, CONFIG, MAC, SOURCE, World

UDP4 = ipv4(udp(SOURCE[4], "10.0.0.77", b"x" * 20), SOURCE[4], "10.0.0.77")
UDP6 = ipv6(udp(SOURCE[6], "fd00::77", b"x" * 20), SOURCE[6], "fd00::77")


@pytest.mark.parametrize("eth_type, name", [
    (0x8809, "host_slow_protocol"), (0x88cc, "host_lldp"),
    (0x0027, "host_other"), (0x888e, "host_other")])
@pytest.mark.parametrize("last", [0, 2, 3, 14, 15])
def test_reserved_multicast(world, eth_type, name, last):
    """Protocols of the link go to the host, unchanged."""
    sent = frame(b"\1" + bytes(45), eth_type,
                 dst="01:80:c2:00:00:%02x" % last)
    out, counted = world.send("p1", sent)
    assert out == {"br0": [sent]}
    assert counted == {(name, 0xffff, 0): 1}


def test_not_reserved(world):
    """The next address is none of them, nor is one with a tag."""
    out, counted = world.send(
        "p1", frame(bytes(46), 0x88cc, dst="01:80:c2:00:00:10"),
        frame(bytes(46), 0x88cc, dst="01:80:c2:00:00:0e",
              tags=((0x8100, 7),)))
    assert out == {}
    assert counted == {("l2_dst_drop", 0xf000, 0): 1,
                       ("l2_dst_drop", 0xf005, 0): 1}


@pytest.mark.parametrize("dst", ["02:00:00:00:00:02", "01:00:5e:00:00:01",
                                 "33:33:00:00:00:02", "33:33:ff:00:00:99",
                                 MAC[7]])
def test_other_station(world, dst):
    """A frame for another station is dropped, and counted by interface."""
    out, counted = world.send("p1", event(4, dst=A4, eth_dst=dst))
    assert out == {}
    assert counted == {("l2_dst_drop", 0xf000, 0): 1}


def test_other_station_on_a_bridge(bridge):
    """On a bridge it is ordinary traffic, to all ports at first."""
    sent = event(4, dst=A4, eth_dst="02:00:00:00:00:02")
    out, counted = bridge.send("p1", sent)
    assert {port: frames for port, frames in out.items() if port != "br0"} \
        == {"p2": [sent], "p3": [sent], "p4": [sent]}
    assert counted == {("l2_normal", 0xf000, 0): 1}


def test_other_vlan(world, bridge):
    """A VLAN that no interface has."""
    sent = event(4, dst=A4, eth_dst=MAC[0], tags=((0x8100, 99),))
    out, counted = world.send("p1", sent)
    assert (out, counted) == ({}, {("l2_dst_drop", 0xffff, 0): 1})
    out, counted = bridge.send("p1", sent)
    assert out["p2"] == [sent]
    assert counted == {("l2_normal", 0xffff, 0): 1}


@pytest.mark.parametrize("eth_type", [0x0842, 0x8847, 0x05ff])
def test_not_ip(world, eth_type):
    """Neither IP nor ARP."""
    out, counted = world.send("p1", frame(bytes(50), eth_type, dst=MAC[0]))
    assert (out, counted) == ({}, {("notip", 0xf000, 0): 1})


@pytest.mark.parametrize("dst", ["ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01",
                                 "33:33:ff:00:00:01"])
def test_groups_that_are_accepted(world, bridge, dst):
    """Broadcast, all nodes and solicited nodes are let in, and go on like what
    is for the interface alone; on a bridge, they are for others too."""
    other = frame(bytes(50), 0x0842, dst=dst)
    bad = frame(UDP6, ETH_IPV6, dst=dst)
    own = event(6, 3000, src=SOURCE[6], dst=A6, eth_dst=dst, dport=16384)
    out, counted = world.send("p1", other, bad, own)
    assert list(out) == ["p2"] and len(out["p2"]) == 1
    assert counted == {("notip", 0xf000, 0): 1,
                       ("l2_iface_drop_badip", 0xf000, 0): 1,
                       ("lb_rx", 3, 0): 1, ("rx_v2", 3, 0): 1,
                       ("mbr_tx", 3, 61): 1}
    out, counted = bridge.send("p1", other, bad)
    assert out["p2"] == out["p3"] == out["p4"] == [other, bad]
    assert counted == {("l2_normal", 0xf000, 0): 2}


def test_two_tags(world):
    """One tag is looked behind, no more, whichever of the two kinds it is."""
    def tagged(*tags):
        return event(4, 1000, src=SOURCE[4], dst=A4, eth_dst=MAC[7],
                     dport=16384, tags=tags)
    out, counted = world.send("p1", tagged((0x8100, 7), (0x8100, 7)),
                              tagged((0x88a8, 7), (0x8100, 7)))
    assert (out, counted) == ({}, {("notip", 0xf005, 0): 2})
    out, counted = world.send("p1", tagged((0x88a8, 7)))
    assert list(out) == ["p2"] and out["p2"][0][12:16] == b"\x88\xa8\0\7"
    assert counted["mbr_tx", 3, 1] == 1


@pytest.mark.parametrize("packet, eth_type", [(UDP4, ETH_IP),
                                              (UDP6, ETH_IPV6)])
@pytest.mark.parametrize("vlan, owner", [(0, 0xf000), (7, 0xf005)])
def test_bad_ip(world, packet, eth_type, vlan, owner):
    """An address of no instance."""
    out, counted = world.send("p1", frame(
        packet, eth_type, dst=MAC[vlan],
        tags=((0x8100, vlan),) if vlan else ()))
    assert (out, counted) == ({}, {("l2_iface_drop_badip", owner, 0): 1})


def test_instance_of_another_interface(world):
    """Instance b has its address on the untagged interface only."""
    out, counted = world.send("p1", event(4, dst="10.0.0.2", eth_dst=MAC[7],
                                          tags=((0x8100, 7),), tick=200))
    assert (out, counted) == ({}, {("l2_iface_drop_badip", 0xf005, 0): 1})


@pytest.mark.parametrize("fields", [
    {"ihl": 4}, {"ihl": 15}, {"total": 10}, {"total": 9000}])
def test_ipv4_that_cannot_be_parsed(world, fields):
    """Wrong lengths in the IPv4 header."""
    packet = ipv4(udp(SOURCE[4], A4, bytes(20)), SOURCE[4], A4, **fields)
    out, counted = world.send("p1", frame(packet, ETH_IP, dst=MAC[0]))
    assert (out, counted) == ({}, {("parsefail", 0xf000, 0): 1})


def test_ipv6_that_cannot_be_parsed(world):
    """A payload length beyond the frame, and a header that is cut short."""
    packet = ipv6(udp(SOURCE[6], A6, bytes(20)), SOURCE[6], A6, length=999)
    out, counted = world.send(
        "p1", frame(packet, ETH_IPV6, dst=MAC[0]),
        frame(packet[:30], ETH_IPV6, SRC_MAC, MAC[0]))
    assert (out, counted) == ({}, {("parsefail", 0xf000, 0): 2})


def test_ipv4_that_is_cut_short(world):
    """Less than a header."""
    packet = ipv4(udp(SOURCE[4], A4, bytes(20)), SOURCE[4], A4)
    out, counted = world.send("p1", *[
        frame(packet[:size], ETH_IP, dst=MAC[0]) for size in (0, 1, 19)])
    assert (out, counted) == ({}, {("parsefail", 0xf000, 0): 3})


def test_ipv6_whose_extensions_are_cut_short(world):
    """A chain of extension headers that does not end within the packet."""
    def cut(extensions, n):
        packet = ipv6(b"", SOURCE[6], A6, extensions=extensions)
        return frame(packet[:4] + (len(packet) - 40 - n).to_bytes(2, "big")
                     + packet[6:len(packet) - n], ETH_IPV6, dst=MAC[0])
    sent = [cut([(0, bytes(8))], 4), cut([(0, bytes(8))], 1),
            cut([(43, bytes([0, 9]) + bytes(6))], 0),
            cut([(60, bytes(8))] * 3, 17), cut([(44, bytes(8))], 3)]
    out, counted = world.send("p1", *sent)
    assert (out, counted) == ({}, {("parsefail", 0xf000, 0): 5})


def test_ports_count_what_they_cannot_parse(tmp_path_factory):
    """Where the ports are named, each has its own counter, per interface."""
    world = World(find_programs(), tmp_path_factory.mktemp("ports"), "drop",
                  CONFIG.replace('datapath_id = "42";', 'datapath_id = "42"; '
                                 'ports = [ "p1", "p2" ];'))
    packet = ipv4(udp(SOURCE[4], A4, bytes(20)), SOURCE[4], A4, total=9000)
    bad4 = frame(packet, ETH_IP, dst=MAC[0])
    bad7 = frame(packet, ETH_IP, dst=MAC[7], tags=((0x8100, 7),))
    bad6 = frame(ipv6(b"", SOURCE[6], A6, proto=0), ETH_IPV6, dst=MAC[0])
    bad_arp = frame(bytes(28), 0x806, dst=MAC[0])
    try:
        world.start()
        for port, number in (("p1", 1), ("p2", 2)):
            out, counted = world.send(port, bad4, bad7, bad6, bad_arp)
            assert (out, counted) == ({}, {
                ("parsefail", 0xf000, number): 3,
                ("parsefail", 0xf005, number): 1})
        out, counted = world.send("p3", bad4)
        assert (out, counted) == ({}, {("l2_dst_drop", 0xffff, 0): 1})
        out, _ = world.send("p1", event(4, 1000, src=SOURCE[4], dst=A4,
                                        eth_dst=MAC[0], dport=16384))
        assert list(out) == ["p2"]
    finally:
        world.stop()


def test_wrong_ip_version(world):
    """Open vSwitch goes by the Ethernet type alone; lb_parse does not."""
    packet = ipv4(udp(SOURCE[4], A4, bytes(20), dport=16384), SOURCE[4], A4,
                  version=5)
    out, counted = world.send("p1", frame(packet, ETH_IP, dst=MAC[0]))
    assert (out, counted) == ({}, {("lb_rx", 3, 0): 1, ("not_udp", 3, 0): 1})
