# SPDX-License-Identifier: Apache-2.0
"""What is no event packet: 'lb_status' says why, each kind is counted by a
flow of its own, and the frame is as it was.

The frames go to lb_parse whatever they are (no match in table 0), so that its
own checks are what is tested; the model knows the reason."""

import collections
import random
import struct

import pytest

import model
from packets import (DST, ETH_IP, ETH_IPV6, ETH_QINQ, ETH_VLAN, SRC, event,
                     frame, ipv4, ipv6, lb, mac, udp)
from pipeline import fault_of, faults, parse_flows

VALID_MAC = "02:ff:00:00:00:00"
FAMILIES = pytest.mark.parametrize("family", [4, 6])


@pytest.fixture(scope="module")
def parser(ovs):
    ovs.clear("br0")
    ovs.add_flows("br0", *parse_flows(ovs, "p2", [""]),
                  "table=32,actions=set_field:%s->eth_dst,output:p2"
                  % VALID_MAC)
    return ovs


def statuses(ovs, frames):
    """Lets p1 receive 'frames'; returns what lb_parse said of each.  All but
    the destination address, which says it, must be as it was."""
    got = ovs.forward("p1", frames, "p2")
    assert [g[6:] for g in got] == [f[6:] for f in frames]
    result = []
    for g in got:
        if g[:6] == mac(VALID_MAC):
            result.append(model.OK)
        else:
            assert fault_of(g), g.hex()
            result.append(fault_of(g))
    return result


def check(ovs, frames, max_tags=1):
    expected = [model.parse(f, max_tags).status for f in frames]
    got = statuses(ovs, frames)
    for f, want, have in zip(frames, expected, got):
        assert have == want, f.hex()
    return got


def packet_of(family, l4, **fields):
    build = ipv4 if family == 4 else ipv6
    return frame(build(l4, SRC[family], DST[family], **fields),
                 ETH_IP if family == 4 else ETH_IPV6)


@FAMILIES
def test_magic(parser, family):
    magics = [0x4c43, 0x4d42, 0x424c, 0x4c00, 0x0042, 0, 0xffff]
    assert check(parser, [event(family, magic=m) for m in magics]) \
        == [model.BAD_MAGIC] * len(magics)


@FAMILIES
def test_every_version(parser, family):
    frames = [event(family, version=v) for v in range(256)]
    got = check(parser, frames)
    assert [v for v in range(256) if got[v] == model.OK] == [2, 3]
    assert got.count(model.BAD_VERSION) == 254


@FAMILIES
def test_short(parser, family):
    """Every length of payload below the header's, and the header's."""
    header = lb(1001)
    frames = [event(family, header=header[:n], payload=b"")
              for n in range(17)]
    assert check(parser, frames) == [model.SHORT] * 16 + [model.OK]


@FAMILIES
def test_short_in_a_long_frame(parser, family):
    """The bytes that would complete the header are there, but outside of the
    datagram: behind it in the IP packet, or padding behind that."""
    header = lb(1001)
    frames = []
    for n in range(16):
        l4 = udp(SRC[family], DST[family], header[:n])
        frames.append(packet_of(family, l4 + header[n:]))
        frames.append(packet_of(family, l4) + header[n:])
    assert check(parser, frames) == [model.SHORT] * 32


@FAMILIES
def test_udp_length(parser, family):
    """A datagram of 8 + 16 + 12 bytes whose length field says otherwise."""
    payload = lb(1001) + b"hello world!"

    def with_length(n):
        return packet_of(family, udp(SRC[family], DST[family], payload,
                                     length=n))
    assert check(parser, [with_length(n) for n in range(8)]) \
        == [model.BAD_LENGTH] * 8
    assert check(parser, [with_length(n) for n in range(8, 24)]) \
        == [model.SHORT] * 16
    assert check(parser, [with_length(n) for n in range(24, 37)]) \
        == [model.OK] * 13
    assert check(parser, [with_length(n) for n in (37, 38, 255, 256, 0xffff)]
                 ) == [model.BAD_LENGTH] * 5


