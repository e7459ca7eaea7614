# SPDX-License-Identifier: Apache-2.0
"""The lb_* actions among others: what comes before them and behind them in an
action list, clones, other bridges."""

import pytest

import model
from action_lists import A, B, FRAMES, SELF, both, forwarded, run_frames
from packets import ETH_VLAN, event, mac
from pipeline import calendar, faults, member_flows, parse_flows


def test_forward_alone(br0):
    assert run_frames(br0, both("A,output:2")) == forwarded(FRAMES)


# Behind lb_forward.

def test_then_match_on_the_new_port(br0):
    """The table that is resubmitted to sees the port that was computed for
    each packet, not the base."""
    flows = [both("A,resubmit(,10)")]
    for port in range(20000, 20016):
        flows.append(both("set_field:02:00:00:00:aa:%02x->eth_src,output:2"
                          % (port - 20000), "nw_proto=17,udp_dst=%d" % port,
                          10))
    got = run_frames(br0, *flows)
    expected = [f[:6] + mac("02:00:00:00:aa:%02x" % (
        model.parse(i).port_select % 16)) + f[12:]
        for i, f in zip(FRAMES, forwarded(FRAMES))]
    assert got == expected


def test_then_match_on_all_that_changed(br0):
    """TTL, addresses, MACs, and the fields, which are 0 again."""
    got = run_frames(
        br0, "table=0,in_port=1,ip,actions=lb_parse(table=1)",
        "table=0,in_port=1,ipv6,actions=lb_parse(table=1)",
        both("A,resubmit(,10)", "lb_status=0,lb_version=2", 1),
        "table=10,ip,nw_ttl=63,dl_src=%s,dl_dst=%s,nw_src=10.0.0.1,"
        "nw_dst=10.0.0.11,lb_status=0,lb_version=0,lb_tick=0,lb_member=0,"
        "lb_slot_select=0,lb_port_select=0,actions=output:2" % (
            SELF, A[4].eth_dst),
        "table=10,ipv6,nw_ttl=63,dl_src=%s,dl_dst=%s,"
        "ipv6_src=2001:db8:2::1,ipv6_dst=2001:db8:3::11,lb_version=0,"
        "lb_tick=0,actions=output:2" % (SELF, A[6].eth_dst))
    assert got == forwarded(FRAMES)


def test_then_set_the_port(br0):
    """A later set_field of the port acts on the packet as it then is."""
    got = run_frames(br0, both("A,set_field:4711->udp_dst,output:2",
                               "nw_proto=17"))
    for have, was in zip(got, forwarded(FRAMES)):
        at = 36 if was[12:14] == b"\x08\0" else 56
        assert model.word(have, at) == 4711
        assert have[:at] == was[:at]
        assert have[at + 2:at + 4] == was[at + 2:at + 4]
        csum = model.word(was, at + 4)
        assert model.word(have, at + 4) == (model.replace(
            csum, was[at:at + 2], (4711).to_bytes(2, "big")) or 0xffff
            if csum else 0)
        assert have[at + 6:] == was[at + 6:]


def test_then_set_port_to_the_base(br0):
    """The base is what translation believes the port to be: a set_field to
    it must not be taken for nothing to do."""
    got = run_frames(br0, both("A,set_field:20000->udp_dst,output:2",
                               "nw_proto=17"))
    for have in got:
        assert model.word(have, 36 if have[12:14] == b"\x08\0" else 56) \
            == 20000


def test_then_dec_ttl_and_tag(br0):
    got = run_frames(br0, both("A,dec_ttl,push_vlan:0x8100,"
                               "set_field:4100->vlan_vid,output:2"))
    for have, was in zip(got, forwarded(FRAMES)):
        assert have[12:16].hex() == "81000004"
        at = 26 if was[12:14] == b"\x08\0" else 25
        assert have[at] == 62
        assert have[:12] == was[:12] and have[40:] == was[36:]


def test_then_normal(br0):
    """The learning switch finds the member's port by the new address."""
    br0.add_flows("br0", br0.mark_flow(), "table=0,in_port=3,actions=NORMAL")
    br0.receive("p3", [mac(SELF) + mac(A[4].eth_dst) + b"\x88\xb6"
                       + bytes(46)])
    for port in ("p1", "p2", "p4"):
        br0.sent(port)       # It was flooded.
    got = run_frames(br0, both("A,NORMAL", "in_port=1"), out="p3")
    assert got == forwarded(FRAMES)
    assert br0.others["p4"] == [] and br0.sent("p2") == []


@pytest.mark.parametrize("action", ["FLOOD", "ALL", "output:2,output:3",
                                    "group:9"])
def test_then_several_ports(br0, action):
    br0.add_group("br0", "group_id=9,type=all,bucket=output:2,bucket=output:3")
    got = run_frames(br0, both("A," + action, "in_port=1"))
    assert got == br0.others["p3"] == forwarded(FRAMES)


def test_then_in_port(br0):
    """The one-armed form."""
    run_frames(br0, both("A,in_port"))
    assert br0.others["p1"] == forwarded(FRAMES)


