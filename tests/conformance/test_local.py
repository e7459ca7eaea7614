# SPDX-License-Identifier: Apache-2.0
"""What the balancer answers by itself, and what it does not."""

import struct

import pytest
import replies
from packets import ETH_IP, ETH_IPV6, SRC_MAC, frame, ip, ipv4, ipv6
from world import A4, A4_OTHER, A6, A6_OTHER, B4, MAC

ARP = 0x806
ICMP, ICMPV6 = 1, 58
BROADCAST = "ff:ff:ff:ff:ff:ff"
HOST4, HOST6 = "10.0.0.99", "fd00::99"
TAG = {0: (), 7: ((0x8100, 7),)}
INSTANCE = {A4: 3, A4_OTHER: 3, A6: 3, A6_OTHER: 3, B4: 4}


def solicited(address):
    """The solicited-node address of 'address', and its MAC address."""
    low = ip(address)[13:]
    return ("ff02::1:ff%02x:%02x%02x" % tuple(low),
            "33:33:ff:%02x:%02x:%02x" % tuple(low))


def echo4(dst, kind=8, code=0, body=b"\1\2\3\4payload!", vlan=0, break_it=False,
          **fields):
    """A frame with an ICMP message."""
    message = replies.icmp(kind, code, body)
    if break_it:
        message = message[:2] + bytes([message[2] ^ 0x5a]) + message[3:]
    return frame(ipv4(message, HOST4, dst, proto=ICMP, **fields), ETH_IP,
                 dst=MAC[vlan], tags=TAG[vlan])


def echo6(dst, kind=128, code=0, body=b"\1\2\3\4payload!", vlan=0,
          dst_mac=None, break_it=False, **fields):
    """A frame with an ICMPv6 message."""
    message = replies.icmpv6(HOST6, dst, kind, code, body)
    if break_it:
        message = message[:2] + bytes([message[2] ^ 0x5a]) + message[3:]
    return frame(ipv6(message, HOST6, dst, proto=ICMPV6, **fields), ETH_IPV6,
                 dst=dst_mac or MAC[vlan], tags=TAG[vlan])


def question(target, src=HOST6, dst=None, vlan=0, options=None, ttl=255,
             src_mac=SRC_MAC, **fields):
    """A frame with a neighbour solicitation."""
    group, group_mac = solicited(target)
    if options is None:
        options = replies.source_link(src_mac)
    message = replies.icmpv6(src, dst or group, 135, fields.pop("code", 0),
                             replies.solicitation(target, options))
    return frame(ipv6(message, src, dst or group, proto=ICMPV6, ttl=ttl),
                 ETH_IPV6, src_mac, MAC[vlan] if dst else group_mac,
                 TAG[vlan])


@pytest.mark.parametrize("vlan", [0, 7])
@pytest.mark.parametrize("address", [A4, A4_OTHER])
@pytest.mark.parametrize("dst", ["unicast", "broadcast"])
def test_arp(world, vlan, address, dst):
    """An ARP request for an address of ours is answered."""
    asked = frame(replies.arp_request(address), ARP,
                  dst=MAC[vlan] if dst == "unicast" else BROADCAST,
                  tags=TAG[vlan])
    out, counted = world.send("p1", asked)
    assert out == {"p1": [replies.arp_reply(asked, MAC[vlan])]}
    assert counted == {("arp_reply", 3, 0): 1}


@pytest.mark.parametrize("target, op, name, owner", [
    ("10.0.0.77", 1, "l2_iface_drop_badip", 0xf000),
    (A4, 3, "arp_unhandled", 3), (A4, 0x8001, "arp_unhandled", 3)])
def test_arp_not_answered(world, target, op, name, owner):
    """Other ARP packets are dropped by name."""
    out, counted = world.send("p1", frame(
        replies.arp_request(target, op=op), ARP, dst=MAC[0]))
    assert out == {}
    assert counted == {(name, owner, 0): 1}


@pytest.mark.parametrize("change", [(0, 2), (2, 0x86dd), (4, 0x0806)])
def test_arp_of_other_hardware(world, change):
    """ARP that is not of Ethernet and IPv4 cannot be parsed."""
    packet = bytearray(replies.arp_request(A4))
    struct.pack_into("!H", packet, *change)
    out, counted = world.send("p1", frame(bytes(packet), ARP, dst=MAC[0]))
    assert out == {}
    assert counted == {("parsefail", 0xf000, 0): 1}


@pytest.mark.parametrize("vlan", [0, 7])
@pytest.mark.parametrize("address", [A4, A4_OTHER])
@pytest.mark.parametrize("fields", [
    {}, {"ttl": 1}, {"options": b"\1\1\1\1"}, {"tos": 0xff, "ident": 7},
    {"csum": 0x1234}, {"break_it": True}, {"body": b"\0\0\0\0"}])
def test_echo4(world, vlan, address, fields):
    """An echo request comes back; what is wrong stays wrong."""
    asked = echo4(address, vlan=vlan, **fields)
    out, counted = world.send("p1", asked)
    assert out == {"p1": [replies.echo_reply4(asked, MAC[vlan])]}
    assert counted == {("icmpv4_echo_reply", 3, 0): 1}