@FAMILIES
def test_ip_length(parser, family):
    """The IP length cuts the datagram short, or promises more than came."""
    l4 = udp(SRC[family], DST[family], lb(1001) + b"hello world!")
    header = 20 if family == 4 else 0
    name = "total" if family == 4 else "length"

    def with_length(n, padding=b""):
        return packet_of(family, l4, **{name: n}) + padding
    whole = header + len(l4)
    for padding in (b"", b"\0" * 7):
        frames = [with_length(n, padding) for n in range(whole)]
        assert check(parser, frames) == [model.BAD_LENGTH] * whole
    assert check(parser, [with_length(n) for n in (
        whole + 1, whole + 16, 9000, 0xffff)]) == [model.BAD_LENGTH] * 4
    assert check(parser, [with_length(whole), with_length(whole, b"12")]) \
        == [model.OK] * 2


def test_ipv4_header_length(parser):
    """Header lengths below 5 words, and ones that reach into the datagram or
    past the packet."""
    l4 = udp(SRC[4], DST[4], lb(1001) + b"hello world!")
    frames = [packet_of(4, l4, ihl=n) for n in range(16)]
    got = check(parser, frames)
    assert got[:5] == [model.BAD_LENGTH] * 5
    assert got[5] == model.OK
    assert model.OK not in got[6:]


@FAMILIES
def test_ip_version(parser, family):
    """An IP header that contradicts the Ethernet type."""
    l4 = udp(SRC[family], DST[family], lb(1001))
    frames = [packet_of(family, l4, version=v) for v in range(16)]
    got = check(parser, frames)
    assert [v for v in range(16) if got[v] == model.OK] == [family]


@FAMILIES
def test_not_udp(parser, family):
    """Every protocol but UDP over an event packet's bytes; IPv6 headers that
    stand for others are in tests of their own."""
    l4 = udp(SRC[family], DST[family], lb(1001) + bytes(40))
    chained = (0, 43, 44, 51, 60) if family == 6 else ()
    protos = [p for p in range(256) if p != 17 and p not in chained]
    frames = [packet_of(family, l4, proto=p) for p in protos]
    assert check(parser, frames) == [model.NOT_UDP] * len(protos)


def test_not_ip(parser):
    """Other Ethernet types, with an event packet behind them."""
    packet = event(4)[14:]
    types = [0x0806, 0x8035, 0x8847, 0x8848, 0x88cc, 0x8809, 0x894f, 0x88a8,
             0x86de, 0x0801, 0x0600, 0xffff]
    frames = [frame(packet, t) for t in types]
    frames += [frame(bytes(n), 0x88b6) for n in range(46)]
    assert set(check(parser, frames)) == {model.NOT_UDP}


def test_mpls(parser):
    """Label stacks whose last bytes look like the Ethernet type of IP."""
    inner = event(4)[14:]
    frames = [frame(label + inner, 0x8847) for label in (
        b"\0\x01\x01\x40", b"\0\0\x08\0", b"\0\x01\x09\0", b"\0\0\x86\xdd")]
    got = statuses(parser, frames)
    assert model.OK not in got


@FAMILIES
def test_ttl(parser, family):
    got = check(parser, [event(family, ttl=t) for t in range(256)])
    assert got == [model.TTL_EXPIRED] * 2 + [model.OK] * 254


def test_ipv4_fragments(parser):
    """First, middle and last fragments; with the flags that make none."""
    words = {0x2000: model.FRAGMENT, 0x2001: model.FRAGMENT,
             0x0001: model.FRAGMENT, 0x1fff: model.FRAGMENT,
             0x6000: model.FRAGMENT, 0x4001: model.FRAGMENT,
             0x0000: model.OK, 0x4000: model.OK, 0x8000: model.OK}
    assert check(parser, [event(4, frag=w) for w in words]) \
        == list(words.values())
    l4 = udp(SRC[4], DST[4], lb(1001))
    assert check(parser, [packet_of(4, l4[n:], frag=0x2000) for n in range(32)
                          ]) == [model.FRAGMENT] * 32


def fragment_header(offset_flags, proto=17):
    return bytes([proto, 0]) + struct.pack(">HI", offset_flags, 77)


