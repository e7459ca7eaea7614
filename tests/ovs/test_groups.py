# SPDX-License-Identifier: Apache-2.0
"""Calendar groups: what they do with a slot, what they refuse."""

import random
import re
import threading

import pytest

import model
import openflow as of
from packets import event
from pipeline import calendar, fault_of, faults, parse_flows
from switch import CommandError

MEMBER_MAC = "02:01:00:00:%02x:%02x"


def member_flow(member, out="p2"):
    """A member's packets go out with its ID in their destination address."""
    return "table=8,lb_status=0,lb_member=%d,actions=set_field:%s->eth_dst," \
        "output:%s" % (member, MEMBER_MAC % (member >> 8, member & 255), out)


def load(ovs, group, members, epoch_flows=None):
    """The pipeline with 'group' for all ticks, and flows for 'members'."""
    ovs.add_group("br0", group)
    ovs.add_flows("br0", *parse_flows(ovs, "p2"),
                  *(epoch_flows or ["table=32,actions=group:7"]),
                  *[member_flow(m) for m in sorted(set(members))],
                  *faults(8, "p2"))


def chosen(ovs, frames):
    """For each of 'frames' the member that it went to, or ("status", n)."""
    result = []
    got = ovs.forward("p1", frames, "p2")
    assert len(got) == len(frames)
    for frame in got:
        status = fault_of(frame)
        assert status or frame[:4] == b"\2\1\0\0", frame.hex()
        result.append(("status", status) if status
                      else model.word(frame, 4))
    return result


def expected(frames, slots, bits=9, xor=0):
    result = []
    for frame in frames:
        slot = model.slot(model.parse(frame), bits, xor)
        result.append(slots.get(slot, ("status", model.NO_SLOT)))
    return result


def selectors(rng, n):
    """Events of both versions and families over all slot selectors."""
    frames = []
    for _ in range(n):
        frames.append(event(rng.choice((4, 6)), tick=rng.getrandbits(64),
                            version=rng.choice((2, 3)),
                            slot_select=rng.getrandbits(16)))
    return frames


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


def test_mod_group_while_traffic_flows(br0):
    """While a group changes in place, each packet goes where the old or the
    new calendar says for its slot, and in the end where the new one says."""
    rng = random.Random(7)

    def random_calendar():
        return {s: rng.randrange(1, 40) for s in range(512)
                if rng.random() < .9}
    old = random_calendar()
    load(br0, calendar(7, old), range(1, 40))
    frames = [event(tick=s * 7919) for s in range(90)]
    for _ in range(12):
        new = random_calendar()
        br0.receive("p1", frames)
        br0.sent("p2")
        br0.appctl("netdev-dummy/receive", "p1", *[f.hex() for f in frames])
        br0.ofctl("mod-group", "br0", "-", stdin=calendar(7, new))
        got = chosen(br0, frames)
        br0.settle()
        # The two batches: the first was on its way when the group changed.
        for have, was, is_ in zip(got[-len(frames):], expected(frames, old),
                                  expected(frames, new)):
            assert have in (was, is_)
        assert chosen(br0, frames) == expected(frames, new)
        old = new


# What a group may not be.  As ovs-ofctl takes it, with what it says, and as
# a message with what the switch says, where the two can say it.
BUCKET0 = "bucket=bucket_id:0,actions=set_field:11->lb_member"
GROUP = ("group_id=7,type=select,selection_method=lb_calendar,"
         "selection_method_param=0x08020000,")

