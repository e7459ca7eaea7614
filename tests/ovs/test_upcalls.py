# SPDX-License-Identifier: Apache-2.0
"""How many upcalls a stream of events causes, and what megaflows match."""

import json
import os
import random
import re
import subprocess
import sys

import pytest

import ticks
import upcall_bound
from cases import make_member
from packets import event
from pipeline import calendar, member_flows, parse_flows
from ticks import Bound, Frames, Instance
from upcall_bound import BASE_TICK

PORTS = ["p1", "p2", "p3"]
OUT = "p4"


@pytest.fixture
def sw(br0):
    br0.vsctl("set", "Open_vSwitch", ".", "other_config:max-idle=600000")
    return br0


class Sender:
    """Sends frames in turn by the dummy ports; all must come out.  The marks
    that end each batch are known beforehand, so that they are no upcalls."""

    def __init__(self, switch, ports=PORTS):
        self.switch, self.ports = switch, ports
        for port in ports:
            switch.receive(port, [b"\xff" * 12 + b"\x88\xb5" + bytes(46)])
        switch.sent(OUT)

    def __call__(self, frames):
        frames = list(frames)
        n = len(self.ports)
        for i, port in enumerate(self.ports):
            self.switch.receive(port, frames[i::n])
        assert len(self.switch.sent(OUT)) == len(frames)


def load(switch, *instances):
    switch.add_flows("br0", switch.mark_flow())
    upcall_bound.load(switch, PORTS, instances, OUT)


def parts(megaflow):
    """A megaflow's key, as printed in full, as {attribute: {field: (value,
    mask)}}; fields without a mask are exact."""
    result = {}
    for name, body in re.findall(r"(\w+)\(([^()]*)\)", megaflow.key):
        result[name] = {
            f: tuple(v.split("/")) if "/" in v else (v, "exact")
            for f, v in (item.split("=", 1) for item in body.split(",")
                         if "=" in item)}
    return result


def matched(megaflow):
    """The fields that a megaflow matches, wholly or in part."""
    wild = ("0", "0x0", "0.0.0.0", "::", "00:00:00:00:00:00")
    return {"%s.%s" % (name, field)
            for name, fields in parts(megaflow).items()
            for field, (_, mask) in fields.items() if mask not in wild}


def by_pass(switch):
    """The megaflows of LB packets, in the order of the passes."""
    result = [], [], []
    for m in switch.megaflows("-m"):
        for i, action in enumerate(("lb_parse", "lb_calendar", "lb_forward")):
            if m.actions.startswith(action):
                result[i].append(m)
    return result


def test_bound(sw):
    """Two instances, both header versions, several ports, sources, TTLs,
    DSCPs, UDP ports, entropies; five epochs."""
    first, second = Instance(1, 20, 5), Instance(2, 20, 5)
    load(sw, first, second)
    result = upcall_bound.measure(sw, Sender(sw), first, second, 5, 10000,
                                  len(PORTS))
    assert 0 < result["upcalls"] <= result["bound"], result
    assert result["second_instance_upcalls"] == 0
    assert result["second_instance_first_contact"] \
        <= result["second_instance_first_contact_bound"]
    # Later epochs have no first contact with sources or members any more:
    # what they cost is the prefixes.
    for n in result["upcalls_of_epochs"][1:]:
        assert n <= len(PORTS) * len(ticks.VERSIONS) * 40
    assert result["upcalls_of_epochs"][0] \
        >= len(PORTS) * (len(first.sources) + len(first.members))


def test_no_upcalls_in_a_known_stream(sw):
    """The same epochs, members and sources, but all else new: nothing."""
    one = Instance(1, 10, 4)
    load(sw, one)
    rng = random.Random(1)
    send, frames = Sender(sw), Frames(one, rng)

    def stream(seed):
        rng.seed(seed)
        return [frames.make(t) for t in ticks.ticks_around(
            rng, BASE_TICK + (1 << 20), 3000, 0)]
    send(stream(1))
    before = upcall_bound.missed(sw)
    send(stream(2))
    assert upcall_bound.missed(sw) == before