def test_ipv6_fragments(parser):
    """Any fragment header makes a fragment, an atomic one too, wherever it
    stands in the chain."""
    frames = []
    for word in (0x0000, 0x0001, 0x0008, 0x0009, 0xfff8, 0xffff, 0x0006):
        frag = (44, fragment_header(word))
        for extensions in ([frag], [(0, bytes(8)), frag],
                           [frag, (60, bytes(8))]):
            frames.append(event(6, extensions=extensions))
    assert check(parser, frames) == [model.FRAGMENT] * len(frames)


def test_ipv6_extension_headers(parser):
    """Chains that go past the packet, to nothing, or to no UDP."""
    l4 = udp(SRC[6], DST[6], lb(1001) + bytes(20))
    frames = []
    for kind in (0, 43, 60, 51, 44, 135, 59, 255):
        for size in (0, 1, 3, 100, 255):
            header = b"\0" + bytes([size]) + bytes(6)
            frames.append(packet_of(6, l4, extensions=[(kind, header)]))
            frames.append(packet_of(6, b"", extensions=[(kind, header)]))
        for n in range(8):
            frames.append(packet_of(6, bytes(n), proto=kind))
    assert model.OK in check(parser, frames)    # Sizes that are right.


@FAMILIES
@pytest.mark.parametrize("fields", [
    {}, {"tags": [(ETH_VLAN, 7)]}, {"tags": [(ETH_QINQ, 7), (ETH_VLAN, 8)]},
    {"many": True}], ids=["plain", "VLAN", "QinQ", "extended"])
def test_every_truncation(parser, family, fields):
    """A good packet cut off after each of its bytes.  Open vSwitch's receive
    function for tests takes nothing below an Ethernet header."""
    if "many" in fields:
        fields = ({"options": bytes(40)} if family == 4
                  else {"extensions": [(0, bytes(8)), (51, b"\0\4" + bytes(22)
                                                       )]})
    good = event(family, **fields)
    frames = [good[:n] for n in range(14, len(good))]
    got = check(parser, frames)
    assert model.OK not in got
    assert check(parser, [good]) == [
        model.NOT_UDP if len(fields.get("tags", ())) == 2 else model.OK]


@FAMILIES
def test_every_truncation_with_lengths_made_right(parser, family):
    """The same, but IP and UDP lengths agree with what is left, or only the
    IP length does."""
    good = event(family)
    l3 = 14
    l4 = l3 + (20 if family == 4 else 40)
    for fix_udp in (False, True):
        frames = []
        for n in range(l4, len(good)):
            f = bytearray(good[:n])
            if family == 4:
                f[l3 + 2:l3 + 4] = (n - l3).to_bytes(2, "big")
            else:
                f[l3 + 4:l3 + 6] = (n - l4).to_bytes(2, "big")
            if fix_udp and n >= l4 + 8:
                f[l4 + 4:l4 + 6] = (n - l4).to_bytes(2, "big")
            frames.append(bytes(f))
        got = check(parser, frames)
        assert (model.OK in got) == fix_udp
        assert (model.SHORT in got) == fix_udp


def test_vlan_tags(parser):
    """One tag is looked through, a second one is not (vlan-limit)."""
    frames = [event(f, tags=tags) for f in (4, 6) for tags in (
        [(ETH_VLAN, 1)], [(ETH_QINQ, 1)], [(ETH_QINQ, 1), (ETH_VLAN, 2)],
        [(ETH_VLAN, 1), (ETH_VLAN, 2)], [(ETH_VLAN, 1)] * 10)]
    assert check(parser, frames) == [
        model.OK, model.OK, model.NOT_UDP, model.NOT_UDP, model.NOT_UDP] * 2


