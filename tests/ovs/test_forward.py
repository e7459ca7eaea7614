# SPDX-License-Identifier: Apache-2.0
"""Packets in, packets out, byte for byte as the model has them.

Each case goes through all three passes on the dummy datapath.  The slots of
the calendar lead to members that differ in all that a member can have."""

import random

import pytest

import model
from model import Member
from packets import (ETH_QINQ, ETH_VLAN, checksum, event, lb, udp,
                     udp_checksum)
from pipeline import calendar, fault_of, member_flows, parse_flows

SELF_MAC = "02:00:00:00:00:01"
SELF_IP = {4: "10.0.0.1", 6: "2001:db8:2::1"}


def make_member(i, base, bits, keep):
    return {family: Member(family, SELF_MAC, "02:00:00:00:01:%02x" % i,
                           SELF_IP[family],
                           "10.1.0.%d" % i if family == 4
                           else "2001:db8:3::%x" % i,
                           base, bits, keep)
            for family in (4, 6)}


# Slot n leads to the n-th of them.
MEMBERS = {
    1: make_member(1, 20000, 0, False),
    2: make_member(2, 20000, 0, True),
    3: make_member(3, 30000, 4, False),
    4: make_member(4, 65535, 16, False),
    5: make_member(5, 65000, 14, True),
    6: make_member(6, 0, 1, False),
    7: make_member(7, 0xabcd, 16, True),
    65535: make_member(8, 1, 9, False),
}
SLOTS = dict(enumerate(MEMBERS))
BITS = 3


def load(ovs):
    ovs.clear("br0")
    ovs.add_group("br0", calendar(7, SLOTS, bits=BITS))
    ovs.add_flows("br0", *parse_flows(ovs, "p2"),
                  "table=32,priority=0,actions=group:7",
                  *member_flows(MEMBERS, "p2"))


@pytest.fixture(scope="module")
def pipeline(ovs):
    load(ovs)
    return ovs


def expect(frame, max_tags=1):
    """The frame that must come out of the pipeline for 'frame'."""
    parsed = model.parse(frame, max_tags)
    assert parsed.status == model.OK
    member = MEMBERS[SLOTS[model.slot(parsed, BITS)]][parsed.family]
    return model.forward(frame, member, max_tags)


def check(ovs, frames, max_tags=1):
    expected = [expect(frame, max_tags) for frame in frames]
    got = ovs.forward("p1", frames, "p2")
    for i, (frame, want, have) in enumerate(zip(frames, expected, got)):
        assert have.hex() == want.hex(), \
            "frame %d: %s" % (i, frame.hex())
    assert len(got) == len(expected)


def each_member(**fields):
    """One event for each slot."""
    return [event(tick=0x1234567800 + s, **fields) for s in SLOTS]


# Named cases: each goes to every member.  First what IPv4 and IPv6 share.
BOTH = {
    "plain": {},
    "no UDP checksum": {"csum": "absent"},
    "wrong UDP checksum": {"csum": "wrong"},
    "UDP checksum ffff": {"csum": 0xffff},
    "UDP checksum 1": {"csum": 1},
    "version 3, port select 0": {"version": 3},
    "port select 1": {"port_select": 1},
    "port select ffff": {"port_select": 0xffff},
    "port select 8000": {"port_select": 0x8000},
    "other next protocol": {"proto": 0xa5},
    "version 2 with bits in the reserved field": {"slot_select": 0xffff},
    "TTL 2": {"ttl": 2},
    "TTL 255": {"ttl": 255},
    "DSCP and ECN": {"tos": 0xb9},
    "all of the traffic class": {"tos": 0xff},
    "no payload": {"payload": b""},
    "one byte of payload": {"payload": b"x"},
    "odd payload": {"payload": b"seventeen bytes.."},
    "even payload": {"payload": bytes(range(256))},
    "1500-byte MTU": {"payload": b"\xa5" * 1400},
    "9000 bytes": {"payload": bytes(8900)},
    "source port 0": {"sport": 0},
    "other destination port": {"dport": 32767},
    "other source": {"eth_src": "aa:bb:cc:dd:ee:ff"},
    "broadcast destination": {"eth_dst": "ff:ff:ff:ff:ff:ff"},
    "padding": {"payload": b"", "padding": b"\xee\xff"},
    "odd padding": {"payload": b"abc", "padding": b"\x01\x02\x03"},
    "long padding": {"padding": b"\x55" * 300},
    "VLAN": {"tags": [(ETH_VLAN, 100)]},
    "VLAN with priority": {"tags": [(ETH_VLAN, 0xefff)]},
    "priority tag": {"tags": [(ETH_VLAN, 0xe000)]},
    "VLAN and padding": {"tags": [(ETH_VLAN, 5)], "padding": b"\x55" * 5},
    "802.1ad tag alone": {"tags": [(ETH_QINQ, 7)]},
}

