# SPDX-License-Identifier: Apache-2.0
"""The fields and actions in ovs-ofctl's text, there and back, and what is
said of flows that are wrong."""

import random
import re

import pytest

from packets import event
from switch import CommandError

VERSIONS = ["OpenFlow10", "OpenFlow13", "OpenFlow14", "OpenFlow15"]
ALL_VERSIONS = pytest.mark.parametrize("version", VERSIONS)

FIELDS = {"lb_status": 8, "lb_version": 8, "lb_member": 16, "lb_tick": 64,
          "lb_slot_select": 16, "lb_port_select": 16}
READ_ONLY = sorted(set(FIELDS) - {"lb_member"})

FORWARD = ("lb_forward(eth_src=02:00:00:00:00:01,eth_dst=02:00:00:00:00:11,"
           "ip_src=10.0.0.1,ip_dst=10.0.0.11,base=20000,bits=2)")
FORWARD6 = FORWARD.replace("10.0.0.11", "2001:db8::11").replace(
    "10.0.0.1,", "2001:db8::1,")

# Matches and actions as they are printed.
FLOWS = [
    "lb_status=5 actions=drop",
    "lb_status=0,lb_version=3 actions=goto_table:7",
    "lb_status=4/0xfc actions=drop",
    "lb_member=0 actions=drop",
    "lb_member=65535 actions=drop",
    "lb_member=256/0xff00 actions=drop",
    "lb_tick=0 actions=drop",
    "lb_tick=0xffffffffffffffff actions=drop",
    "lb_tick=0x8000000000000000/0x8000000000000000 actions=drop",
    "lb_tick=0x3e8/0xfffffffffffffff8 actions=output:2",
    "lb_tick=0x100000001/0xf0000000f actions=drop",
    "lb_slot_select=0xfe00/0xfe00 actions=drop",
    "lb_port_select=0x7 actions=drop",
    "lb_port_select=0x1/0x1 actions=drop",
    "lb_status=1/0x3,lb_version=2,lb_member=77,"
    "lb_tick=0x100/0xffffffffffff0f00,lb_slot_select=0x12/0x1f,"
    "lb_port_select=0x5,udp,in_port=1,nw_src=10.0.0.0/24 actions=drop",
    "priority=1,lb_tick=0x5/0xff,reg0=0x1,metadata=0x2 actions=drop",
    " actions=lb_parse(table=0)",
    "reg0=0x1 actions=lb_parse(table=254)",
    "reg0=0x2 actions=lb_parse(table=6,epoch_table=0)",
    "reg0=0x3 actions=lb_parse(table=6,epoch_table=254)",
    "reg0=0x4 actions=lb_parse(table=6,epoch_table=32),output:2",
    "reg0=0x5 actions=clone(lb_parse(table=6)),output:2",
    "ip actions=%s,output:2" % FORWARD,
    "ip,reg0=0x1 actions=%s" % FORWARD.replace("bits=2)", "bits=0,keep)"),
    "ip,reg0=0x2 actions=%s" % FORWARD.replace("bits=2", "bits=16"),
    "ip,reg0=0x3 actions=%s" % FORWARD.replace("20000", "65535"),
    "ip,reg0=0x4 actions=%s" % FORWARD.replace("20000", "0"),
    "ip,reg0=0x5 actions=clone(%s,output:2),output:3" % FORWARD,
    "udp,tp_dst=19522 actions=%s,in_port" % FORWARD,
    "ip,dl_vlan=7 actions=%s,output:2" % FORWARD,
    "ipv6 actions=%s,output:2" % FORWARD6,
    "udp6 actions=%s,output:2" % FORWARD6.replace("bits=2)", "bits=14,keep)"),
    "ipv6,reg0=0x1 actions=%s" % FORWARD6.replace("2001:db8::11", "ff02::1"),
    "reg0=0x6 actions=set_field:11->lb_member,output:2",
    "reg0=0x7 actions=move:NXM_NX_REG0[0..15]->EVLBOXM_LB_MEMBER[],output:2",
    "reg0=0x8 actions=move:EVLBOXM_LB_TICK[0..31]->NXM_NX_REG0[],output:2",
]


def as_printed(flow):
    """A flow as dump-flows prints it, in whichever order the match is."""
    match, actions = flow.strip().split("actions=")
    return tuple(sorted(match.strip().strip(",").split(","))), \
        actions.replace("IN_PORT", "in_port")