REFUSED_TEXT = {
    "bucket out of range": (
        GROUP + "bucket=bucket_id:4,actions=set_field:1->lb_member",
        "bucket_id 4 is no slot of an lb_calendar group with 4 slots"),
    "bucket far out of range": (
        GROUP + "bucket=bucket_id:4294900000,actions=set_field:1->lb_member",
        "bucket_id"),
    "second action": (
        GROUP + BUCKET0 + ",output:2",
        "must do set_field:MEMBER->lb_member and nothing else"),
    "member twice": (
        GROUP + BUCKET0 + ",set_field:12->lb_member", "nothing else"),
    "other action": (
        GROUP + "bucket=bucket_id:0,actions=output:2", "nothing else"),
    "other field": (
        GROUP + "bucket=bucket_id:0,actions=set_field:1->reg0",
        "nothing else"),
    "part of the member": (
        GROUP + "bucket=bucket_id:0,actions=set_field:1/0xff->lb_member",
        "nothing else"),
    "no action": (
        GROUP + "bucket=bucket_id:0,actions=drop", "nothing else"),
    "lb_forward in a bucket": (
        GROUP + "bucket=bucket_id:0,actions=lb_parse(table=6)",
        "cannot be in a bucket"),
    "bucket twice": (
        GROUP + BUCKET0 + "," + BUCKET0, "[Dd]uplicate bucket|BUCKET_EXISTS"),
    "watch_port": (
        GROUP + "bucket=bucket_id:0,watch_port:1,"
        "actions=set_field:11->lb_member", "nothing else"),
    "watch_group": (
        GROUP + "bucket=bucket_id:0,watch_group:1,"
        "actions=set_field:11->lb_member", "nothing else"),
    "fields": (GROUP + "fields(ip_src)," + BUCKET0,
               "fields may only be specified"),
    "type all": (GROUP.replace("select,", "all,", 1) + BUCKET0,
                 "groups of type select only"),
    "type indirect": (GROUP.replace("select,", "indirect,", 1) + BUCKET0,
                      "groups of type select only"),
    "type ff": (GROUP.replace("select,", "ff,", 1) + BUCKET0.replace(
        "actions", "watch_port=1,actions"), "groups of type select only"),
    "no parameter and bucket 1": (
        GROUP.replace("selection_method_param=0x08020000,", "")
        + "bucket=bucket_id:1,actions=set_field:1->lb_member",
        "no slot of an lb_calendar group with 1 slots"),
    "10 bits": (GROUP.replace("0802", "080a") + BUCKET0,
                r"selection_method_param=0x80a0000 .*slot bits \(0 to 9\)"),
    "table 255": (GROUP.replace("0802", "ff02") + BUCKET0,
                  r"selection_method_param=0xff020000 .*table \(0 to 254\)"),
    "parameter above 32 bits": (GROUP.replace("0x0802", "0x10802") + BUCKET0,
                                "selection_method_param=0x108020000"),
}


@pytest.mark.parametrize("group, text", list(REFUSED_TEXT.values()),
                         ids=list(REFUSED_TEXT))
def test_refused_by_ofctl(br0, group, text):
    with pytest.raises(CommandError, match=text):
        br0.add_group("br0", group)
    assert "group_id" not in br0.ofctl("dump-groups", "br0")


PARAM = of.selection_method(0x08020000)
WRITE = of.set_field(of.lb_oxm(of.LB_MEMBER, 11))
FIELDS = of.selection_method(
    0x08020000, fields=bytes.fromhex("80000a02") + b"\xff\xff")

