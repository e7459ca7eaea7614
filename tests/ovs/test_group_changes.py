# SPDX-License-Identifier: Apache-2.0
"""Calendar groups that change: in place, bucket by bucket, and one for
another as epochs do."""

import random
import re
import threading

import pytest

import model
import openflow as of
from choices import MEMBER_MAC, chosen, expected, load, member_flow
from packets import event
from pipeline import calendar, faults, parse_flows
from switch import CommandError


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