@pytest.mark.parametrize("kind, code, name", [
    (8, 1, "icmpv4_unhandled"), (0, 0, "icmpv4_unhandled"),
    (13, 0, "icmpv4_unhandled"),
    (3, 0, "icmpv4_unreach_net"), (3, 1, "icmpv4_unreach_host"),
    (3, 2, "icmpv4_unreach_other"), (3, 3, "icmpv4_unreach_port"),
    (3, 4, "icmpv4_unreach_frag_needed"),
    (3, 6, "icmpv4_unreach_net_unknown"),
    (3, 7, "icmpv4_unreach_host_unknown"),
    (3, 10, "icmpv4_unreach_host_prohibited"),
    (3, 255, "icmpv4_unreach_other")])
def test_icmp_not_answered(world, kind, code, name):
    """Other ICMP is dropped by name."""
    out, counted = world.send("p1", echo4(
        A4, kind, code, bytes(4) + ipv4(bytes(8), A4, "10.1.0.1")))
    assert out == {}
    assert counted == {(name, 3, 0): 1}


def test_fragment_of_an_echo_request(world):
    """A fragment is no echo request."""
    out, counted = world.send("p1", echo4(A4, frag=0x2000), echo4(A4, frag=3))
    assert out == {}
    assert sum(counted.values()) == 2
    assert {name for name, _, _ in counted} <= {"icmpv4_unhandled",
                                                "fragment"}


@pytest.mark.parametrize("vlan", [0, 7])
@pytest.mark.parametrize("address", [A6, A6_OTHER])
@pytest.mark.parametrize("fields", [
    {}, {"ttl": 1}, {"tos": 0xff, "label": 0xabcde}, {"break_it": True}])
def test_echo6(world, vlan, address, fields):
    """An echo request comes back."""
    asked = echo6(address, vlan=vlan, **fields)
    out, counted = world.send("p1", asked)
    assert out == {"p1": [replies.echo_reply6(asked, MAC[vlan], address)]}
    assert counted == {("icmpv6_echo_reply", 3, 0): 1}


def test_echo6_to_a_group(world):
    """The answer to what was sent to the group comes from the address."""
    group, group_mac = solicited(A6)
    asked = echo6(group, dst_mac=group_mac)
    out, counted = world.send("p1", asked)
    assert out == {"p1": [replies.echo_reply6(asked, MAC[0], A6)]}
    assert counted == {("icmpv6_echo_reply", 3, 0): 1}


@pytest.mark.parametrize("kind, code, name", [
    (128, 1, "icmpv6_unhandled"), (129, 0, "icmpv6_unhandled"),
    (1, 0, "icmpv6_unreach_no_route"), (1, 1, "icmpv6_unreach_prohibited"),
    (1, 2, "icmpv6_unreach_beyond_scope"), (1, 3, "icmpv6_unreach_other"),
    (1, 4, "icmpv6_unreach_port"), (1, 6, "icmpv6_unreach_other")])
def test_icmpv6_not_answered(world, kind, code, name):
    """Other ICMPv6 is dropped by name."""
    out, counted = world.send("p1", echo6(
        A6, kind, code, bytes(4) + ipv6(bytes(8), A6, "fd01::61")))
    assert out == {}
    assert counted == {(name, 3, 0): 1}


@pytest.mark.parametrize("vlan", [0, 7])
@pytest.mark.parametrize("address", [A6, A6_OTHER])
@pytest.mark.parametrize("to_group", [True, False])
def test_solicitation(world, vlan, address, to_group):
    """A neighbour solicitation is answered."""
    asked = question(address, vlan=vlan, dst=None if to_group else address)
    out, counted = world.send("p1", asked)
    assert out == {"p1": [replies.advertisement(asked, MAC[vlan], address,
                                                SRC_MAC)]}
    assert counted == {("nd_reply", 3, 0): 1}


def test_solicitation_from_another_station(world):
    """The answer goes to the station that the option names."""
    other = "aa:00:00:00:00:02"
    asked = question(A6, options=replies.source_link(other))
    out, counted = world.send("p1", asked)
    assert out == {"p1": [replies.advertisement(asked, MAC[0], A6, other)]}
    assert counted == {("nd_reply", 3, 0): 1}


def ask_controller(world, asked, answer, name):
    """'asked' is answered with 'answer' by evlbd, and counted by 'name'."""
    out, counted = world.send("p1", asked)
    got = out.get("p1", [])
    world.switch.wait_for(lambda: got or got.extend(world.switch.sent("p1"))
                          or got, "an answer")
    assert got == [answer] and set(out) <= {"p1"}
    assert counted == {(name, 3, 0): 1}
    assert world.switch.sent("p1") == []


@pytest.mark.parametrize("vlan", [0, 7])
@pytest.mark.parametrize("options", [b"", b"\x0e\1nonce!",
                                     replies.source_link(SRC_MAC)])