def dump(ovs, version):
    return [(flow.table, as_printed("%s actions=%s" % (
        flow.match, flow.actions))) for flow in
        ovs.flows("br0", version=version)]


def diff(ovs, text, version):
    """What diff-flows says of the flows in 'text'; nothing if they are those
    of br0."""
    path = ovs.path("flows")
    with open(path, "w") as f:
        f.write(text)
    try:
        return ovs.ofctl("diff-flows", "br0", path, version=version)
    except CommandError as error:
        return str(error)


@ALL_VERSIONS
def test_flows_there_and_back(br0, version):
    """add-flows, dump-flows, then all of it anew from the dump."""
    flows = [f for f in FLOWS
             if not (version == "OpenFlow10" and "goto_table" in f)]
    expected = sorted((3, as_printed(f)) for f in flows)
    br0.add_flows("br0", *["table=3," + f.replace(" actions", ",actions")
                           for f in flows], version=version)
    assert sorted(dump(br0, version)) == expected

    text = "\n".join("table=3,%s,actions=%s" % (f.match, f.actions)
                     for f in br0.flows("br0", version=version))
    assert diff(br0, text, version) == ""
    if version == "OpenFlow10":
        return              # Its replace-flows knows no other tables than 0.
    br0.ofctl("del-flows", "br0")
    br0.ofctl("replace-flows", "br0", "-", stdin=text, version=version)
    assert sorted(dump(br0, version)) == expected


@pytest.mark.parametrize("version", ["OpenFlow13", "OpenFlow15"])
def test_diff_flows_sees_differences(br0, version):
    """Each line differs from the switch's flow in one lb_* field's value or
    mask, or one argument of an action."""
    br0.add_flows("br0", "lb_tick=0x10/0xf0,actions=drop",
                  "ip,actions=" + FORWARD, "reg0=1,actions=lb_parse(table=6)",
                  version=version)
    for old, new in (("lb_tick=0x10/0xf0", "lb_tick=0x20/0xf0"),
                     ("lb_tick=0x10/0xf0", "lb_tick=0x10/0x70"),
                     ("bits=2", "bits=3"), ("bits=2", "bits=2,keep"),
                     ("base=20000", "base=20001"), (".11", ".12"),
                     ("table=6", "table=7"),
                     ("table=6", "table=6,epoch_table=0")):
        text = ("lb_tick=0x10/0xf0,actions=drop\nip,actions=%s\n"
                "reg0=1,actions=lb_parse(table=6)\n" % FORWARD).replace(
                    old, new)
        assert re.match(r"-.*\n\+.*\n$", diff(br0, text, version)), (old, new)


@pytest.mark.parametrize("flow", [f for f in FLOWS if "goto" not in f])
@pytest.mark.parametrize("version", ["OpenFlow13", "OpenFlow15"])
def test_parse_flow(ovs, flow, version):
    """ovs-ofctl alone: text to message to text."""
    text = ovs.ofctl("parse-flow", "table=3," + flow.replace(" actions",
                                                             ",actions"),
                     version=version)
    got = re.search(r"ADD table:3 (.*)$", text, re.MULTILINE).group(1)
    assert as_printed(got) == as_printed(flow)


def expand(field, text, bits):
    """Returns (value, mask) of a field in a flow's match."""
    m = re.search(r"\b%s=([^,/ ]+)(?:/([^, ]+))?" % field, text)
    if not m:
        return 0, 0
    return int(m.group(1), 0), \
        int(m.group(2), 0) if m.group(2) else 2 ** bits - 1


@ALL_VERSIONS
@pytest.mark.parametrize("field, bits", list(FIELDS.items()))
def test_any_mask(br0, field, bits, version):
    """Random values under random masks come back as what they mean."""
    rng = random.Random(field + version)
    expected = {}
    for i in range(200):
        mask = rng.choice((rng.getrandbits(bits), 2 ** bits - 1,
                           2 ** bits - 2 ** rng.randrange(bits),
                           1 << rng.randrange(bits)))
        expected[i] = rng.getrandbits(bits) & mask, mask
    br0.add_flows("br0", *["reg0=%d,%s=%#x/%#x,actions=drop" % (
        i, field, value, mask) for i, (value, mask) in expected.items()],
        version=version)
    got = {expand("reg0", f.match, 32)[0]: expand(field, f.match, bits)
           for f in br0.flows("br0", version=version)}
    assert got == expected


