# SPDX-License-Identifier: Apache-2.0
"""A datapath that cannot do event load balancing: what needs it is refused
with an OpenFlow error, and nothing is forwarded wrongly."""

import pytest

import openflow as of
from model import Member
from packets import event
from pipeline import calendar, member_flows, parse_flows
from switch import CommandError

MEMBER = Member(4, "02:00:00:00:00:01", "02:00:00:00:00:11", "10.0.0.1",
                "10.0.0.11", 20000)
FORWARD = MEMBER.action()


@pytest.fixture
def without(br0):
    """The switch without the capability."""
    br0.appctl("dpif/set-dp-features", "br0", "lb", "false")
    yield br0
    br0.appctl("dpif/set-dp-features", "br0", "lb", "true")


def test_capability_shows(ovs):
    """In the database, to ovs-appctl and in the log."""
    assert "Event load balancing: Yes" in ovs.appctl("dpif/show-dp-features",
                                                     "br0")
    assert "Datapath supports event load balancing" in ovs.log()
    row = ovs.vsctl("--", "--id=@d", "create", "Datapath",
                    "datapath_version=1", "--", "set", "Open_vSwitch", ".",
                    "datapaths:dummy=@d").strip()
    ovs.wait_for(lambda: "lb=" in ovs.vsctl("get", "Datapath", row,
                                            "capabilities"), "capabilities")
    assert ovs.vsctl("get", "Datapath", row, "capabilities:lb").strip() \
        == '"true"'


MATCHES = ["lb_status=0", "lb_version=2", "lb_member=0", "lb_tick=0/0xff",
           "lb_slot_select=1", "lb_port_select=0x8000/0x8000"]


@pytest.mark.parametrize("version", ["OpenFlow13", "OpenFlow15"])
@pytest.mark.parametrize("match", MATCHES)
def test_matches_are_refused(without, match, version):
    """The value 0 too, which is a match like others."""
    with pytest.raises(CommandError, match="OFPBMC_BAD_FIELD"):
        without.ofctl("add-flow", "br0", match + ",actions=output:2",
                      version=version)
    assert without.flows("br0") == []


ACTIONS = {
    "lb_parse": "lb_parse(table=6)",
    "lb_parse behind others": "output:2,lb_parse(table=6)",
    "lb_forward": FORWARD,
    "set_field": "set_field:5->lb_member,output:2",
    "load": "load:5->EVLBOXM_LB_MEMBER[],output:2",
    "part of the field": "set_field:5/0xff->lb_member,output:2",
    "move": "move:NXM_NX_REG0[0..15]->EVLBOXM_LB_MEMBER[],output:2",
    "pop": "push:NXM_NX_REG0[0..15],pop:EVLBOXM_LB_MEMBER[],output:2",
    "lb_parse in a clone": "clone(lb_parse(table=6)),output:2",
    "lb_forward in a clone": "clone(%s,output:2)" % FORWARD,
    "set_field in a clone": "clone(set_field:5->lb_member,output:2)",
    "lb_parse in a clone in a clone": "clone(clone(lb_parse(table=6)))",
    "set_field in the action set": "write_actions(set_field:5->lb_member)",
}


@pytest.mark.parametrize("version", ["OpenFlow13", "OpenFlow15"])
@pytest.mark.parametrize("actions", list(ACTIONS.values()), ids=list(ACTIONS))
def test_actions_are_refused(without, actions, version):
    with pytest.raises(CommandError, match="OFPBAC_BAD_"):
        without.ofctl("add-flow", "br0", "ip,actions=" + actions,
                      version=version)
    assert without.flows("br0") == []


def test_group_is_refused(without):
    with pytest.raises(CommandError, match="OFPGMFC_INVALID_GROUP"):
        without.add_group("br0", calendar(7, {0: 5}))
    assert "group_id" not in without.ofctl("dump-groups", "br0")
    assert "does not support lb_calendar" in without.log()


def test_member_in_an_ordinary_group_is_refused(without):
    """A bucket that writes lb_member, in a group of any kind."""
    for kind in ("all", "select", "indirect"):
        with pytest.raises(CommandError, match="OFPGMFC_"):
            without.add_group("br0", "group_id=7,type=%s,bucket=actions="
                              "set_field:5->lb_member,output:2" % kind)
    assert "group_id" not in without.ofctl("dump-groups", "br0")


def test_group_cannot_become_one(without):
    without.add_group("br0", "group_id=7,type=select,"
                      "bucket=bucket_id:0,actions=output:2")
    with pytest.raises(CommandError, match="OFPGMFC_INVALID_GROUP"):
        without.ofctl("mod-group", "br0", calendar(7, {0: 5}))
    assert "lb_calendar" not in without.ofctl("dump-groups", "br0")


def test_messages_are_refused(without):
    """By hand, in one connection, in a row."""
    with of.Connection(without, "br0", of.OF15) as c:
        assert c.send(of.flow_mod(of.match(of.lb_oxm(of.LB_TICK, 1, 1)))) \
            == [of.BAD_MATCH_FIELD]
        assert c.send(of.flow_mod(of.match(), of.apply_actions(
            of.lb_parse()))) == [of.BAD_TYPE]
        assert c.send(of.flow_mod(of.match(of.eth_type(0x0800)),
                                  of.apply_actions(of.lb_forward()))) \
            == [of.BAD_TYPE]
        assert c.send(of.group_mod(7, [of.bucket(0)], of.selection_method(
            0x08000000))) == [of.INVALID_GROUP]


def test_nothing_is_forwarded(without):
    """The whole pipeline in a bundle: refused as a whole, and an event packet
    goes nowhere."""
    with pytest.raises(CommandError, match="OFPB[AM]C_BAD_"):
        without.add_flows("br0", *parse_flows(without, "p2"),
                          "table=32,actions=output:p2",
                          *member_flows({5: {4: MEMBER}}, "p2"))
    assert without.flows("br0") == []
    without.add_flows("br0", without.mark_flow())
    assert without.forward("p1", [event()] * 3, "p2") == []


def test_other_flows_are_taken(without):
    """What does not need it is as ever."""
    without.add_flows("br0", without.mark_flow(),
                      "ip,nw_ttl=64,actions=set_field:1->reg0,clone("
                      "set_field:02:00:00:00:00:77->eth_dst,output:p2)")
    without.add_group("br0", "group_id=9,type=select,selection_method=hash,"
                      "bucket=bucket_id:0,actions=output:2")
    got = without.forward("p1", [event()], "p2")
    assert [f[:6].hex() for f in got] == ["020000000077"]


def test_what_is_there_stops(br0):
    """Flows from before the loss are refused from then on when they are
    changed, and can be deleted."""
    br0.add_flows("br0", *parse_flows(br0, "p2"),
                  "table=32,actions=output:p2")
    br0.appctl("dpif/set-dp-features", "br0", "lb", "false")
    try:
        with pytest.raises(CommandError, match="OFPBAC_BAD_TYPE"):
            br0.ofctl("mod-flows", "br0", "table=5,actions=lb_parse(table=7)")
        br0.ofctl("del-flows", "br0", "lb_status=5/0xff")
        assert not [f for f in br0.flows("br0") if "lb_status=5" in f.match]
        br0.ofctl("del-flows", "br0")
    finally:
        br0.appctl("dpif/set-dp-features", "br0", "lb", "true")
    assert br0.flows("br0") == []
