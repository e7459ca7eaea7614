# SPDX-License-Identifier: Apache-2.0
"""What a calendar group may not be: as ovs-ofctl takes it, with what it says,
and as a message, with the error that the switch answers."""

import pytest

import openflow as of
from choices import chosen, member_flow
from packets import event
from pipeline import faults, parse_flows
from switch import CommandError

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
