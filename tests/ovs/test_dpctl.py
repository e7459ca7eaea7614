# SPDX-License-Identifier: Apache-2.0
"""The datapath's keys and actions as text: what is printed is read back."""

import random
import re

import pytest

from packets import event
from model import Member
from pipeline import calendar, member_flows, parse_flows
from switch import CommandError

IP = "in_port(1),eth(),eth_type(0x0800),ipv4()"
FORWARD = ("lb_forward(eth_src=02:00:00:00:00:01,eth_dst=02:00:00:00:00:11,"
           "ip_src=10.0.0.1,ip_dst=10.0.0.11,base=20000,bits=2)")
FORWARD6 = FORWARD.replace("10.0.0.11", "2001:db8::11").replace(
    "10.0.0.1,", "2001:db8::1,")


@pytest.fixture
def datapath(ovs):
    """A datapath with nothing in it, and nobody who deletes what the tests
    put there."""
    ovs.clear("br0")
    ovs.appctl("revalidator/pause")
    yield ovs
    ovs.appctl("dpctl/del-flows")
    ovs.appctl("revalidator/resume")


def add_and_get(ovs, key, actions):
    """Adds a flow; returns the datapath's only flow, printed briefly and in
    full."""
    ovs.appctl("dpctl/add-flow", key, actions)
    (brief,), (full,) = ovs.megaflows(), ovs.megaflows("-m")
    return brief, full


KEYS = {
    "lb(status=0)": "lb(status=0,version=0/0,member=0/0,tick=0/0,"
                    "slot_select=0/0,port_select=0/0)",
    "lb(status=7)": "lb(status=7,version=0/0,member=0/0,tick=0/0,"
                    "slot_select=0/0,port_select=0/0)",
    "lb(status=0,version=2,member=65535)":
        "lb(status=0,version=2,member=65535,tick=0/0,slot_select=0/0,"
        "port_select=0/0)",
    "lb(member=5)": "lb(status=0/0,version=0/0,member=5,tick=0/0,"
                    "slot_select=0/0,port_select=0/0)",
    "lb(tick=0)": "lb(status=0/0,version=0/0,member=0/0,tick=0,"
                  "slot_select=0/0,port_select=0/0)",
    "lb(tick=0xffffffffffffffff)":
        "lb(status=0/0,version=0/0,member=0/0,tick=0xffffffffffffffff,"
        "slot_select=0/0,port_select=0/0)",
    "lb(status=0,tick=0x3e9/0xfffffffffffffe00)":
        "lb(status=0,version=0/0,member=0/0,tick=0x3e9/0xfffffffffffffe00,"
        "slot_select=0/0,port_select=0/0)",
    "lb(status=1/0x3,version=2,member=77/0xff,tick=0x100/0x8000000000000f00,"
    "slot_select=0x12/0x1f,port_select=0x5/0x7)":
        "lb(status=1/0x3,version=2,member=77/0xff,"
        "tick=0x100/0x8000000000000f00,slot_select=0x12/0x1f,"
        "port_select=0x5/0x7)",
    "lb(slot_select=0xffff,port_select=0)":
        "lb(status=0/0,version=0/0,member=0/0,tick=0/0,slot_select=0xffff,"
        "port_select=0)",
}


@pytest.mark.parametrize("key, full", list(KEYS.items()))
def test_key(datapath, key, full):
    """A key in short form is printed so, and in full with -m; both are read
    back as the same."""
    for given in (key, full):
        flow, long = add_and_get(datapath, "recirc_id(0x1),%s,%s" % (
            given, IP), "2")
        assert key in flow.key, given
        assert full in long.key, given
        datapath.appctl("dpctl/del-flow", "recirc_id(0x1),%s,%s" % (key, IP))
        assert datapath.megaflows() == []


def test_no_key(datapath):
    """Flows of other kinds are printed as ever, with -m too."""
    for key in (IP, "lb()," + IP):
        flow, full = add_and_get(datapath, key, "2")
        assert "lb(" not in flow.key + full.key
        datapath.appctl("dpctl/del-flows")


