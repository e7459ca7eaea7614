# SPDX-License-Identifier: Apache-2.0
"""Events: from the source filter to the member."""

import model
import pytest
from packets import ETH_IP, ETH_IPV6, event, frame, ipv4, ipv6, lb, udp
from world import A4, A4_OTHER, A6, A6_OTHER, B4, B6, MAC, SOURCE

TAG = {0: (), 7: ((0x8100, 7 | 5 << 13),)}
HOP_BY_HOP = (0, bytes([0, 0, 1, 4, 0, 0, 0, 0]))


def member(number, address, vlan=0):
    """Where packets to 'address' of instance a that are for member 'number'
    go."""
    known = {1: (4, "02:00:00:00:01:01", "10.1.0.1", 20000, 2, False),
             2: (4, "02:00:00:00:01:02", "10.1.0.2", 65535, 0, True),
             3: (4, "02:00:00:00:01:03", "10.1.0.3", 20000, 0, False),
             61: (6, "02:00:00:00:06:01", "fd01::61", 20000, 14, False),
             62: (6, "02:00:00:00:06:02", "fd01::62", 20000, 0, True)}
    family, eth, address_to, base, bits, keep = known[number]
    return model.Member(family, MAC[vlan], eth, address, address_to, base,
                        bits, keep)


def packet(address, tick, vlan=0, **fields):
    """An event packet to 'address'."""
    family = 6 if ":" in address else 4
    fields.setdefault("src", SOURCE[family])
    fields.setdefault("dport", 16384)
    return event(family, tick, dst=address, eth_dst=MAC[vlan],
                 tags=TAG[vlan], **fields)


RECEIVED = {2: "rx_v2", 3: "rx_v3"}


def expect_at(world, sent, address, number, port, vlan=0, version=2):
    """'sent' gets to member 'number' by 'port', byte by byte."""
    out, counted = world.send("p1", sent)
    assert out == {port: [model.forward(sent, member(number, address, vlan))]}
    assert counted == {("lb_rx", 3, 0): 1, (RECEIVED[version], 3, 0): 1,
                       ("mbr_tx", 3, number): 1}


@pytest.mark.parametrize("vlan", [0, 7])
@pytest.mark.parametrize("address, tick, number, port", [
    (A4, 1000, 1, "p2"), (A4, 1001, 2, "p3"), (A4, 1002, 3, "p1"),
    (A4_OTHER, 1000, 1, "p2"), (A4_OTHER, 1001, 2, "p3"),
    (A4_OTHER, 1002, 3, "p1"), (A6, 3000, 61, "p2"), (A6, 3001, 62, "p3"),
    (A6_OTHER, 3000, 61, "p2"), (A6_OTHER, 3001, 62, "p3")])
def test_forwarded(world, vlan, address, tick, number, port):
    """To the member of the slot, from the address that was hit, with the tag
    that it came with, whatever the version and the checksum."""
    sent = [packet(address, tick, vlan, version=version, slot_select=tick & 7,
                   port_select=0xabcd, csum=csum)
            for version in (2, 3) for csum in ("right", "wrong", "absent")]
    out, counted = world.send("p1", *sent)
    to = member(number, address, vlan)
    assert out == {port: [model.forward(frame, to) for frame in sent]}
    assert counted == {("lb_rx", 3, 0): 6, ("rx_v2", 3, 0): 3,
                       ("rx_v3", 3, 0): 3, ("mbr_tx", 3, number): 6}


@pytest.mark.parametrize("fields", [
    {"ttl": 2}, {"ttl": 255}, {"tos": 0xff}, {"ident": 0xffff},
    {"options": b"\x94\4\0\0"}, {"options": b"\1" * 40}, {"frag": 0x4000},
    {"ip_csum": 0x1234}, {"sport": 1}, {"dport": 32767}, {"payload": b""},
    {"payload": b"x"}, {"payload": bytes(9000)}, {"padding": bytes(9)},
    {"src": "192.168.7.200"}])
def test_kept4(world, fields):
    """What the rewrite has no business with stays."""
    expect_at(world, packet(A4, 1000, **fields), A4, 1, "p2")