def test_then_truncate(br0):
    got = run_frames(br0, both("A,output(port=2,max_len=50),output:3"))
    assert got == [f[:50] for f in forwarded(FRAMES)]
    assert br0.others["p3"] == forwarded(FRAMES)


def test_then_length(br0):
    """The length is that of the packet without its header."""
    frames = [event(4, payload=bytes(n)) for n in (499, 500, 501, 515, 516,
                                                   517)]
    got = run_frames(
        br0, both("A,check_pkt_larger(600)->NXM_NX_REG0[0],resubmit(,10)"),
        "table=10,reg0=1/1,actions=output:3",
        "table=10,reg0=0/1,actions=output:2", frames=frames)
    want = forwarded(frames)
    assert got == [f for f in want if len(f) <= 600]
    assert br0.others["p3"] == [f for f in want if len(f) > 600]


def test_then_action_set(br0):
    """The action set runs on the rewritten packet."""
    got = run_frames(
        br0, both("A,goto_table:10"), both(
        "write_actions(set_field:02:00:00:00:bb:01->eth_src,output:2)",
        "", 10))
    assert got == [f[:6] + mac("02:00:00:00:bb:01") + f[12:]
                   for f in forwarded(FRAMES)]


def test_then_parse_again(br0):
    """A header that was kept can be parsed and forwarded once more."""
    got = run_frames(br0, both("B,lb_parse(table=10)"),
                     both("A,output:2", "lb_status=0", 10),
                     faults(10, 2))
    assert got == forwarded(forwarded(FRAMES, B), A)


def test_then_forward_again(br0):
    got = run_frames(br0, both("B,A,output:2"))
    assert got == forwarded(forwarded(FRAMES, B), A)


def test_then_controller_and_output(br0):
    """A packet-in behind lb_forward does not disturb what follows."""
    assert run_frames(br0, both("A,controller(max_len=128),output:2")) \
        == forwarded(FRAMES)


@pytest.fixture
def second(br0):
    """A bridge br1 behind br0's patch port 10, with a port q2 of its own."""
    br0.vsctl("add-br", "br1", "--", "set", "bridge", "br1",
             "datapath_type=dummy", "fail-mode=secure",
             "protocols=OpenFlow13,OpenFlow15", "--",
             "add-port", "br0", "to1", "--", "set", "interface", "to1",
             "type=patch", "options:peer=to0", "ofport_request=10", "--",
             "add-port", "br1", "to0", "--", "set", "interface", "to0",
             "type=patch", "options:peer=to1", "ofport_request=11", "--",
             *br0.dummy_port("br1", "q2", 12))
    yield br0
    # Nothing in the datapath may point to a bridge that goes.
    br0.clear("br0")
    br0.clear("br1")
    br0.vsctl("del-port", "br0", "to1", "--", "del-br", "br1")


def test_then_a_patch_port(second):
    """The other bridge's flows see the packet as it was rewritten."""
    second.add_flows("br1", *["table=0,udp,nw_ttl=63,udp_dst=%d,actions="
                              "set_field:02:00:00:00:aa:%02x->eth_src,"
                              "output:12" % (20000 + i, i)
                              for i in range(16)])
    frames = [f for f in FRAMES if f[12:14] == b"\x08\0"]
    got = run_frames(second, both("A,output:10", "in_port=1"), frames=frames,
                         out="q2")
    assert [f.hex() for f in got] == [
        (f[:6] + mac("02:00:00:00:aa:%02x" % (
            model.parse(i).port_select % 16)) + f[12:]).hex()
        for i, f in zip(frames, forwarded(frames))]


def test_fields_through_a_patch_port(second):
    """What lb_parse found is there in the other bridge."""
    second.add_flows("br1", "table=0,lb_tick=7,lb_version=2,lb_port_select=7,"
                     "actions=output:12")
    got = run_frames(second, "ip,in_port=1,actions=lb_parse(table=6)",
                         "table=6,lb_status=0,actions=output:10", out="q2")
    assert got == [f for f in FRAMES if f[12:14] == b"\x08\0"
                   and model.parse(f).tick == 7]


def test_then_mirror(br0):
    """A mirror of the output port gets what that port sends."""
    br0.vsctl("--", "--id=@p2", "get", "port", "p2", "--", "--id=@p3", "get",
             "port", "p3", "--", "--id=@m", "create", "mirror", "name=m",
             "select-dst-port=@p2", "output-port=@p3", "--", "set", "bridge",
             "br0", "mirrors=@m")
    try:
        assert run_frames(br0, both("A,output:2")) == forwarded(FRAMES)
        assert br0.others["p3"] == forwarded(FRAMES)
    finally:
        br0.vsctl("clear", "bridge", "br0", "mirrors")


@pytest.mark.parametrize("column, create", [
    ("sflow", ["sflow", 'targets="127.0.0.1:6343"', "agent=127.0.0.1",
               "sampling=1"]),
    ("ipfix", ["ipfix", 'targets="127.0.0.1:4739"', "sampling=1"])])