IPV4 = {
    "IP options": {"options": b"\x94\x04\x00\x00"},
    "40 bytes of IP options": {"options": b"\x01" * 39 + b"\x00"},
    "IP options and padding": {"options": b"\x07\x07\x04" + bytes(5),
                               "padding": b"\xff" * 7},
    "don't fragment": {"frag": 0x4000},
    "reserved flag": {"frag": 0x8000},
    "IP id": {"ident": 0xfedc},
    "wrong IP checksum": {"ip_csum": 0x1234},
    "IP checksum 0": {"ip_csum": 0},
    "IP checksum ffff": {"ip_csum": 0xffff},
    "broadcast source": {"src": "255.255.255.255"},
    "9100 bytes": {"payload": bytes(9100 - 20 - 8 - 16)},
}

HEADER8 = bytes(8)
IPV6 = {
    "flow label": {"label": 0xfffff},
    "flow label and class": {"label": 0x12345, "tos": 0x42},
    "hop-by-hop": {"extensions": [(0, HEADER8)]},
    "routing header": {"extensions": [(43, HEADER8)]},
    "destination options, 16 bytes":
        {"extensions": [(60, b"\0\1" + bytes(14))]},
    "authentication header": {"extensions": [(51, b"\0\4" + bytes(22))]},
    "four extension headers":
        {"extensions": [(0, HEADER8), (60, b"\0\2" + bytes(22)),
                        (43, HEADER8), (51, b"\0\1" + bytes(10))]},
    "extension header and VLAN":
        {"extensions": [(0, HEADER8)], "tags": [(ETH_VLAN, 12)]},
    "multicast source": {"src": "ff02::1"},
    "9100 bytes": {"payload": bytes(9100 - 40 - 8 - 16)},
}


def param_ids(cases):
    return {"argvalues": list(cases.values()), "ids": list(cases)}


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("fields", **param_ids(BOTH))
def test_both_families(pipeline, family, fields):
    check(pipeline, each_member(family=family, **fields))


@pytest.mark.parametrize("fields", **param_ids(IPV4))
def test_ipv4(pipeline, fields):
    fields = dict(fields)
    csum = fields.pop("ip_csum", None)
    frames = each_member(family=4, **fields)
    if csum is not None:
        frames = [f[:24] + csum.to_bytes(2, "big") + f[26:] for f in frames]
    check(pipeline, frames)


@pytest.mark.parametrize("fields", **param_ids(IPV6))
def test_ipv6(pipeline, fields):
    check(pipeline, each_member(family=6, **fields))


@pytest.mark.parametrize("family", [4, 6])
def test_udp_length_less_than_ip_length(pipeline, family):
    """What lies in the IP packet behind the datagram stays there, and is in
    no checksum."""
    src, dst = SELF_IP[family], SELF_IP[family]
    frames = []
    for s in SLOTS:
        l4 = udp(src, dst, lb(s) + b"abcd", length=8 + 16 + 4)
        frames.append(event(family=family, l4=l4 + b"behind", src=src,
                            dst=dst))
    check(pipeline, frames)


@pytest.mark.parametrize("family", [4, 6])
def test_checksum_of_zero_becomes_ffff(pipeline, family):
    """Frames made so that the member's checksum is 0 without the rule."""
    frames = []
    for s in SLOTS:
        frame = event(family=family, tick=s)
        at = model.parse(frame).udp + 6
        # What is added to the sum that arrived turns up in the one that goes
        # out: ask for as much more as the model's result falls short of 0.
        result = model.word(expect(frame), at)
        arrived = model.word(frame, at)
        csum = (arrived ^ 0xffff) + result
        csum = ((csum & 0xffff) + (csum >> 16)) ^ 0xffff
        frame = frame[:at] + csum.to_bytes(2, "big") + frame[at + 2:]
        assert model.word(expect(frame), at) == 0xffff and csum
        frames.append(frame)
    check(pipeline, frames)


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("csum", ["right", "wrong"])
def test_right_in_right_out(pipeline, family, csum):
    """Without the model: the sum over all that arrives at the member."""
    frames = each_member(family=family, csum=csum, payload=b"odd number of b")
    for frame in pipeline.forward("p1", frames, "p2"):
        l3, l4 = 14, 34 if family == 4 else 54
        src, dst = ((frame[26:30], frame[30:34]) if family == 4
                    else (frame[22:38], frame[38:54]))
        datagram = frame[l4:l4 + 6] + b"\0\0" + frame[l4 + 8:]
        right = udp_checksum(src, dst, datagram)
        assert (model.word(frame, l4 + 6) == right) == (csum == "right")
        assert model.word(frame, l4 + 4) == len(datagram)
        if family == 4:
            assert checksum(frame[l3:l4]) == 0


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("ttl", [0, 1])
def test_ttl_expired(pipeline, family, ttl):
    frames = each_member(family=family, ttl=ttl)
    got = pipeline.forward("p1", frames, "p2")
    assert [fault_of(f) for f in got] == [model.TTL_EXPIRED] * len(frames)
    assert [f[6:] for f in got] == [f[6:] for f in frames]