@pytest.mark.parametrize("fields", [
    {"ttl": 2}, {"tos": 0xff, "label": 0xfffff}, {"extensions": [HOP_BY_HOP]},
    {"payload": b"x"}, {"payload": bytes(9000)}, {"src": "2001:db8:7::9"}])
def test_kept6(world, fields):
    """The same over IPv6."""
    expect_at(world, packet(A6, 3000, **fields), A6, 61, "p2")


@pytest.mark.parametrize("tick, number", [
    (1999, 4), (2000, 1), (2999, 1), (2 ** 63, 61), (2 ** 64 - 2, 61)])
def test_epochs(world, tick, number):
    """The boundaries of epochs, from both sides."""
    family = 6 if number > 60 else 4
    address = A6 if family == 6 else A4
    out, counted = world.send("p1", packet(address, tick, version=3,
                                           slot_select=3 if number == 4
                                           else 0))
    name = "no_port" if number == 4 else "mbr_tx"
    assert counted == {("lb_rx", 3, 0): 1, ("rx_v3", 3, 0): 1,
                       (name, 3, number): 1}
    assert list(out) == ([] if number == 4 else ["p2"])


def test_late(world):
    """Ticks before the oldest epoch go by the newest one, or are dropped, and
    are counted."""
    sent = packet(A6, 999, version=3, slot_select=0)
    out, counted = world.send("p1", sent)
    assert out == {"p2": [model.forward(sent, member(61, A6))]}
    assert counted == {("lb_rx", 3, 0): 1, ("rx_v3", 3, 0): 1,
                       ("late", 3, 9): 1, ("mbr_tx", 3, 61): 1}
    out, counted = world.send("p1", packet(B4, 99, dport=19522))
    assert out == {}
    assert counted == {("lb_rx", 4, 0): 1, ("rx_v2", 4, 0): 1,
                       ("late_drop", 4, 0): 1}


@pytest.mark.parametrize("address, tick, number, port", [
    (A4, 1000, 1, "p2"), (A4, 1001, 2, "p3"), (A4, 1002, 3, "p2"),
    (A6, 3000, 61, "p2")])
def test_one_arm(world, address, tick, number, port):
    """A member may be behind the port that the packet comes in through."""
    sent = packet(address, tick)
    out, counted = world.send(port, sent)
    assert out == {port: [model.forward(sent, member(number, address))]}
    assert counted["mbr_tx", 3, number] == 1


def test_instances_are_apart(world):
    """Instance b goes by its own sources, ports, epochs and members."""
    sent = packet(B4, 1000, dport=19523, src="1.2.3.4")
    out, counted = world.send("p1", sent)
    assert out == {"p3": [model.forward(sent, model.Member(
        4, MAC[0], "02:00:00:00:02:01", B4, "10.2.0.1", 30000))]}
    assert counted == {("lb_rx", 4, 0): 1, ("rx_v2", 4, 0): 1,
                       ("mbr_tx", 4, 1): 1}
    out, counted = world.send("p1", packet(B4, 1000, dport=19524))
    assert (out, counted) == ({}, {("lb_rx", 4, 0): 1,
                                   ("no_udplb_hdr", 4, 0): 1})


def test_no_epochs(world):
    """An instance without epochs drops its events."""
    out, counted = world.send("p1", packet("10.0.0.3", 1))
    assert (out, counted) == ({}, {("lb_rx", 5, 0): 1, ("rx_v2", 5, 0): 1,
                                   ("epoch_assign_miss", 5, 0): 1})


@pytest.mark.parametrize("sent, name", [
    (packet(A4, 3000), "mbr_info_miss"), (packet(A6, 1000), "mbr_info_miss"),
    (packet(B6, 1000, dport=19522), "mbr_info_miss")])
def test_family_without_members(world, sent, name):
    """A member is found by the packet's own family."""
    owner = 4 if sent == packet(B6, 1000, dport=19522) else 3
    out, counted = world.send("p1", sent)
    assert (out, counted) == ({}, {("lb_rx", owner, 0): 1,
                                   ("rx_v2", owner, 0): 1,
                                   (name, owner, 0): 1})


def fault(family, **fields):
    """A packet that is wrong in one way."""
    return packet(A6 if family == 6 else A4, 1000, **fields)