def test_what_the_passes_match(sw):
    """The first pass knows the port, the destination and the source, the
    second the tick's prefix, the version and the status, the third the member
    and the status.  None matches TTL, DSCP, source MAC or a whole UDP port,
    and after the first pass none matches an address."""
    one = Instance(1, 10, 4)
    load(sw, one)
    rng = random.Random(2)
    frames = Frames(one, rng)
    sw.ofctl("bundle", "br0", "-", stdin=one.change_epoch(BASE_TICK + 999))
    Sender(sw)(frames.make(t) for t in ticks.ticks_around(
        rng, BASE_TICK + 999, 3000, .05))
    first, second, third = by_pass(sw)
    assert len(first) == 3 * 10 and len(third) == 3 * 4

    common = {"packet_type.ns", "packet_type.id", "ipv4.frag"}
    for m in first:
        assert matched(m) == common | {"eth.dst", "ipv4.src", "ipv4.dst",
                                       "ipv4.proto", "udp.dst"}
        assert parts(m)["udp"]["dst"][1] == "0xc000"
    for m in second:
        assert matched(m) == common | {"lb.status", "lb.version", "lb.tick"}
        assert parts(m)["lb"]["status"][0] == "0"
    for m in third:
        assert matched(m) == common | {"lb.status", "lb.member"}


def ticks_of(megaflows):
    return {(int(value, 0) & int(mask, 0), int(mask, 0)) for value, mask in (
        parts(m)["lb"]["tick"] for m in megaflows)}


def test_tries_unwildcard_what_decides(sw):
    """22 prefixes of 3 epochs: no more megaflows than prefixes for a port and
    a version, each with its prefix's bits."""
    one = Instance(1, 2, 3)
    load(sw, one)
    start = BASE_TICK + 0x5400
    for n in (0, 1, 2):
        sw.ofctl("bundle", "br0", "-", stdin=one.change_epoch(
            start + n * 0x2700))
    sw.settle()
    prefixes = {p for _, epoch in one.epochs for p in epoch}
    rng = random.Random(3)
    frames = Frames(one, rng)
    sample = [rng.randrange(value, value + (1 << 64 - length))
              for value, length in prefixes for _ in range(40)]
    rng.shuffle(sample)
    Sender(sw, PORTS[:1])(frames.make(t) for t in sample)
    _, second, _ = by_pass(sw)
    masks = {(value, (1 << 64) - (1 << 64 - length))
             for value, length in prefixes}
    assert ticks_of(second) == masks
    assert len(second) <= len(prefixes) * len(ticks.VERSIONS)


def test_tries_are_what_does_it(sw):
    """Without lb_tick among the prefix fields, the same stream has many times
    the megaflows: the tests above can fail."""
    rng = random.Random(4)
    counts = []
    for with_trie in (True, False):
        sw.clear("br0")
        one = Instance(1, 2, 3)
        if not with_trie:
            sw.vsctl("--", "--id=@t", "create", "flow_table",
                     "prefixes=ip_dst,ip_src", "--", "set", "bridge", "br0",
                     "flow_tables:%d=@t" % one.table)
        try:
            load(sw, one)
            upcall_bound.change(sw, one, BASE_TICK + 0x1357)
            frames = Frames(one, rng)
            Sender(sw, PORTS[:1])(frames.make(t) for t in ticks.ticks_around(
                rng, BASE_TICK + 0x1357, 2000, .5))
            counts.append(len(by_pass(sw)[1]))
        finally:
            sw.vsctl("clear", "bridge", "br0", "flow_tables")
    assert counts[1] > 4 * counts[0]


def test_default_prefix_fields(sw):
    """lb_tick is a default one: nobody has to configure it."""
    assert sw.vsctl("--columns=prefixes", "list", "flow_table").strip() == ""


def test_catch_all_epoch(sw):
    """One epoch with no prefix: one megaflow a port and version; with an
    older epoch's prefixes below it, no more than the prefixes of what is
    left."""
    one = Instance(1, 2, 3)
    sw.add_flows("br0", sw.mark_flow(), *ticks.shared_flows(PORTS),
                 *one.static_flows(OUT))
    sw.add_group("br0", one.group(0))
    sw.add_group("br0", one.group(1))
    sw.add_flows("br0", "table=%d,priority=0,actions=group:%d" % (
        one.table, one.group_id(0)))
    rng = random.Random(5)
    frames = Frames(one, rng)
    send = Sender(sw, PORTS[:1])
    send(frames.make(rng.getrandbits(64)) for _ in range(500))
    assert len(by_pass(sw)[1]) == 2

    first, end = 0x123456789a000000, 0x123456789a531000
    sw.add_flows("br0", *one.prefix_flows(1, ticks.prefixes(first, end)))
    sw.settle()
    send(frames.make(t) for t in [rng.randrange(first - 5 * 10 ** 6,
                                                end + 5 * 10 ** 6)
                                  for _ in range(2000)]
         + [rng.getrandbits(64) for _ in range(500)])
    n = len(ticks.prefixes(0, first)) + len(ticks.prefixes(first, end)) \
        + len(ticks.prefixes(end, 1 << 64))
    assert len(by_pass(sw)[1]) <= 2 * n
    assert len(ticks_of(by_pass(sw)[1])) <= n


