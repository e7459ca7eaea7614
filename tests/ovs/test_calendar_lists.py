# SPDX-License-Identifier: Apache-2.0
"""Calendar groups in action lists, and a calendar that is made of flows which
write lb_member."""

import pytest

import model
from action_lists import A, B, FRAMES, both, forwarded, run_frames
from pipeline import calendar

CALENDARS = [(7, {s: 11 if s % 2 else 12 for s in range(16)}),
             (8, {s: 12 if s % 4 < 2 else 11 for s in range(16)})]


def member_of(frame, slots):
    return slots[model.slot(model.parse(frame), 4)]


def load_two_calendars(br0):
    for group, slots in CALENDARS:
        br0.add_group("br0", calendar(group, slots, bits=4,
                                     table=8 if group == 7 else 9))


def expected_of(slots):
    return [forwarded([f], {11: A, 12: B}[member_of(f, slots)])[0]
            for f in FRAMES]


@pytest.mark.parametrize("actions", ["group:7,group:8",
                                     "clone(group:7),group:8",
                                     "group:7,resubmit(,33)",
                                     "group:7,debug_recirc,resubmit(,33)"])
def test_two_calendars(br0, actions):
    """A packet that goes to two calendars in turn gets from each the member
    of its slot."""
    load_two_calendars(br0)
    got = run_frames(br0, both("lb_parse(table=6)"),
                     "table=6,lb_status=0,actions=" + actions,
                     "table=33,actions=group:8",
                     both("A,output:2", "lb_member=11", 8),
                     both("B,output:2", "lb_member=12", 8),
                     both("A,output:3", "lb_member=11", 9),
                     both("B,output:3", "lb_member=12", 9))
    assert [f.hex() for f in got] == [
        f.hex() for f in expected_of(CALENDARS[0][1])]
    assert [f.hex() for f in br0.others["p3"]] == [
        f.hex() for f in expected_of(CALENDARS[1][1])]


def test_calendar_then_output(br0):
    """Behind the group, the packet is as it was."""
    load_two_calendars(br0)
    got = run_frames(br0, both("lb_parse(table=6)"),
                     "table=6,lb_status=0,actions=group:7,output:3",
                     both("A,output:2", "lb_member=11", 8),
                     both("B,output:2", "lb_member=12", 8))
    assert got == expected_of(CALENDARS[0][1])
    assert br0.others["p3"] == FRAMES


# The calendar made of flows.

def calendar_flows(last):
    """Table 7: masked-slot flows that write lb_member."""
    return ["table=7,%s,lb_slot_select=%d/0xf,"
            "actions=set_field:%d->lb_member,%s" % (
                proto, slot, member, last) for proto in ("ip", "ipv6")
            for slot, member in CALENDARS[0][1].items()]


@pytest.mark.parametrize("last", [
    "resubmit(,8)", "goto_table:8", "ct(table=8)", "debug_recirc,resubmit(,8)"
])
def test_calendar_of_flows(br0, last):
    """lb_member that flows write is matched in the next table, with and
    without recirculation before it."""
    got = run_frames(br0, both("lb_parse(table=6)"),
                     "table=6,lb_status=0,actions=resubmit(,7)",
                     calendar_flows(last),
                     both("A,output:2", "lb_member=11", 8),
                     both("B,output:2", "lb_member=12", 8))
    assert got == expected_of(CALENDARS[0][1])


def test_member_overwritten(br0):
    """Also where a group has chosen one before, with the same value and with
    another; a megaflow for one does not take in the others."""
    br0.add_group("br0", calendar(7, CALENDARS[0][1], bits=4))
    got = run_frames(
        br0, both("lb_parse(table=6)"), "table=6,lb_status=0,actions=group:7",
        "table=8,actions=set_field:11->lb_member,debug_recirc,resubmit(,9)",
        both("A,output:2", "lb_member=11", 9),
        both("B,output:3", "lb_member=12", 9))
    assert got == forwarded(FRAMES) and br0.others["p3"] == []


def test_member_from_a_register(br0):
    """move and load write it too, and leave the other fields alone."""
    got = run_frames(
        br0, both("lb_parse(table=6)"),
        "table=6,lb_tick=0/0x1,actions=load:11->NXM_NX_REG1[],"
        "move:NXM_NX_REG1[0..15]->EVLBOXM_LB_MEMBER[],debug_recirc,"
        "resubmit(,8)",
        "table=6,lb_tick=1/0x1,actions=load:12->EVLBOXM_LB_MEMBER[],"
        "debug_recirc,resubmit(,8)",
        both("A,output:2", "lb_member=11,lb_version=2,lb_tick=0/0x1", 8),
        both("B,output:2", "lb_member=12,lb_version=2,lb_tick=1/0x1", 8))
    assert got == [forwarded([f], B if model.parse(f).tick % 2 else A)[0]
                   for f in FRAMES]


def test_part_of_the_member(br0):
    """A set_field with a mask changes just these bits, in one pass or two."""
    got = run_frames(
        br0, both("set_field:0x1234->lb_member,set_field:5/0xff->lb_member,"
             "debug_recirc,resubmit(,5)"),
        "table=5,lb_member=0x1205,actions=set_field:0xa000/0xf000->lb_member,"
        "debug_recirc,resubmit(,6)",
        "table=6,lb_member=0xa205,actions=output:2")
    assert got == FRAMES


def test_member_before_the_parse(br0):
    """A member that was written by hand is matched without any parse, and
    lb_parse starts from nothing."""
    got = run_frames(
        br0, both("set_field:11->lb_member,debug_recirc,resubmit(,5)"),
        "table=5,lb_member=11,actions=lb_parse(table=6)",
        "table=6,lb_member=0,lb_status=0,actions=output:2",
        "table=6,lb_member=11,actions=output:3")
    assert got == FRAMES and br0.others["p3"] == []


def test_fields_copied_to_registers(br0):
    """The fields can be read by move, and the megaflows then hold them."""
    got = run_frames(
        br0, both("lb_parse(table=6)"),
        "table=6,actions=move:EVLBOXM_LB_TICK[0..31]->NXM_NX_REG1[],"
        "move:EVLBOXM_LB_PORT_SELECT[]->NXM_NX_REG2[0..15],resubmit(,7)",
        "table=7,reg1=7,reg2=7,actions=output:2",
        "table=7,reg1=15,reg2=15,actions=output:2")
    assert got == [f for f in FRAMES if model.parse(f).tick in (7, 15)]