FAULTS = [
    ({"dport": 16383}, "no_udplb_hdr"), ({"dport": 32768}, "no_udplb_hdr"),
    ({"dport": 0}, "no_udplb_hdr"), ({"dport": 65535}, "no_udplb_hdr"),
    ({"length": 7}, "bad_length"), ({"length": 999}, "bad_length"),
    ({"header": lb(1)[:15], "payload": b""}, "short"),
    ({"header": b"", "payload": b""}, "short"),
    ({"magic": 0x4c43}, "bad_magic"), ({"magic": 0}, "bad_magic"),
    ({"version": 1}, "bad_version"), ({"version": 4}, "bad_version"),
    ({"version": 0}, "bad_version"), ({"version": 255}, "bad_version")]


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("fields, name", FAULTS)
def test_faults(world, family, fields, name):
    """Each fault is dropped and counted by its name, on both ways."""
    out, counted = world.send("p1", fault(family, **fields))
    assert (out, counted) == ({}, {("lb_rx", 3, 0): 1, (name, 3, 0): 1})


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("version", [2, 3])
def test_ttl_expired(world, family, version):
    """The TTL is looked at behind the header, which has been counted."""
    out, counted = world.send("p1", *[
        fault(family, ttl=ttl, version=version) for ttl in (0, 1)])
    assert (out, counted) == ({}, {("lb_rx", 3, 0): 2,
                                   (RECEIVED[version], 3, 0): 2,
                                   ("ttl_expired", 3, 0): 2})


@pytest.mark.parametrize("family, src", [
    (4, "192.168.0.2"), (4, "192.168.8.1"), (6, "2001:db8:1::2"),
    (6, "2001:db8:8::1")])
def test_blocked_source(world, family, src):
    """Senders that are not listed."""
    out, counted = world.send("p1", fault(family, src=src))
    assert (out, counted) == ({}, {("lb_rx", 3, 0): 1,
                                   ("blocked_src", 3, 0): 1})


@pytest.mark.parametrize("proto", [6, 47, 136, 255])
def test_not_udp(world, proto):
    """Other protocols, from a listed source or not."""
    out, counted = world.send(
        "p1", frame(ipv4(bytes(40), SOURCE[4], A4, proto=proto), ETH_IP,
                    dst=MAC[0]),
        frame(ipv6(bytes(40), "fd99::1", A6, proto=proto), ETH_IPV6,
              dst=MAC[0]))
    assert (out, counted) == ({}, {("lb_rx", 3, 0): 2, ("not_udp", 3, 0): 2})


@pytest.mark.parametrize("frag", [0x2000, 0x2001, 0x0001, 0x1fff])
def test_fragments4(world, frag):
    """Any fragment, before its ports are looked at."""
    out, counted = world.send("p1", fault(4, frag=frag),
                              fault(4, frag=frag, dport=1))
    assert (out, counted) == ({}, {("lb_rx", 3, 0): 2, ("fragment", 3, 0): 2})


@pytest.mark.parametrize("offset", [b"\0\0", b"\0\1", b"\0\x09", b"\0\x08"])
def test_fragments6(world, offset):
    """A packet with a fragment header, be it one of one fragment."""
    header = (44, b"\0\0" + offset + b"\0\0\0\1")
    out, counted = world.send("p1", fault(6, extensions=[header]))
    assert (out, counted) == ({}, {("lb_rx", 3, 0): 1, ("fragment", 3, 0): 1})


@pytest.mark.parametrize("family, fields", [
    (4, {"frag": 0x2000}), (4, {"frag": 1}),
    (6, {"extensions": [(44, b"\0\0\0\1\0\0\0\1")]}),
    (6, {"extensions": [(44, b"\0\0\0\x08\0\0\0\1")]})])
def test_fragments_of_blocked_sources(world, family, fields):
    """The source is looked at before."""
    src = "192.0.2.1" if family == 4 else "2001:db8:ffff::1"
    out, counted = world.send("p1", fault(family, src=src, **fields))
    assert (out, counted) == ({}, {("lb_rx", 3, 0): 1,
                                   ("blocked_src", 3, 0): 1})