def test_matches_select_flows(br0):
    """Fields in a dump-flows or del-flows match select as others do."""
    br0.add_flows("br0", "lb_tick=0x10/0xf0,actions=drop",
                  "lb_tick=0x20/0xf0,actions=drop",
                  "lb_tick=0x20/0xf0,lb_version=3,actions=drop")
    assert len(br0.flows("br0", "lb_tick=0x20/0xf0")) == 2
    assert len(br0.flows("br0", "lb_version=3")) == 1
    br0.ofctl("del-flows", "br0", "lb_tick=0x20/0xf0")
    assert [f.match for f in br0.flows("br0")] == ["lb_tick=0x10/0xf0"]
    br0.ofctl("--strict", "del-flows", "br0", "lb_tick=0x10/0xff")
    assert len(br0.flows("br0")) == 1
    br0.ofctl("--strict", "mod-flows", "br0",
              "lb_tick=0x10/0xf0,actions=output:2")
    assert br0.flows("br0")[0].actions == "output:2"


def test_table_names(br0):
    """lb_parse takes the names of tables, and prints them on request."""
    br0.vsctl("--", "--id=@h", "create", "flow_table", "name=header", "--",
              "--id=@e", "create", "flow_table", "name=epoch", "--", "set",
              "bridge", "br0", "flow_tables:6=@h", "flow_tables:32=@e")
    try:
        action = "lb_parse(table=header,epoch_table=epoch)"
        br0.ofctl("--names", "add-flow", "br0", "actions=" + action)
        assert action in br0.ofctl("--names", "dump-flows", "br0")
        assert "lb_parse(table=6,epoch_table=32)" in br0.ofctl(
            "--no-names", "dump-flows", "br0")
    finally:
        br0.vsctl("clear", "bridge", "br0", "flow_tables")


# What is wrong, and what ovs-ofctl says of it.
WRONG = {
    "lb_status=256,actions=drop": "256: value too large .*lb_status",
    "lb_version=0x100,actions=drop": "value too large .*lb_version",
    "lb_member=65536,actions=drop": "value too large .*lb_member",
    "lb_tick=0x1ffffffffffffffff,actions=drop": "value too large .*lb_tick",
    "lb_tick=5/0x1ffffffffffffffff,actions=drop":
        "mask too large .*lb_tick",
    "lb_slot_select=x,actions=drop": "x.*lb_slot_select",
    "lb_port_select=1/x,actions=drop": "x.*lb_port_select",
    "lb_event=1,actions=drop": "lb_event",
    "actions=lb_parse": '"table" is missing',
    "actions=lb_parse()": '"table" is missing',
    "actions=lb_parse(epoch_table=6)": '"table" is missing',
    "actions=lb_parse(table=255)": r'unknown table "255" \(table\)',
    "actions=lb_parse(table=256)": r'unknown table "256" \(table\)',
    "actions=lb_parse(table=-1)": r'unknown table "-1" \(table\)',
    "actions=lb_parse(table=header)": r'unknown table "header" \(table\)',
    "actions=lb_parse(table=6,epoch_table=255)":
        r'unknown table "255" \(epoch_table\)',
    "actions=lb_parse(table=6,table=6)": 'duplicate argument "table"',
    "actions=lb_parse(table=6,epoch_table=7,epoch_table=7)":
        'duplicate argument "epoch_table"',
    "actions=lb_parse(table=6,tick=5)": 'unknown .*argument "tick"',
    "actions=write_actions(lb_parse(table=6))": "OFPBAC_BAD_TYPE",
    "ip,actions=lb_forward": "lb_forward: \"eth_src\" is missing",
    "ip,actions=lb_forward(keep)": '"eth_src" is missing',
    "ip,actions=" + FORWARD.replace("eth_dst=02:00:00:00:00:11,", ""):
        '"eth_dst" is missing',
    "ip,actions=" + FORWARD.replace("ip_src=10.0.0.1,", ""):
        '"ip_src" is missing',
    "ip,actions=" + FORWARD.replace("ip_dst=10.0.0.11,", ""):
        '"ip_dst" is missing',
    "ip,actions=" + FORWARD.replace("base=20000,", ""): '"base" is missing',
    "ip,actions=" + FORWARD.replace(",bits=2", ""): '"bits" is missing',
    "ip,actions=" + FORWARD.replace("bits=2", "bits=2,bits=2"):
        'duplicate argument "bits"',
    "ip,actions=" + FORWARD.replace("bits=2", "bits=2,keep,keep"):
        'duplicate argument "keep"',
    "ip,actions=" + FORWARD.replace("bits=2", "bits=2,keep=1"):
        "keep takes no value",
    "ip,actions=" + FORWARD.replace("bits=2", "bits=2,strip"):
        'unknown argument "strip"',
    "ip,actions=" + FORWARD.replace("bits=2", "bits=17"):
        r"bits=17 is not in 0\.\.16",
    "ip,actions=" + FORWARD.replace("bits=2", "bits=256"): 'bits "256"',
    "ip,actions=" + FORWARD.replace("bits=2", "bits=-1"): 'bits "-1"',
    "ip,actions=" + FORWARD.replace("base=20000", "base=65536"):
        'base "65536"',
    "ip,actions=" + FORWARD.replace("10.0.0.11", "2001:db8::1"):
        "ip_src and ip_dst must be of one family",
    "ip,actions=" + FORWARD.replace("10.0.0.1,", "2001:db8::1,"):
        "ip_src and ip_dst must be of one family",
    "ip,actions=" + FORWARD.replace("10.0.0.11", "10.0.0"):
        r"10\.0\.0: not an IPv4 or IPv6 address \(ip_dst\)",
    "ip,actions=" + FORWARD.replace("10.0.0.11", "10.0.0.256"):
        r"not an IPv4 or IPv6 address \(ip_dst\)",
    "ipv6,actions=" + FORWARD.replace("10.0.0.11", "::ffff:10.0.0.11"):
        r"not an IPv4 or IPv6 address \(ip_dst\)",
    "ip,actions=" + FORWARD.replace("02:00:00:00:00:11", "02:00:00"):
        "invalid mac address 02:00:00",
    "ip,actions=write_actions(%s)" % FORWARD: "OFPBAC_BAD_TYPE",
    "actions=pop:lb_tick[]": "OFPBAC_BAD_SET_ARGUMENT",
    "actions=move:reg0[0..7]->lb_status[]": "OFPBAC_BAD_SET_ARGUMENT",
    "actions=set_field:65536->lb_member": "too large .*lb_member",
}