@pytest.mark.parametrize("bits", range(17))
def test_port_bits(br0, bits):
    """Every number of port select bits, bases around the end of the port
    numbers."""
    rng = random.Random(bits)
    selects = [0, 1, 0xffff, 1 << bits & 0xffff, (1 << bits) - 1 & 0xffff] + [
        rng.randrange(65536) for _ in range(10)]
    for base in (0, 20000, 65535):
        member = Member(4, SELF_MAC, "02:00:00:00:01:01", SELF_IP[4],
                        "10.1.0.1", base, bits)
        br0.clear("br0")
        br0.add_group("br0", calendar(7, {0: 5}, bits=0))
        br0.add_flows("br0", *parse_flows(br0, "p2"),
                      "table=32,priority=0,actions=group:7",
                      *member_flows({5: {4: member}}, "p2"))
        frames = [event(tick=n, port_select=n, csum=csum) for n in selects
                  for csum in ("right", "absent")]
        got = br0.forward("p1", frames, "p2")
        assert got == [model.forward(f, member) for f in frames]
        assert [model.word(f, 36) for f in got[::2]] == [
            (base + n % 2 ** bits) % 65536 for n in selects]


def test_qinq(ovs):
    """With two tags looked through, a doubly tagged event packet is an event
    packet, and keeps both."""
    ovs.vsctl("set", "Open_vSwitch", ".", "other_config:vlan-limit=2")
    try:
        load(ovs)
        for family in (4, 6):
            for outer in (ETH_QINQ, ETH_VLAN):
                check(ovs, each_member(
                    family=family, tags=[(outer, 10), (ETH_VLAN, 20)],
                    padding=b"\xcc" * 3), max_tags=2)
    finally:
        ovs.vsctl("remove", "Open_vSwitch", ".", "other_config", "vlan-limit")
        load(ovs)


def random_event(rng):
    """A valid event packet of any kind."""
    family = rng.choice((4, 6))
    fields = {
        "family": family,
        "tick": rng.getrandbits(64),
        "version": rng.choice((2, 3)),
        "slot_select": rng.getrandbits(16),
        "port_select": rng.getrandbits(16),
        "proto": rng.getrandbits(8),
        "payload": rng.randbytes(rng.choice((0, 1, rng.randrange(64),
                                             rng.randrange(1500),
                                             rng.randrange(8000)))),
        "csum": rng.choice(("right", "right", "absent", "wrong", 0xffff,
                            rng.getrandbits(16))),
        "sport": rng.getrandbits(16),
        "dport": rng.getrandbits(16),
        "ttl": rng.randrange(2, 256),
        "tos": rng.getrandbits(8),
        "eth_src": "0a:%02x:00:00:00:%02x" % (rng.getrandbits(8),
                                              rng.getrandbits(8)),
        "tags": rng.choice(([], [], [(ETH_VLAN, rng.getrandbits(16))])),
        "padding": rng.choice((b"", b"", rng.randbytes(rng.randrange(60)))),
    }
    if family == 4:
        fields.update(ident=rng.getrandbits(16),
                      frag=rng.choice((0, 0x4000, 0x8000)),
                      options=rng.randbytes(4 * rng.choice((0, 0, 1, 5, 10))),
                      src="192.168.%d.%d" % (rng.getrandbits(8),
                                             rng.getrandbits(8)))
    else:
        fields.update(label=rng.getrandbits(20),
                      src="2001:db8:9::%x" % rng.getrandbits(16),
                      extensions=[
                          (kind, b"\0\0" + rng.randbytes(6))
                          for kind in rng.choice(((), (), (0,), (60, 43)))])
    return event(**fields)


@pytest.mark.parametrize("seed", range(4))
def test_random(pipeline, seed):
    """1000 frames a seed, of all members and kinds at once."""
    rng = random.Random(seed)
    check(pipeline, [random_event(rng) for _ in range(1000)])


def test_nothing_was_dropped_by_lb_forward(pipeline):
    """lb_forward drops what lb_parse would have refused; here it has not met
    any."""
    assert pipeline.coverage("datapath_drop_lb_forward") == 0
