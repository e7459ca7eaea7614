# SPDX-License-Identifier: Apache-2.0
"""Packets in, packets out, byte for byte as the model has them.

Each case goes through all three passes on the dummy datapath."""

import random

import pytest

import model
from cases import (BOTH, IPV4, IPV6, SELF_IP, SELF_MAC, SLOTS, each_member,
                   expect, load, random_event)
from model import Member
from packets import (ETH_QINQ, ETH_VLAN, checksum, event, lb, udp,
                     udp_checksum)
from pipeline import calendar, fault_of, member_flows, parse_flows


@pytest.fixture(scope="module")
def pipeline(ovs):
    load(ovs, "p2")
    return ovs


def check(ovs, frames, max_tags=1):
    expected = [expect(frame, max_tags) for frame in frames]
    got = ovs.forward("p1", frames, "p2")
    for i, (frame, want, have) in enumerate(zip(frames, expected, got)):
        assert have.hex() == want.hex(), \
            "frame %d: %s" % (i, frame.hex())
    assert len(got) == len(expected)


def param_ids(cases):
    return {"argvalues": list(cases.values()), "ids": list(cases)}


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("fields", **param_ids(BOTH))
def test_both_families(pipeline, family, fields):
    check(pipeline, each_member(family=family, **fields))


@pytest.mark.parametrize("fields", **param_ids(IPV4))
def test_ipv4(pipeline, fields):
    check(pipeline, each_member(family=4, **fields))


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
        load(ovs, "p2")
        for family in (4, 6):
            for outer in (ETH_QINQ, ETH_VLAN):
                check(ovs, each_member(
                    family=family, tags=[(outer, 10), (ETH_VLAN, 20)],
                    padding=b"\xcc" * 3), max_tags=2)
    finally:
        ovs.vsctl("remove", "Open_vSwitch", ".", "other_config", "vlan-limit")
        load(ovs, "p2")


@pytest.mark.parametrize("seed", range(4))
def test_random(pipeline, seed):
    """1000 frames a seed, of all members and kinds at once."""
    rng = random.Random(seed)
    check(pipeline, [random_event(rng) for _ in range(1000)])


@pytest.mark.parametrize("config", ["emc-insert-inv-prob=1",
                                    "emc-insert-inv-prob=0",
                                    "smc-enable=true"])
def test_caches(pipeline, config):
    """The datapath's caches, which one sender's packets to all members share
    by their 5-tuple's hash, make no difference: filled by every packet, off,
    or the other one."""
    pipeline.vsctl("set", "Open_vSwitch", ".", "other_config:" + config)
    try:
        rng = random.Random(config)
        frames = [event(family, tick=rng.getrandbits(64),
                        port_select=rng.getrandbits(16))
                  for family in (4, 6) for _ in range(300)]
        for _ in range(2):
            check(pipeline, frames)
    finally:
        pipeline.vsctl("remove", "Open_vSwitch", ".", "other_config",
                       config.split("=")[0])


def test_each_stage_counts(pipeline):
    """Flows of all stages have counted the packets that took them."""
    def counts():
        return {table: sum(pipeline.counters("br0", table).values())
                for table in (5, 6, 32, 8)}
    before = counts()
    frames = each_member(family=4) * 3 + each_member(family=6) * 2
    check(pipeline, frames + [event(tick=1)] * 7)
    after = counts()
    assert {t: after[t] - before[t] for t in before} \
        == {t: len(frames) + 7 for t in before}


def test_members_change(br0):
    """A member's flow that is changed, removed and added is followed by the
    datapath; the others are not touched."""
    member = Member(4, SELF_MAC, "02:00:00:00:01:01", SELF_IP[4], "10.1.0.1",
                    20000)
    moved = Member(4, SELF_MAC, "02:00:00:00:01:02", SELF_IP[4], "10.1.0.2",
                   30000, 4, True)
    br0.add_group("br0", calendar(7, {0: 5, 1: 6}, bits=1))
    br0.add_flows("br0", *parse_flows(br0, "p2"), "table=32,actions=group:7",
                  *member_flows({5: {4: member}, 6: {4: member}}, "p2"))
    frames = [event(tick=t, port_select=9) for t in range(4)]

    def forwarded(five):
        return [model.forward(f, m) for f, m in zip(
            frames, (five, member) * 2) if m]
    assert br0.forward("p1", frames, "p2") == forwarded(member)
    for change, five in (("mod-flows", moved), ("del-flows", None),
                         ("add-flow", member)):
        match = "table=8,lb_status=0,lb_member=5,ip"
        br0.ofctl(change, "br0", match if five is None else
                  "%s,actions=%s,output:2" % (match, five.action()))
        br0.settle()
        assert br0.forward("p1", frames, "p2") == forwarded(five)


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("keep", [False, True])
def test_802_3_frame(br0, family, keep):
    """IP behind LLC and SNAP headers is none of the balancer's, or the length
    in front of them is right afterwards."""
    member = Member(family, SELF_MAC, "02:00:00:00:01:01", SELF_IP[family],
                    "10.1.0.1" if family == 4 else "2001:db8::1", 1, 0, keep)
    br0.add_group("br0", calendar(7, {0: 5}, bits=0))
    br0.add_flows("br0", *parse_flows(br0, "p2"), "table=32,actions=group:7",
                  *member_flows({5: {family: member}}, "p2"))
    good = event(family)
    snap = b"\xaa\xaa\3\0\0\0" + good[12:]
    frame = good[:12] + len(snap).to_bytes(2, "big") + snap
    for got in br0.forward("p1", [frame], "p2"):
        assert fault_of(got) == model.NOT_UDP \
            or model.word(got, 12) == len(got) - 14


def test_nothing_was_dropped_by_lb_forward(pipeline):
    """lb_forward drops what lb_parse would have refused; here it has not met
    any."""
    assert pipeline.coverage("datapath_drop_lb_forward") == 0