@pytest.mark.parametrize("src", [SOURCE[4], "192.0.2.1"])
@pytest.mark.parametrize("frag", [0x2000, 0x0001])
def test_fragments_of_others(world, src, frag):
    """The protocol is looked at first of all."""
    sent = frame(ipv4(bytes(40), src, A4, proto=6, frag=frag), ETH_IP,
                 dst=MAC[0])
    out, counted = world.send("p1", sent)
    assert (out, counted) == ({}, {("lb_rx", 3, 0): 1, ("not_udp", 3, 0): 1})


@pytest.mark.parametrize("address, tick, number, port, overhead", [
    (A4, 1000, 1, "p2", 20), (A6, 3000, 61, "p2", 40), (A4, 1001, 2, "p3", 20),
    (A6, 3001, 62, "p3", 40)])
def test_9100_bytes(world, address, tick, number, port, overhead):
    """The largest packet, with its header stripped or kept."""
    payload = (bytes(range(256)) * 36)[:9100 - overhead - 8 - 16]
    sent = [packet(address, tick, vlan, csum=csum, payload=payload)
            for vlan in (0, 7) for csum in ("right", "wrong", "absent")]
    assert {len(f) for f in sent} == {14 + 9100, 18 + 9100}
    out, counted = world.send("p1", *sent)
    assert out == {port: [
        model.forward(f, member(number, address, 0 if i < 3 else 7))
        for i, f in enumerate(sent)]}
    assert counted["mbr_tx", 3, number] == 6


def test_group_address(world):
    """An instance's group is no address of events."""
    sent = event(6, 3000, src=SOURCE[6], dst="ff02::1:ff00:1",
                 eth_dst="33:33:ff:00:00:01", dport=16384)
    out, counted = world.send("p1", sent)
    assert (out, counted) == ({}, {("lb_rx", 3, 0): 1, ("rx_v2", 3, 0): 1,
                                   ("mbr_info_miss", 3, 0): 1})


@pytest.fixture
def strange_calendar(world):
    """An epoch of instance a that evlbd would never make: ticks of 2^62 and
    above, slot 0 is member 1, slot 1 nobody's, slot 2 member 65535."""
    world.switch.add_group("br0", (
        "group_id=1,type=select,selection_method=lb_calendar,"
        "selection_method_param=%d" % (8 << 24 | 2 << 16)
        + "".join(",bucket=bucket_id:%d,actions=set_field:%d->lb_member" % x
                  for x in ((0, 1), (2, 65535)))))
    match = "table=35,priority=999,lb_tick=%#x/%#x" % (1 << 62, 3 << 62)
    world.switch.add_flows("br0", match + ",actions=group:1")
    world.switch.settle()   # Cached flows know of it.
    yield 1 << 62
    world.switch.ofctl("--strict", "del-flows", "br0", match)
    world.switch.ofctl("del-groups", "br0", "group_id=1")
    world.last = world.counters()


@pytest.mark.parametrize("slot, name, detail", [
    (0, "mbr_tx", 1), (1, "lb_calendar_miss", 0), (2, "mbr_info_miss", 0),
    (3, "lb_calendar_miss", 0)])
def test_slots_without_member(world, strange_calendar, slot, name, detail):
    """A slot without a row, and one of the member that there is not."""
    sent = packet(A4, strange_calendar + slot)
    out, counted = world.send("p1", sent)
    assert out == ({"p2": [model.forward(sent, member(1, A4))]} if not slot
                   else {})
    assert counted == {("lb_rx", 3, 0): 1, ("rx_v2", 3, 0): 1,
                       (name, 3, detail): 1}


def test_checksum_that_becomes_0(world):
    """A UDP checksum of 0 would say that there is none."""
    datagram = udp(SOURCE[4], A4, lb(1000) + b"ab", dport=16384)
    for word in range(65536):
        payload = word.to_bytes(2, "big")
        datagram = udp(SOURCE[4], A4, lb(1000) + payload, dport=16384)
        sent = frame(ipv4(datagram, SOURCE[4], A4), ETH_IP, dst=MAC[0])
        if model.forward(sent, member(1, A4))[40:42] == b"\xff\xff":
            break
    else:
        pytest.fail("no payload makes it 0")
    expect_at(world, sent, A4, 1, "p2")