def test_sampling(br0, column, create):
    """Exporters that look at the datapath's actions know ours."""
    br0.vsctl("--", "--id=@s", "create", *create, "--", "set", "bridge",
             "br0", column + "=@s")
    try:
        got = load_and_send(br0)
        assert got == forwarded(FRAMES)
    finally:
        br0.vsctl("clear", "bridge", "br0", column)


def load_and_send(br0):
    br0.add_group("br0", calendar(7, {s: 11 for s in range(4)}, bits=2))
    return run_frames(br0, parse_flows(br0, 2), "table=32,actions=group:7",
                      member_flows({11: A}, 2))


# Before lb_forward.

def test_after_changes(br0):
    """lb_forward acts on the packet as the actions before it have made it."""
    cases = [{"tick": t, "port_select": t, "csum": c} for t in range(3)
             for c in ("right", "absent")]
    got = run_frames(
        br0, "ip,nw_proto=17,actions=dec_ttl,set_field:9->ip_dscp,"
        "set_field:1.2.3.4->nw_src,push_vlan:0x8100,set_field:4101->vlan_vid,"
        "%s,output:2" % A[4].action(), frames=[event(4, **c) for c in cases])
    assert got == [model.forward(event(
        4, ttl=63, tos=9 << 2, src="1.2.3.4", tags=[(ETH_VLAN, 5)], **c),
        A[4]) for c in cases]


def test_after_the_ttl_ran_out(br0):
    """dec_ttl to 1 makes it no event packet any more."""
    before = br0.coverage("datapath_drop_lb_forward")
    frames = [event(4, ttl=2), event(4, ttl=3)]
    got = run_frames(br0, both("dec_ttl,A,output:2"), frames=frames)
    assert got == [model.forward(event(4, ttl=2), A[4])[:22] + b"\1"
                   + got[0][23:]]
    assert br0.coverage("datapath_drop_lb_forward") == before + 2


# Clones.

def test_clone_leaves_the_original(br0):
    got = run_frames(br0, both("clone(A,output:2),output:3"))
    assert got == forwarded(FRAMES)
    assert br0.others["p3"] == FRAMES


def test_clone_and_forward(br0):
    got = run_frames(br0, both("clone(A,output:2),B,output:3"))
    assert got == forwarded(FRAMES, A)
    assert br0.others["p3"] == forwarded(FRAMES, B)


def test_clone_with_recirculation(br0):
    """In the clone, actions that need the packet anew; behind it, the
    original."""
    got = run_frames(br0, both("clone(A,resubmit(,10)),output:3",
                               "nw_proto=17"),
                     both("output:2", "nw_proto=17,udp_dst=20007", 10))
    assert got == [f for f in forwarded(FRAMES)
                   if model.word(f, 36 if f[12:14] == b"\x08\0" else 56)
                   == 20007]
    assert br0.others["p3"] == FRAMES


def test_output_before_and_behind(br0):
    got = run_frames(br0, both("output:3,A,output:2"))
    assert got == forwarded(FRAMES)
    assert br0.others["p3"] == FRAMES


# lb_parse in the middle.

def test_parse_in_the_middle(br0):
    """A clone goes on in the table; the packet itself goes on in the list as
    it was."""
    got = run_frames(br0, both("output:3,lb_parse(table=6),output:4"),
                     both("A,output:2", "lb_status=0", 6))
    assert got == forwarded(FRAMES)
    assert br0.others["p3"] == br0.others["p4"] == FRAMES


def test_changes_before_and_behind_parse(br0):
    """The table sees the packet as it was at lb_parse."""
    got = run_frames(
        br0, both("set_field:02:00:00:00:cc:01->eth_src,set_field:7->reg3,"
             "lb_parse(table=6),set_field:02:00:00:00:cc:02->eth_src,"
             "set_field:8->reg3,output:3"),
        "table=6,lb_status=0,reg3=7,actions=output:2")
    assert got == [f[:6] + mac("02:00:00:00:cc:01") + f[12:] for f in FRAMES]
    assert br0.others["p3"] == [f[:6] + mac("02:00:00:00:cc:02") + f[12:]
                               for f in FRAMES]


def test_parse_twice(br0):
    got = run_frames(br0, both("lb_parse(table=6),lb_parse(table=7)"),
                     "table=6,lb_status=0,actions=output:2",
                     "table=7,lb_status=0,actions=output:3")
    assert got == br0.others["p3"] == FRAMES


@pytest.mark.parametrize("between", ["", "debug_recirc,"])
def test_parse_fields_end_with_the_fork(br0, between):
    """Behind lb_parse in the list, the fields are still 0, also after
    recirculation."""
    got = run_frames(br0, both("lb_parse(table=6),%sresubmit(,7)" % between),
                     "table=7,lb_version=0,actions=output:3",
                     "table=7,lb_version=2,actions=output:4",
                     "table=6,lb_version=2,actions=output:2",
                     "table=6,lb_version=0,actions=output:4")
    assert got == br0.others["p3"] == FRAMES
    assert br0.others["p4"] == []