REFUSED_MESSAGES = {
    "bucket out of range": (
        of.group_mod(7, [of.bucket(4)], PARAM), of.BAD_BUCKET),
    "bucket far out of range": (
        of.group_mod(7, [of.bucket(0xffff0000)], PARAM), of.BAD_BUCKET),
    "one good, one out of range": (
        of.group_mod(7, [of.bucket(0), of.bucket(512)], PARAM),
        of.BAD_BUCKET),
    "second action": (
        of.group_mod(7, [of.bucket(0, WRITE + of.output(2))], PARAM),
        of.BAD_BUCKET),
    "member twice": (
        of.group_mod(7, [of.bucket(0, WRITE + WRITE)], PARAM),
        of.BAD_BUCKET),
    "other action": (
        of.group_mod(7, [of.bucket(0, of.output(2))], PARAM), of.BAD_BUCKET),
    "part of the member": (
        of.group_mod(7, [of.bucket(0, of.set_field(of.lb_oxm(
            of.LB_MEMBER, 1, 0xff)))], PARAM), of.BAD_BUCKET),
    "no action": (
        of.group_mod(7, [of.bucket(0, b"")], PARAM), of.BAD_BUCKET),
    "lb_parse in a bucket": (
        of.group_mod(7, [of.bucket(0, of.lb_parse())], PARAM),
        of.BAD_BUCKET),
    "lb_parse in another group's bucket": (
        of.group_mod(7, [of.bucket(0, of.lb_parse())]), of.BAD_BUCKET),
    "lb_forward in an indirect group": (
        of.group_mod(7, [of.bucket(0, of.lb_forward())], kind=of.INDIRECT),
        of.BAD_BUCKET),
    "bucket twice": (
        of.group_mod(7, [of.bucket(1), of.bucket(1)], PARAM),
        of.BAD_BUCKET),
    "watch_port": (
        of.group_mod(7, [of.bucket(0, properties=of.watch_port(1))], PARAM),
        of.BAD_BUCKET),
    "watch_group": (
        of.group_mod(7, [of.bucket(0, properties=of.watch_group(1))], PARAM),
        of.BAD_BUCKET),
    "fields": (of.group_mod(7, [of.bucket(0)], FIELDS),
               of.BAD_PROPERTY_VALUE),
    "type all": (of.group_mod(7, [of.bucket(0)], PARAM, kind=of.ALL),
                 of.BAD_PROPERTY_VALUE),
    "type indirect": (of.group_mod(7, [of.bucket(0)], PARAM,
                                   kind=of.INDIRECT), of.BAD_PROPERTY_VALUE),
    "type fast failover": (
        of.group_mod(7, [of.bucket(0, properties=of.watch_port(1))], PARAM,
                     kind=of.FAST_FAILOVER), of.BAD_PROPERTY_VALUE),
    "10 bits": (of.group_mod(7, [of.bucket(0)],
                             of.selection_method(0x080a0000)),
                of.INVALID_GROUP),
    "255 bits": (of.group_mod(7, [of.bucket(0)],
                              of.selection_method(0x08ff0000)),
                 of.INVALID_GROUP),
    "table 255": (of.group_mod(7, [of.bucket(0)],
                               of.selection_method(0xff020000)),
                  of.INVALID_GROUP),
    "parameter above 32 bits": (
        of.group_mod(7, [of.bucket(0)], of.selection_method(0x108020000)),
        of.INVALID_GROUP),
    "parameter's highest bit": (
        of.group_mod(7, [of.bucket(0)],
                     of.selection_method(1 << 63 | 0x08020000)),
        of.INVALID_GROUP),
    "method's name cut off": (
        of.group_mod(7, [of.bucket(0)],
                     of.selection_method(0x08020000, b"lb_calenda")),
        of.BAD_PROPERTY_VALUE),
}


@pytest.mark.parametrize("message, error", list(REFUSED_MESSAGES.values()),
                         ids=list(REFUSED_MESSAGES))
def test_refused_by_the_switch(br0, message, error):
    with of.Connection(br0, "br0", of.OF15) as c:
        assert c.send(message) == [error]
    assert "group_id" not in br0.ofctl("dump-groups", "br0")


def test_switch_logs_why(br0):
    """The controller gets a number; the log has the text."""
    br0.new_log()
    with of.Connection(br0, "br0", of.OF15) as c:
        c.send(of.group_mod(7, [of.bucket(4)], PARAM))
    assert "bucket_id 4 is no slot of an lb_calendar group with 4 slots" \
        in br0.new_log()


def test_accepted_messages(br0):
    """Bucket weights and the order of buckets mean nothing."""
    with of.Connection(br0, "br0", of.OF15) as c:
        assert c.send(of.group_mod(7, [
            of.bucket(3, member=13, properties=of.weight(0)),
            of.bucket(1, member=11, properties=of.weight(500)),
            of.bucket(0, member=10)], PARAM)) == []
    br0.add_flows("br0", *parse_flows(br0, "p2"), "table=32,actions=group:7",
                  *[member_flow(m) for m in (10, 11, 13)],
                  *faults(8, "p2"))
    assert chosen(br0, [event(tick=t) for t in range(5)]) == [
        10, 11, ("status", 8), 13, 10]


@pytest.mark.parametrize("version", ["OpenFlow11", "OpenFlow12", "OpenFlow13",
                                     "OpenFlow14"])
def test_refused_over_old_versions(br0, version):
    """Group properties exist in OpenFlow 1.5 only; without them the group
    would choose by hash."""
    br0.vsctl("set", "bridge", "br0", "protocols=%s,OpenFlow15" % version)
    try:
        with pytest.raises(CommandError, match="none of the usable|"
                           "support.*lb_calendar|lb_calendar.*OpenFlow"):
            br0.add_group("br0", GROUP + BUCKET0, version=version)
        assert "group_id" not in br0.ofctl("dump-groups", "br0")
    finally:
        br0.vsctl("set", "bridge", "br0", "protocols="
                  "OpenFlow10,OpenFlow13,OpenFlow14,OpenFlow15")