def test_solicitation_from_nobody(world, vlan, options):
    """Who has no address yet hears the answer with all nodes, whatever the
    question says of itself."""
    asked = question(A6, src="::", options=options, vlan=vlan)
    ask_controller(world, asked, replies.advertisement(
        asked, MAC[vlan], A6, "33:33:00:00:00:01", "ff02::1"),
        "nd_to_controller")


@pytest.mark.parametrize("vlan", [0, 7])
@pytest.mark.parametrize("options", [b"", b"\x0e\1nonce!"])
def test_solicitation_without_link_layer_address(world, vlan, options):
    """The answer goes to where the frame came from."""
    asked = question(A6, options=options, vlan=vlan)
    ask_controller(world, asked, replies.advertisement(
        asked, MAC[vlan], A6, SRC_MAC), "nd_to_controller")


@pytest.mark.parametrize("vlan", [0, 7])
@pytest.mark.parametrize("options", [b"\x0e\1nonce!",
                                     bytes([99, 20]) + bytes(158)])
def test_solicitation_with_more(world, vlan, options):
    """The options that a question has more do not come back."""
    asked = question(A6, vlan=vlan, options=replies.source_link(SRC_MAC)
                     + options)
    ask_controller(world, asked, replies.advertisement(
        asked, MAC[vlan], A6, SRC_MAC), "nd_reply")


def test_solicitation_with_a_trailer(world):
    """What is behind the packet in the frame stays, as it does elsewhere."""
    asked = question(A6)
    out, counted = world.send("p1", asked + b"trailer")
    assert out == {"p1": [replies.advertisement(asked, MAC[0], A6, SRC_MAC)
                          + b"trailer"]}
    assert counted == {("nd_reply", 3, 0): 1}


def test_answers_to_nobody(world):
    """Answers go to evlbd, which has not asked."""
    advert = replies.icmpv6(HOST6, A6, 136, 0, replies.solicitation(
        HOST6, b"\2\1" + b"\2" * 6, 0x40000000))
    hop = [frame(ipv6(advert, HOST6, A6, proto=ICMPV6, ttl=ttl), ETH_IPV6,
                 dst=MAC[0]) for ttl in (255, 254)]
    out, counted = world.send("p1", frame(replies.arp_request(A4, op=2), ARP,
                                          dst=MAC[0]), *hop)
    assert out == {}
    assert counted == {("arp_to_controller", 3, 0): 1,
                       ("nd_to_controller", 3, 0): 1,
                       ("icmpv6_unhandled", 3, 0): 1}


def test_fragment_of_a_solicitation(world):
    """Neighbour discovery is never fragmented (RFC 6980)."""
    message = replies.icmpv6(HOST6, A6, 135, 0, replies.solicitation(
        A6, replies.source_link(SRC_MAC)))
    for offset in b"\0\1", b"\0\x09":
        header = (44, b"\0\0" + offset + b"\0\0\0\1")
        out, counted = world.send("p1", frame(
            ipv6(message, HOST6, A6, proto=ICMPV6, ttl=255,
                 extensions=[header]), ETH_IPV6, dst=MAC[0]))
        assert out == {} and "nd_reply" not in {key[0] for key in counted}


@pytest.mark.parametrize("body, name", [
    (ip(A6)[:8], "ipv6nd_neigh_sol_target_nomatch"),
    (b"", "ipv6nd_neigh_sol_target_nomatch"),
    (ip(A6) + b"\1\0" + bytes(6), "nd_to_controller"),
    (ip(A6) + b"\1\2" + bytes(6), "nd_to_controller")])
def test_malformed_solicitation(world, body, name):
    """One that is cut short has no target; one whose options do not fit has
    none, and is not answered by evlbd either."""
    message = replies.icmpv6(HOST6, A6, 135, 0, bytes(4) + body)
    bad = frame(ipv6(message, HOST6, A6, proto=ICMPV6, ttl=255), ETH_IPV6,
                dst=MAC[0])
    good = question(A6, options=b"")
    out, counted = world.send("p1", bad)
    assert (out, counted) == ({}, {(name, 3, 0): 1})
    # Whatever evlbd has to say of it, it says before it answers the next one.
    ask_controller(world, good, replies.advertisement(good, MAC[0], A6,
                                                      SRC_MAC),
                   "nd_to_controller")


@pytest.mark.parametrize("asked, name", [
    (question(A6, ttl=254), "ipv6nd_hop_limit"),
    (question("fd00::77", dst=A6), "ipv6nd_neigh_sol_target_nomatch"),
    (question(A6, code=1), "icmpv6_unhandled")])
def test_solicitation_not_answered(world, asked, name):
    """Wrong solicitations are dropped by name."""
    out, counted = world.send("p1", asked)
    assert out == {}
    assert counted == {(name, 3, 0): 1}


def test_solicitation_for_somebody_else(bridge):
    """A solicitation for an address that shares our group is for others."""
    asked = question("fd00:5::1")       # The group of A6, too.
    out, counted = bridge.send("p1", asked)
    assert {port: frames for port, frames in out.items() if port != "br0"} \
        == {"p2": [asked], "p3": [asked], "p4": [asked]}
    assert counted == {("l2_normal", 3, 0): 1}