@pytest.mark.parametrize("flow, text", list(WRONG.items()))
def test_wrong_flows(br0, flow, text):
    with pytest.raises(CommandError, match=text):
        br0.ofctl("add-flow", "br0", flow)
    assert br0.flows("br0") == []


@pytest.mark.parametrize("field", READ_ONLY)
def test_read_only(br0, field):
    for action in ("set_field:1->%s", "load:1->%s[]", "move:reg0[0]->%s[0]"):
        with pytest.raises(CommandError, match="read-only|BAD_SET_ARGUMENT"):
            br0.ofctl("add-flow", "br0", "actions=" + action % field)
    assert br0.flows("br0") == []


INCONSISTENT = [
    "actions=" + FORWARD, "arp,actions=" + FORWARD, "ipv6,actions=" + FORWARD,
    "ip,actions=" + FORWARD6, "actions=" + FORWARD6,
    "lb_member=1,actions=" + FORWARD,
    "ip,actions=push_mpls:0x8847," + FORWARD,
    "actions=clone(%s,output:2)" % FORWARD,
]


@pytest.mark.parametrize("flow", INCONSISTENT)
@pytest.mark.parametrize("version", ["OpenFlow13", "OpenFlow15"])
def test_forward_needs_its_ethernet_type(br0, flow, version):
    """ovs-ofctl finds that no protocol of the version takes such a flow."""
    with pytest.raises(CommandError, match="none of the usable flow formats|"
                       "OFPBAC_MATCH_INCONSISTENT"):
        br0.ofctl("add-flow", "br0", flow, version=version)
    assert br0.flows("br0") == []


def test_forward_over_openflow_10(br0):
    """OpenFlow 1.0 takes actions that do not fit the match.  Then lb_forward
    itself drops what it cannot rewrite."""
    br0.add_flows("br0", br0.mark_flow(),
                  "actions=%s,output:2" % FORWARD, version="OpenFlow10")
    before = br0.coverage("datapath_drop_lb_forward")
    got = br0.forward("p1", [event(4), event(6), bytes(60)], "p2")
    assert len(got) == 1 and got[0][12:14] == b"\x08\0"
    assert br0.coverage("datapath_drop_lb_forward") == before + 2