def test_random_keys(datapath):
    rng = random.Random(1)
    sizes = {"status": 8, "version": 8, "member": 16, "tick": 64,
             "slot_select": 16, "port_select": 16}
    for i in range(60):
        fields = []
        for name, bits in sizes.items():
            mask = rng.choice((0, rng.getrandbits(bits), 2 ** bits - 1))
            value = rng.getrandbits(bits) & mask
            if mask:
                fields.append((name, value, mask))
        if not fields:
            continue
        key = "lb(%s)" % ",".join("%s=%#x/%#x" % f for f in fields)
        flow, _ = add_and_get(datapath, "recirc_id(%#x),%s,%s" % (
            i, key, IP), "2")
        printed = re.search(r"\blb\((.*?)\)", flow.key).group(1)
        got = []
        for name, value, mask in re.findall(r"(\w+)=([^,/]+)(?:/([^,]+))?",
                                            printed):
            got.append((name, int(value, 0), int(mask, 0) if mask
                        else 2 ** sizes[name] - 1))
        assert got == fields
        datapath.appctl("dpctl/del-flows")


@pytest.mark.parametrize("key", [
    "lb(event=1)", "lb(status=)", "lb(status=x)", "lb(tick=1/x)",
    "lb(status=0", "lb(status=0)x", "lb", "lb(status=0;version=2)"])
def test_wrong_key(datapath, key):
    with pytest.raises(CommandError, match="parsing flow key"):
        datapath.appctl("dpctl/add-flow", "recirc_id(0x1),%s,%s" % (key, IP),
                        "2")
    assert datapath.megaflows() == []


# Numbers of recirculation are read in decimal only, and printed in
# hexadecimal: that is Open vSwitch's own.
ACTIONS = [
    "lb_parse",
    "lb_parse,recirc(17)",
    "lb_calendar(bits=0,xor=0,members=7)",
    "lb_calendar(bits=0,xor=0xffff,members=-)",
    "lb_calendar(bits=1,xor=0,members=65535/0)",
    "lb_calendar(bits=2,xor=0,members=11/12/-/12)",
    "lb_calendar(bits=2,xor=0x1,members=5*4)",
    "lb_calendar(bits=3,xor=0xff00,members=1*2/-*3/2/-/65535)",
    "lb_calendar(bits=9,xor=0x1ff,members=-*511/0)",
    "lb_calendar(bits=9,xor=0,members=%s)" % "/".join(
        str(65535 - i) for i in range(512)),
    "lb_calendar(bits=4,xor=0,members=1*16),recirc(18)",
    FORWARD,
    FORWARD.replace("bits=2", "bits=0,keep"),
    FORWARD.replace("bits=2", "bits=16") + ",2",
    FORWARD.replace("20000", "65535"),
    FORWARD.replace("20000", "0"),
    FORWARD6,
    FORWARD6.replace("bits=2", "bits=14,keep") + ",2,3",
    "clone(%s,2),3" % FORWARD,
    "clone(lb_parse,recirc(17)),3",
    "set(lb(status=0,version=2,member=5,tick=0x1,slot_select=0x2,"
    "port_select=0x3)),recirc(17)",
    "set(lb(member=5)),recirc(17)",
    "set(lb(member=5/0xff)),2",
]


@pytest.mark.parametrize("actions", ACTIONS)
def test_actions(datapath, actions):
    given = actions.replace("(member=5)", "(member=5/0xffff)")
    printed = re.sub(r"recirc\((\d+)\)",
                     lambda m: "recirc(%#x)" % int(m.group(1)), actions)
    flow, full = add_and_get(datapath, IP, given)
    assert flow.actions == printed
    # In full, ports have names.
    assert full.actions.split(", dp-extra-info")[0] == re.sub(
        r"(?<=[,(])([23])(?=[,)]|$)", r"p\1", printed)