@pytest.mark.parametrize("seed", range(3))
def test_random_damage(parser, seed):
    """Bytes of good packets changed at random, mostly in the headers."""
    rng = random.Random(seed)
    frames = []
    for _ in range(800):
        family = rng.choice((4, 6))
        f = bytearray(event(
            family, version=rng.choice((2, 3)),
            tags=rng.choice(([], [(ETH_VLAN, 9)])),
            **({"options": bytes(rng.choice((0, 4, 8)))} if family == 4 else
               {"extensions": rng.choice(([], [(0, bytes(8))]))})))
        for _ in range(rng.choice((1, 1, 2, 5))):
            f[rng.randrange(12, len(f))] = rng.getrandbits(8)
        if rng.random() < .2:
            del f[rng.randrange(14, len(f)):]
        # Open vSwitch takes the type of a frame with LLC and SNAP headers
        # from these; the model knows no such frames.
        if model.word(f, 12) >= 0x0600:
            frames.append(bytes(f))
    kinds = collections.Counter(check(parser, frames))
    assert len(kinds) >= 6


def test_each_kind_is_counted(parser):
    """As many packets in each fault's flow as there were; the flows' counters
    are what drops are counted by."""
    kinds = {
        model.NOT_UDP: [packet_of(4, bytes(40), proto=6)] * 2,
        model.FRAGMENT: [event(4, frag=0x2000), event(4, frag=3),
                         event(6, extensions=[(44, fragment_header(1))])],
        model.BAD_LENGTH: [event(4, length=400), event(6, length=7),
                           event(4, total=19), event(6)[:60]],
        model.SHORT: [event(6, header=lb(1)[:15], payload=b"")] * 5,
        model.BAD_MAGIC: [event(4, magic=1), event(6, magic=2)] * 3,
        model.BAD_VERSION: [event(4, version=4)] * 7,
        model.TTL_EXPIRED: [event(6, ttl=1), event(4, ttl=0)] * 4,
        model.OK: [event(4), event(6), event(4, version=3)] * 3,
    }
    before = parser.counters("br0", 6)
    for frames in kinds.values():
        check(parser, frames)
    after = parser.counters("br0", 6)
    for status in range(10):
        match = "lb_status=%d" % status
        assert after[match] - before[match] == len(kinds.get(status, [])), \
            match


def test_fallback_of_a_pipeline_that_matches_udp(br0):
    """Where the IP header's lengths are wrong, Open vSwitch leaves nw_proto
    empty: a flow that matches 'udp' does not hit.  A flow with 'ip' below it
    catches these packets, and lb_parse there says why."""
    br0.add_flows(
        "br0", br0.mark_flow(),
        "table=0,priority=2,udp,actions=lb_parse(table=6)",
        "table=0,priority=2,udp6,actions=lb_parse(table=6)",
        "table=0,priority=1,ip,actions=lb_parse(table=7)",
        "table=0,priority=1,ipv6,actions=lb_parse(table=7)",
        "table=0,priority=0,actions=drop",
        "table=6,actions=set_field:%s->eth_dst,output:p2" % VALID_MAC,
        *faults(7, "p2"))
    good = [event(f) for f in (4, 6)]
    wrong = [event(4, total=10), event(4, total=2000), event(6)[:70],
             event(4, ihl=3)]
    no_udp = [packet_of(f, bytes(20), proto=6) for f in (4, 6)]
    assert statuses(br0, good + wrong + no_udp) == (
        [model.OK] * 2 + [model.BAD_LENGTH] * 4 + [model.NOT_UDP] * 2)
    counters = br0.counters("br0", 0)
    assert [counters["priority=2," + match] for match in ("udp", "udp6")] \
        == [1, 1]


def test_lb_forward_refuses_what_lb_parse_refuses(br0):
    """A flow that forwards without having parsed: what is no event packet is
    dropped and counted, never sent on."""
    member = model.Member(4, "02:00:00:00:00:01", "02:00:00:00:00:11",
                          "10.0.0.1", "10.0.0.11", 20000)
    br0.add_flows("br0", br0.mark_flow(),
                  "table=0,ip,actions=%s,output:p2" % member.action())
    before = br0.coverage("datapath_drop_lb_forward")
    frames = ([event(4), event(4, ttl=1), event(4, magic=0),
               event(4, version=1), event(4, frag=0x2000),
               event(4, length=9), event(4, length=999), event(4, total=10)]
              + [event(4)[:n] for n in range(34, 70)])
    assert br0.forward("p1", frames, "p2") == [
        model.forward(event(4), member)]
    assert br0.coverage("datapath_drop_lb_forward") - before \
        == len(frames) - 1
