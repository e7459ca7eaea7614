# SPDX-License-Identifier: Apache-2.0
"""ofproto/trace follows an event through all passes, from a packet and from
the fields alone."""

import re

import pytest

import model
from model import Member
from packets import event
from pipeline import calendar, member_flows, parse_flows

MEMBERS = {m: {family: Member(family, "02:00:00:00:00:01",
                              "02:00:00:00:00:%02x" % m,
                              "10.0.0.1" if family == 4 else "2001:db8:2::1",
                              "10.0.0.%d" % m if family == 4
                              else "2001:db8:3::%d" % m, 1000 * m, 4)
               for family in (4, 6)} for m in (11, 12)}


@pytest.fixture(scope="module")
def pipeline(ovs):
    ovs.clear("br0")
    ovs.add_group("br0", calendar(7, {0: 11, 1: 12, 3: 12}, bits=2))
    ovs.add_group("br0", calendar(8, {0: 12}, bits=0))
    ovs.add_flows("br0", *parse_flows(ovs, "p2"),
                  "table=32,lb_tick=0/0xfffffffffffff000,actions=group:7",
                  "table=32,lb_tick=0x1000/0xfffffffffffff000,"
                  "actions=group:8", *member_flows(MEMBERS, "p2"))
    return ovs


def passes(text):
    """Splits a trace into passes: (flow, megaflow, datapath actions)."""
    return list(zip(re.findall(r"^Flow: (.*)$", text, re.MULTILINE),
                    re.findall(r"^Megaflow: (.*)$", text, re.MULTILINE),
                    re.findall(r"^Datapath actions: (.*)$", text,
                               re.MULTILINE)))


def fields(flow):
    return dict(re.findall(r"\b(lb_\w+)=([^, ]+)", flow))


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("tick, group, slot, member", [
    (0x100, 7, 0, 11), (0x101, 7, 1, 12), (0xfff, 7, 3, 12),
    (0x1abc, 8, 0, 12)])
def test_packet(pipeline, family, tick, group, slot, member):
    frame = event(family, tick=tick, version=2, port_select=9)
    text = pipeline.trace("br0", "in_port=1", frame.hex())
    first, second, third = passes(text)

    assert "parsed: lb_status=ok, tick %#x" % tick in text
    assert "resumed at table 6" in text and "resumed at table 8" in text
    assert "group:%d" % group in text
    assert "slot %d: lb_status=ok, member %d" % (slot, member) in text

    assert fields(first[0]) == {}
    assert re.match(r"lb_parse,recirc\(0x[0-9a-f]+\)$", first[2])
    assert fields(second[0]) == {
        "lb_status": "0", "lb_version": "2", "lb_member": "0",
        "lb_tick": "%#x" % tick, "lb_slot_select": "%#x" % tick,
        "lb_port_select": "0x9"}
    assert re.match(r"lb_calendar\(bits=\d,xor=0,members=.*\),recirc",
                    second[2])
    assert fields(third[0]) == {
        "lb_status": "0", "lb_version": "2", "lb_member": str(member),
        "lb_tick": "0", "lb_slot_select": "0", "lb_port_select": "0"}
    assert third[2] == MEMBERS[member][family].action() + ",2"
    assert fields(third[1]) == {"lb_status": "0", "lb_member": str(member)}

    final = re.findall(r"^Final flow: (.*)$", text, re.MULTILINE)[-1]
    assert "lb_" not in final and "nw_ttl=63" in final
    m = MEMBERS[member][family]
    for part in ("dl_src=" + m.eth_src, "dl_dst=" + m.eth_dst,
                 "_src=" + m.ip_src, "_dst=" + m.ip_dst):
        assert part in final