def test_openflow_13_message_makes_no_calendar(br0):
    """A 1.3 group with a calendar's buckets is an ordinary select group, and
    it cannot replace a calendar unnoticed: what it then is shows."""
    with of.Connection(br0, "br0", of.OF13) as c:
        assert c.send(of.group_mod_13(7, [WRITE])) == []
    dump = br0.ofctl("dump-groups", "br0")
    assert "group_id=7" in dump and "lb_calendar" not in dump


def test_dump_over_openflow_13(br0):
    """Over 1.3 the group shows, with what 1.3 has for it."""
    br0.add_group("br0", GROUP + BUCKET0)
    dump = br0.ofctl("dump-groups", "br0", version="OpenFlow13")
    assert "group_id=7,type=select" in dump and "lb_member" in dump


# Changes of buckets in place.

def load_for_changes(ovs):
    load(ovs, calendar(7, {0: 10, 1: 11, 3: 13}, bits=2), range(10, 20))
    return [event(tick=t) for t in range(4)]


def buckets(ovs):
    return {int(s): int(m) for s, m in re.findall(
        r"bucket_id:(\d+),(?:weight:\d+,)?actions=set_field:(\d+)",
        ovs.ofctl("dump-groups", "br0"))}


@pytest.mark.parametrize("where", ["first", "last", "1"])
def test_insert_buckets(br0, where):
    frames = load_for_changes(br0)
    assert chosen(br0, frames) == [10, 11, ("status", 8), 13]
    br0.ofctl("insert-buckets", "br0", "group_id=7,command_bucket_id=%s,"
              "bucket=bucket_id:2,actions=set_field:12->lb_member" % where)
    assert buckets(br0) == {0: 10, 1: 11, 2: 12, 3: 13}
    br0.settle()
    assert chosen(br0, frames) == [10, 11, 12, 13]


@pytest.mark.parametrize("which, left", [
    ("first", {1: 11, 3: 13}), ("last", {0: 10, 1: 11}),
    ("1", {0: 10, 3: 13}), ("all", {})])
def test_remove_buckets(br0, which, left):
    frames = load_for_changes(br0)
    br0.ofctl("remove-buckets", "br0",
              "group_id=7,command_bucket_id=%s" % which)
    assert buckets(br0) == left
    br0.settle()
    assert chosen(br0, frames) == [left.get(s, ("status", 8))
                                   for s in range(4)]


@pytest.mark.parametrize("bucket, text", [
    ("bucket_id:4,actions=set_field:12->lb_member", "BAD_BUCKET"),
    ("bucket_id:2,actions=output:2", "BAD_BUCKET"),
    ("bucket_id:2,actions=set_field:12->lb_member,output:2", "BAD_BUCKET"),
    ("bucket_id:1,actions=set_field:12->lb_member", "BUCKET_EXISTS"),
    ("bucket_id:2,watch_port:1,actions=set_field:12->lb_member",
     "BAD_BUCKET|WATCH_UNSUPPORTED"),
])
def test_insert_buckets_keeps_the_checks(br0, bucket, text):
    """ovs-ofctl does not know that the group is a calendar; the switch
    does."""
    frames = load_for_changes(br0)
    with pytest.raises(CommandError, match=text):
        br0.ofctl("insert-buckets", "br0",
                  "group_id=7,command_bucket_id=last,bucket=" + bucket)
    assert buckets(br0) == {0: 10, 1: 11, 3: 13}
    br0.settle()
    assert chosen(br0, frames) == [10, 11, ("status", 8), 13]


def test_insert_and_remove_by_message(br0):
    frames = load_for_changes(br0)
    with of.Connection(br0, "br0", of.OF15) as c:
        assert c.send(of.group_mod(7, [of.bucket(4)], kind=of.SELECT,
                                   command=of.INSERT_BUCKET)) \
            == [of.BAD_BUCKET]
        assert c.send(of.group_mod(7, [of.bucket(2, of.output(2))],
                                   command=of.INSERT_BUCKET)) \
            == [of.BAD_BUCKET]
        assert c.send(of.group_mod(7, command=of.REMOVE_BUCKET,
                                   command_bucket=2)) \
            == [of.UNKNOWN_BUCKET]
        assert buckets(br0) == {0: 10, 1: 11, 3: 13}
        assert c.send(of.group_mod(7, [of.bucket(2, member=12)],
                                   command=of.INSERT_BUCKET,
                                   command_bucket=0xfffffffe)) == []
    br0.settle()
    assert chosen(br0, frames) == [10, 11, 12, 13]


