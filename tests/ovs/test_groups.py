# SPDX-License-Identifier: Apache-2.0
"""Calendar groups: what they do with a slot."""

import random
import re

import pytest

import model
from choices import (MEMBER_MAC, chosen, expected, load, member_flow,
                     selectors)
from packets import event
from pipeline import calendar, faults, parse_flows


def test_512_buckets(br0):
    """Every slot leads to a member of its own."""
    rng = random.Random(512)
    members = rng.sample(range(65536), 512)
    slots = dict(enumerate(members))
    load(br0, calendar(7, slots), members)
    for version in (2, 3):
        frames = [event(tick=s if version == 2 else 1 << 60, version=version,
                        slot_select=s) for s in range(512)]
        assert chosen(br0, frames) == members
    frames = selectors(rng, 300)
    assert chosen(br0, frames) == expected(frames, slots)

    # What the switch gives back is what it was given.
    buckets = re.findall(r"bucket=bucket_id:(\d+),actions="
                         r"set_field:(\d+)->lb_member",
                         br0.ofctl("dump-groups", "br0"))
    assert {int(s): int(m) for s, m in buckets} == slots


@pytest.mark.parametrize("bits", range(10))
def test_bits(br0, bits):
    rng = random.Random(bits)
    slots = {s: 1000 + s for s in range(2 ** bits)}
    load(br0, calendar(7, slots, bits=bits), slots.values())
    frames = selectors(rng, 60) + [
        event(tick=t) for t in (0, 1, 2 ** bits - 1, 2 ** bits, 0xffff,
                                0x10000, 2 ** 64 - 1)]
    assert chosen(br0, frames) == expected(frames, slots, bits)


@pytest.mark.parametrize("xor", [1, 0xff, 0x1ff, 0x200, 0xfe00, 0xffff,
                                 0xa5a5])
@pytest.mark.parametrize("bits", [0, 4, 9])
def test_xor(br0, bits, xor):
    """Also where bits of xor lie above the slot bits, where they do
    nothing."""
    rng = random.Random(xor)
    slots = {s: 2000 + s for s in range(2 ** bits)}
    load(br0, calendar(7, slots, bits=bits, xor=xor), slots.values())
    frames = selectors(rng, 60)
    assert chosen(br0, frames) == expected(frames, slots, bits, xor)


def test_missing_buckets(br0):
    """Slots without a bucket go on in the member table with lb_status 8 and
    no member; the group without any bucket sends all there."""
    rng = random.Random(8)
    slots = {s: 100 + s % 7 for s in range(512) if s % 3}
    load(br0, calendar(7, slots), slots.values())
    frames = [event(tick=s) for s in range(512)] + selectors(rng, 100)
    assert chosen(br0, frames) == expected(frames, slots)
    counters = br0.counters("br0", 8)
    assert counters["lb_status=8"] == sum(
        e == ("status", 8) for e in expected(frames, slots))

    br0.ofctl("mod-group", "br0", calendar(7, {}))
    br0.settle()
    assert set(chosen(br0, frames)) == {("status", model.NO_SLOT)}


def test_missing_bucket_has_no_member(br0):
    """lb_member is 0 where there is no slot, and member 0 is one like
    others."""
    br0.add_group("br0", calendar(7, {0: 0}, bits=1))
    br0.add_flows("br0", *parse_flows(br0, "p2"), "table=32,actions=group:7",
                  "table=8,lb_member=0,lb_status=0,lb_tick=0,"
                  "lb_slot_select=0,lb_port_select=0,lb_version=3,"
                  "actions=set_field:%s->eth_dst,output:p2"
                  % (MEMBER_MAC % (0, 0)),
                  "table=8,lb_member=0,lb_status=8,lb_tick=0,"
                  "lb_slot_select=0,lb_port_select=0,lb_version=3,"
                  "actions=set_field:02:ee:00:00:00:08->eth_dst,output:p2")
    frames = [event(tick=2 ** 64 - 1, version=3, slot_select=s,
                    port_select=0xffff) for s in (0xfffe, 0xffff)]
    assert chosen(br0, frames) == [0, ("status", 8)]


def test_member_65535(br0):
    """A member ID like others in the group, whatever the calendar uses inside
    for slots without a bucket: here 65535 and all IDs near it are taken."""
    slots = {s: 65535 - s for s in range(511)}
    load(br0, calendar(7, slots), slots.values())
    frames = [event(tick=s) for s in range(512)]
    assert chosen(br0, frames) == expected(frames, slots)

    slots = {s: 65535 - s for s in range(512)}
    br0.clear("br0")
    load(br0, calendar(7, slots), slots.values())
    assert chosen(br0, frames) == expected(frames, slots)

    br0.clear("br0")
    load(br0, calendar(7, {0: 65535}, bits=1), [65535])
    assert chosen(br0, frames[:2]) == [65535, ("status", 8)]


def test_fault_goes_through_unchanged(br0):
    """A packet with a fault that a flow sends to the group all the same keeps
    its fault, and gets no member."""
    br0.add_group("br0", calendar(7, {0: 5}, bits=0))
    br0.add_flows("br0", br0.mark_flow(),
                  "table=0,actions=lb_parse(table=6)",
                  "table=6,actions=group:7", member_flow(5),
                  *[f.replace("lb_status", "lb_member=0,lb_status")
                    for f in faults(8, "p2")])
    frames = [event(magic=1), event(version=9), event(ttl=1), event()]
    assert chosen(br0, frames) == [("status", 5), ("status", 6),
                                   ("status", 7), 5]


def test_4096_slots_by_chain(br0):
    """More slots than one group holds: flows on the selector's high bits
    choose among 8 groups.  Every slot is tried, then any selector."""
    rng = random.Random(4096)
    members = [rng.randrange(1, 500) for _ in range(4096)]
    for i in range(8):
        part = dict(enumerate(members[512 * i:512 * (i + 1)]))
        br0.add_group("br0", calendar(10 + i, part))
    br0.add_flows("br0", *parse_flows(br0, "p2"), *[
        "table=32,lb_slot_select=%#x/0x0e00,actions=group:%d" % (i << 9,
                                                                10 + i)
        for i in range(8)], *[member_flow(m) for m in set(members)])
    frames = [event(tick=s, version=2 + s % 2, slot_select=s)
              for s in range(4096)]
    assert chosen(br0, frames) == members
    frames = selectors(rng, 500)
    assert chosen(br0, frames) == [
        members[model.parse(f).slot_select % 4096] for f in frames]
    # One megaflow for each group, for each port, family and no more.
    calendars = [m for m in br0.megaflows() if "lb_calendar" in m.actions]
    assert len(calendars) <= 8 * 2