def test_epochs_share_the_members_megaflows(sw):
    """A change of epoch touches no megaflow of the first and third pass: they
    are the same ones (by UFID) afterwards, and have counted on."""
    one = Instance(1, 4, 4)
    load(sw, one)
    rng = random.Random(6)
    frames, send = Frames(one, rng), Sender(sw)

    def stream(boundary):
        send(frames.make(t) for t in ticks.ticks_around(rng, boundary, 900,
                                                        .3))

    def ufids():
        first, _, third = by_pass(sw)
        return {re.match(r"ufid:(\S+),", m.key).group(1)
                for m in first + third}
    stream(BASE_TICK + 10000)
    before = ufids()
    for n in range(1, 4):
        upcall_bound.change(sw, one, BASE_TICK + 10000 + n * 4000)
        stream(BASE_TICK + 10000 + n * 4000)
        assert ufids() == before


def test_two_addresses(sw):
    """An instance that is reached at an IPv4 and an IPv6 address: each is a
    packet type of its own in every pass, so that prefixes and members count
    once for each of them."""
    members = {m: make_member(m, 1000 * m, 2, False) for m in range(1, 5)}
    sw.add_group("br0", calendar(7, {s: 1 + s % 4 for s in range(8)}, bits=3))
    parts_ = ticks.prefixes(0x1000, 0x8800)
    sw.add_flows("br0", *parse_flows(sw, "p4"), *[
        "table=32,priority=%d,lb_tick=%#x/%#x,actions=group:7" % (
            length, value, (1 << 64) - (1 << 64 - length))
        for value, length in parts_], *member_flows(members, "p4"))
    send = Sender(sw, PORTS[:2])
    before = upcall_bound.missed(sw)
    rng = random.Random(8)
    send(event(rng.choice((4, 6)), tick=rng.randrange(0x1000, 0x8800),
               version=2, ttl=rng.randrange(2, 256),
               port_select=rng.getrandbits(16)) for _ in range(3000))
    _, second, third = by_pass(sw)
    assert len(second) == 2 * 2 * len(parts_)
    assert len(third) == 2 * 2 * 4
    assert upcall_bound.missed(sw) - before == len(second) + len(third) + 4


def test_large_run_in_small(sw, programs):
    """The script for the large run, on veth ports of the real datapath."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          "upcall_bound.py")
    env = dict(os.environ)
    done = subprocess.run(
        [sys.executable, script, "--ticks", "6000", "--epochs", "3",
         "--ports", "2", "--sources", "9", "--members", "4"], env=env,
        stdout=subprocess.PIPE, text=True, timeout=120)
    result = json.loads(done.stdout)
    assert done.returncode == 0, result
    assert 0 < result["upcalls"] <= result["bound"]
    assert result["second_instance_upcalls"] == 0
    assert result["ticks"] == 6000


def test_prefixes_are_right():
    """The generator's own arithmetic: a partition, in the fewest parts."""
    rng = random.Random(9)
    for _ in range(300):
        a, b = sorted(rng.getrandbits(rng.choice((4, 12, 64)))
                      for _ in range(2))
        got = ticks.prefixes(a, b)
        at = a
        for value, length in got:
            assert value == at and value % (1 << 64 - length) == 0
            at += 1 << 64 - length
        assert at == b or not got
    assert ticks.prefixes(0, 1 << 64) == [(0, 0)]
    one = Instance(1, 1, 1)
    one.change_epoch(1000)
    assert one.met([1001, 1002]) == {p for p in ticks.prefixes(
        1000, 1 << 64) if ticks.matches(p, 1001) or ticks.matches(p, 1002)}
    assert Bound(3).total == 0