def test_megaflow_of_the_second_pass(pipeline):
    """As many bits of the tick as decide between the prefixes."""
    for tick, bits in ((0x123, "0x0/0xfffffffffffff000"),
                       (0x1123, "0x1000/0xfffffffffffff000")):
        frame = event(tick=tick)
        megaflow = passes(pipeline.trace("br0", "in_port=1", frame.hex()))[
            1][1]
        value, mask = fields(megaflow)["lb_tick"].split("/")
        assert int(mask, 0) == int(bits.split("/")[1], 0)
        assert int(value, 0) & int(mask, 0) == int(bits.split("/")[0], 0)
        assert set(fields(megaflow)) == {"lb_status", "lb_tick"}


@pytest.mark.parametrize("flow", ["udp", "udp6"])
def test_fields_alone(pipeline, flow):
    """Without a packet the fields are what the user says the header says."""
    text = pipeline.trace("br0", "in_port=1,%s,lb_tick=0x203,lb_version=3,"
                          "lb_slot_select=1,lb_port_select=7,nw_ttl=9" % flow)
    first, second, third = passes(text)
    assert "as given, without packet: lb_status=ok, tick 0x203" in text
    assert fields(second[0])["lb_tick"] == "0x203"
    assert fields(second[0])["lb_port_select"] == "0x7"
    assert "slot 1: lb_status=ok, member 12" in text
    assert fields(third[0])["lb_member"] == "12"
    family = 4 if flow == "udp" else 6
    assert third[2] == MEMBERS[12][family].action() + ",2"


@pytest.mark.parametrize("frame, status", [
    (event(magic=1), "bad_magic"), (event(version=7), "bad_version"),
    (event(ttl=1), "ttl_expired"), (event(length=999), "bad_length"),
    (event(length=20), "short"), (event(frag=0x2000), "fragment"),
    (event(6, magic=1), "bad_magic")])
def test_faulty_packet(pipeline, frame, status):
    text = pipeline.trace("br0", "in_port=1", frame.hex())
    number = model.parse(frame).status
    assert "parsed: lb_status=%s, tick 0" % status in text
    _, second = passes(text)
    assert fields(second[0])["lb_status"] == str(number)
    assert fields(second[1]) == {"lb_status": str(number)}
    assert second[2].endswith(",2")


def test_slot_without_bucket(pipeline):
    text = pipeline.trace("br0", "in_port=1", event(tick=2).hex())
    assert "slot 2: lb_status=no_slot, member 0" in text
    third = passes(text)[2]
    assert fields(third[0])["lb_status"] == "8"


def test_tick_of_no_epoch(pipeline):
    text = pipeline.trace("br0", "in_port=1", event(tick=1 << 40).hex())
    assert len(passes(text)) == 2
    assert "No match" in text.split("Resuming from table 6")[1]
    assert passes(text)[1][2] == "drop"


def test_trace_from_a_later_pass(pipeline):
    """A datapath flow of a later pass, as dpctl prints it in full, can be
    traced from there."""
    pipeline.appctl("revalidator/purge")
    assert len(pipeline.forward("p1", [event(tick=1)], "p2")) == 1
    keys = {m.actions.split("(")[0]: re.sub(
        r"ufid:[^ ]*, ", "", m.key.replace("in_port(p1)", "in_port(1)"))
        for m in pipeline.megaflows("-m")}
    for first, n_passes in (("lb_calendar", 2), ("lb_forward", 1)):
        got = passes(pipeline.appctl("ofproto/trace", "ovs-dummy",
                                     keys[first]))
        assert len(got) == n_passes
        assert got[-1][2] == MEMBERS[12][4].action() + ",2"


def test_trace_sends_nothing(pipeline):
    """Tracing changes no counter and sends no packet."""
    before = pipeline.counters("br0", 8)
    pipeline.sent("p2")
    pipeline.trace("br0", "in_port=1", event().hex())
    assert pipeline.sent("p2") == []
    assert pipeline.counters("br0", 8) == before


def test_trace_generates_a_packet(pipeline):
    """With -generate the packet is made up, and is no event packet."""
    text = pipeline.trace("br0", "in_port=1,udp,nw_ttl=64,udp_dst=19522",
                          "-generate")
    assert re.search(r"parsed: lb_status=(short|bad_magic|bad_length)", text)