def test_calendar_becomes_an_ordinary_group_and_back(br0):
    """mod-group may change the method; the datapath follows."""
    frames = load_for_changes(br0)
    br0.ofctl("mod-group", "br0", "group_id=7,type=all,bucket=bucket_id:0,"
              "actions=set_field:%s->eth_dst,output:p2" % (MEMBER_MAC % (
                  0, 99)))
    br0.settle()
    assert chosen(br0, frames) == [99] * 4
    br0.ofctl("mod-group", "br0", calendar(7, {2: 12}, bits=2))
    br0.settle()
    assert chosen(br0, frames) == [("status", 8), ("status", 8), 12,
                                   ("status", 8)]


def test_group_counters(br0):
    """The group counts its packets."""
    frames = load_for_changes(br0)
    chosen(br0, frames * 5)
    br0.settle()
    stats = br0.ofctl("dump-group-stats", "br0", "group_id=7")
    assert "packet_count=20," in stats.split("bucket0")[0]


def test_group_in_a_bundle(br0):
    """An epoch's way in: its group, its prefix and the old group's end come
    in one bundle; a part that is wrong refuses all of it."""
    frames = load_for_changes(br0)
    new = calendar(8, {s: 15 for s in range(4)}, bits=2)
    bundle = "\n".join([
        "group add " + new, "flow modify table=32,actions=group:8",
        "group delete group_id=7"])
    with pytest.raises(CommandError, match="BAD_BUCKET"):
        br0.ofctl("bundle", "br0", "-", stdin=bundle + "\ngroup "
                  "insert_bucket group_id=8,command_bucket_id=last,"
                  "bucket=bucket_id:4,actions=set_field:15->lb_member")
    br0.settle()
    assert chosen(br0, frames) == [10, 11, ("status", 8), 13]
    br0.ofctl("bundle", "br0", "-", stdin=bundle)
    br0.settle()
    assert chosen(br0, frames) == [15] * 4
    assert "group_id=7" not in br0.ofctl("dump-groups", "br0")


class Stream(threading.Thread):
    """Lets p1 receive the same frames over and over, until it is told to
    end."""

    def __init__(self, ovs, frames):
        super().__init__()
        self.ovs, self.frames = ovs, frames
        self.rounds = 0
        self.ending = threading.Event()

    def run(self):
        while not self.ending.is_set():
            self.ovs.receive("p1", self.frames)
            self.rounds += 1

    def end(self):
        self.ending.set()
        self.join()


def test_epoch_changes_while_traffic_flows(br0):
    """A new group, moved prefixes, and the end of the epoch before the
    current one in one bundle, the boundary ahead of the traffic: no packet
    goes to any other member than before, and none is lost."""
    rng = random.Random(11)

    def group(n):
        return calendar(100 + n, slots[n])

    slots = [{s: rng.randrange(1, 30) for s in range(512)} for _ in range(9)]
    br0.add_group("br0", group(0))
    br0.add_flows("br0", *parse_flows(br0, "p2"), *faults(8, "p2"),
                  "table=32,priority=1,actions=group:100",
                  *[member_flow(m) for m in range(1, 30)])
    for n in range(1, 9):
        prefix = "table=32,priority=33,lb_tick=%#x/0xffffffff00000000"
        bundle = ["group add " + group(n),
                  "flow add " + prefix % (n - 1 << 32)
                  + ",actions=group:%d" % (99 + n),
                  "flow modify_strict table=32,priority=1,actions=group:%d"
                  % (100 + n)]
        if n > 1:
            bundle += ["flow delete_strict " + prefix % (n - 2 << 32),
                       "group delete group_id=%d" % (98 + n)]
        frames = [event(tick=(n - 1 << 32) + t * 7919) for t in range(60)]
        br0.sent("p2")
        stream = Stream(br0, frames)
        stream.start()
        br0.wait_for(lambda: stream.rounds >= 2, "traffic flows")
        br0.ofctl("bundle", "br0", "-", stdin="\n".join(bundle))
        br0.settle()
        stream.end()
        assert stream.rounds > 4
        got = [model.word(f, 4) for f in br0.sent("p2")]
        assert got == expected(frames, slots[n - 1]) * stream.rounds

        # Behind the boundary the new epoch has begun.
        later = [event(tick=(n << 32) + t) for t in range(60)]
        assert chosen(br0, later) == expected(later, slots[n])