@pytest.mark.parametrize("actions", [
    "lb_parse()", "lb_parse(table=6)", "lb_parser", "lb_calendar",
    "lb_calendar()", "lb_calendar(bits=2,xor=0)",
    "lb_calendar(bits=2,xor=0,members=)",
    "lb_calendar(bits=2,xor=0,members=1*3)",
    "lb_calendar(bits=2,xor=0,members=1*5)",
    "lb_calendar(bits=2,xor=0,members=1*4/)",
    "lb_calendar(bits=2,xor=0,members=1*4",
    "lb_calendar(bits=2,xor=0,members=1*4)x",
    "lb_calendar(bits=2,xor=0,members=1*0/1*4)",
    "lb_calendar(bits=2,xor=0,members=-1*4)",
    "lb_calendar(bits=2,xor=0,members=65536*4)",
    "lb_calendar(bits=2,xor=0,members=a/b/c/d)",
    "lb_calendar(bits=10,xor=0,members=1*1024)",
    "lb_calendar(bits=-1,xor=0,members=1)",
    "lb_calendar(xor=0,bits=2,members=1*4)",
    "lb_forward", "lb_forward()", FORWARD[:-1], FORWARD + "x",
    FORWARD.replace("bits=2", "bits=17"),
    FORWARD.replace("bits=2", "bits=2,keep,keep"),
    FORWARD.replace("bits=2", "bits=2,drop"),
    FORWARD.replace(",bits=2", ""),
    FORWARD.replace("10.0.0.11", "2001:db8::1"),
    FORWARD.replace("10.0.0.1,", "2001:db8::1,"),
    FORWARD.replace("10.0.0.11", "10.0.0"),
    FORWARD.replace("10.0.0.11", "x" * 100),
    FORWARD.replace("10.0.0.11", "::ffff:10.0.0.11").replace(
        "10.0.0.1,", "::ffff:10.0.0.1,"),
    FORWARD.replace("02:00:00:00:00:11", "02:00"),
    "set(lb(event=1))", "set(lb(member=5)",
])
def test_wrong_actions(datapath, actions):
    with pytest.raises(CommandError, match="parsing actions"):
        datapath.appctl("dpctl/add-flow", IP, actions)
    assert datapath.megaflows() == []


@pytest.mark.parametrize("actions", [
    FORWARD.replace("bits=2", "bits=258"),
    FORWARD.replace("bits=2", "bits=-254"),
    FORWARD.replace("base=20000", "base=65536"),
    FORWARD.replace("base=20000", "base=-1"),
    "lb_calendar(bits=2,xor=0x10000,members=1*4)",
    "lb_calendar(bits=4294967298,xor=0,members=1*4)",
    "lb_calendar(bits=2,xor=0,members=4294967296*4)",
    "lb_calendar(bits=2,xor=0,members=1*4294967300)",
])
def test_numbers_out_of_range(datapath, actions):
    """A number that does not fit is an error, not another number."""
    with pytest.raises(CommandError, match="parsing actions"):
        datapath.appctl("dpctl/add-flow", IP, actions)
    assert datapath.megaflows() == []


def test_what_the_switch_installs(br0):
    """The three megaflows of an event, read back from their print-out, in
    brief and in full."""
    member = Member(4, "02:00:00:00:00:01", "02:00:00:00:00:11", "10.0.0.1",
                    "10.0.0.11", 20000, 4, True)
    slots = {s: 5 for s in range(0, 512, 3)}
    br0.add_group("br0", calendar(7, slots, xor=0x15))
    br0.add_flows("br0", *parse_flows(br0, "p2"),
                  "table=32,priority=2,lb_tick=0/0xfffffffffffff000,"
                  "actions=group:7", *member_flows({5: {4: member}}, "p2"))
    assert len(br0.forward("p1", [event(tick=0x15)], "p2")) == 1
    br0.settle()
    flows = [m for m in br0.megaflows() if "0x88b5" not in m.key]
    assert sorted(m.actions.split("(")[0] for m in flows) == [
        "lb_calendar", "lb_forward", "lb_parse,recirc"]
    for m in flows:
        if m.actions.startswith("lb_calendar"):
            assert "lb(status=0,tick=0x15/0xfffffffffffff000)" in m.key
            assert "bits=9,xor=0x15,members=5/-*2/5/-*2/" in m.actions
        elif m.actions.startswith("lb_forward"):
            assert "lb(status=0,member=5)" in m.key
            assert m.actions == member.action() + ",2"
        else:
            assert "lb(" not in m.key

    flows += [m for m in br0.megaflows("-m") if "0x88b5" not in m.key]
    br0.clear("br0")
    br0.appctl("revalidator/pause")
    for m in flows:
        actions = m.actions.split(", dp-extra-info")[0].replace(",p2", ",2")
        br0.appctl("dpctl/add-flow", re.sub("ufid:[^ ]*, ", "", m.key.replace(
            "in_port(p1)", "in_port(1)")), re.sub(
                r"recirc\((\w+)\)", lambda n: "recirc(%d)" % int(
                    n.group(1), 0), actions))
        got, = br0.megaflows()
        assert got.actions == actions
        br0.appctl("dpctl/del-flows")
    br0.appctl("revalidator/resume")
