# SPDX-License-Identifier: Apache-2.0
"""The fields and actions on the wire: messages built by hand, well-formed and
not, and packet-ins and packet-outs."""

import os
import random
import re
import subprocess

import pytest

import model
import openflow as of
from packets import event
from pipeline import calendar, member_flows, parse_flows
from switch import CommandError

VERSIONS = pytest.mark.parametrize("version", [of.OF13, of.OF15],
                                   ids=["1.3", "1.5"])

EVERY_FIELD = [of.lb_oxm(of.LB_STATUS, 5), of.lb_oxm(of.LB_VERSION, 2, 0x7f),
               of.lb_oxm(of.LB_MEMBER, 0x1234),
               of.lb_oxm(of.LB_TICK, 0x0102030405060708),
               of.lb_oxm(of.LB_SLOT_SELECT, 0x8000, 0x8000),
               of.lb_oxm(of.LB_PORT_SELECT, 7)]


@pytest.fixture
def wire(br0):
    def connect(version):
        return of.Connection(br0, "br0", version)
    br0.connect = connect
    return br0


@VERSIONS
def test_match_on_the_wire(wire, version):
    """Each field under its number, in any order; what the switch dumps holds
    the same bytes."""
    rng = random.Random(version)
    for _ in range(5):
        fields = rng.sample(EVERY_FIELD, 6)
        with wire.connect(version) as c:
            assert c.send(of.flow_mod(of.match(*fields),
                                      version=version)) == []
            assert [f.match for f in wire.flows("br0")] == [
                "lb_status=5,lb_version=2/0x7f,lb_member=4660,"
                "lb_tick=0x102030405060708,lb_slot_select=0x8000/0x8000,"
                "lb_port_select=0x7"]
            assert c.send(of.flow_stats_request(version)) == []
            (_, body), = c.replies
            for oxm in EVERY_FIELD:
                assert oxm in body
        wire.clear("br0")


@VERSIONS
def test_actions_on_the_wire(wire, version):
    """lb_parse and lb_forward as bytes, and as ovs-ofctl shows them."""
    ip6 = bytes.fromhex("20010db8000000000000000000000001")
    cases = [
        (of.match(), of.lb_parse(6), "lb_parse(table=6)"),
        (of.match(of.lb_oxm(of.LB_VERSION, 2)), of.lb_parse(254, 1, 32),
         "lb_parse(table=254,epoch_table=32)"),
        (of.match(of.eth_type(0x0800)), of.lb_forward(),
         "lb_forward(eth_src=02:00:00:00:00:01,eth_dst=02:00:00:00:00:11,"
         "ip_src=10.0.0.1,ip_dst=10.0.0.2,base=20000,bits=0)"),
        (of.match(of.eth_type(0x86dd)),
         of.lb_forward(65535, 16, 3, ip_src=ip6, ip_dst=ip6[:-1] + b"\2"),
         "lb_forward(eth_src=02:00:00:00:00:01,eth_dst=02:00:00:00:00:11,"
         "ip_src=2001:db8::1,ip_dst=2001:db8::2,base=65535,bits=16,keep)"),
    ]
    with wire.connect(version) as c:
        for match, action, _ in cases:
            assert c.send(of.flow_mod(match, of.apply_actions(action),
                                      version=version)) == []
        assert sorted(f.actions for f in wire.flows("br0")) == sorted(
            text for _, _, text in cases)


IP = of.eth_type(0x0800)
V4_MAPPED = bytes(10) + b"\xff\xff\x0a\0\0\1"

MALFORMED = {
    "table 255": ([], of.lb_parse(255), of.BAD_ARGUMENT),
    "epoch table 255": ([], of.lb_parse(6, 1, 255), of.BAD_ARGUMENT),
    "unknown flag of lb_parse": ([], of.lb_parse(6, 2), of.BAD_ARGUMENT),
    "epoch table without its flag": ([], of.lb_parse(6, 0, 32),
                                     of.BAD_ARGUMENT),
    "padding of lb_parse": ([], of.lb_parse(6, zero=b"\0\1\0"),
                            of.BAD_ARGUMENT),
    "long lb_parse": ([], of.experimenter_action(
        b"\0\1\6\0\0\0\0\0" + bytes(8)), of.BAD_LEN),
    "unknown subtype": ([], of.experimenter_action(
        b"\0\3\6\0\0\0\0\0"), of.BAD_EXPERIMENTER_TYPE),
    "subtype 0": ([], of.experimenter_action(bytes(8)),
                  of.BAD_EXPERIMENTER_TYPE),
    "our action under Nicira's number": (
        [IP], of.experimenter_action(of.lb_forward()[8:], 0x2320),
        of.BAD_LEN),
    "bits 17": ([IP], of.lb_forward(bits=17), of.BAD_ARGUMENT),
    "bits 255": ([IP], of.lb_forward(bits=255), of.BAD_ARGUMENT),
    "unknown flag of lb_forward": ([IP], of.lb_forward(flags=4),
                                   of.BAD_ARGUMENT),
    "padding of lb_forward": ([IP], of.lb_forward(zero=b"\1" + bytes(5)),
                              of.BAD_ARGUMENT),
    "IPv4 source with a tail": (
        [IP], of.lb_forward(ip_src=b"\x0a\0\0\1" + bytes(11) + b"\1"),
        of.BAD_ARGUMENT),
    "IPv4 destination with a tail": (
        [IP], of.lb_forward(ip_dst=b"\x0a\0\0\1\1" + bytes(11)),
        of.BAD_ARGUMENT),
    "IPv4 as IPv6": (
        [of.eth_type(0x86dd)], of.lb_forward(flags=2, ip_src=V4_MAPPED,
                                             ip_dst=V4_MAPPED),
        of.BAD_ARGUMENT),
    "mixed families": (
        [of.eth_type(0x86dd)], of.lb_forward(flags=2, ip_src=V4_MAPPED,
                                             ip_dst=b"\x20" * 16),
        of.BAD_ARGUMENT),
    "short lb_forward": (
        [IP], of.experimenter_action(of.lb_forward()[8:-8]), of.BAD_LEN),
    "long lb_forward": (
        [IP], of.experimenter_action(of.lb_forward()[8:] + bytes(8)),
        of.BAD_LEN),
    "lb_forward without Ethernet type": ([], of.lb_forward(),
                                         of.MATCH_INCONSISTENT),
    "IPv4 lb_forward of ARP": ([of.eth_type(0x0806)], of.lb_forward(),
                               of.MATCH_INCONSISTENT),
    "IPv4 lb_forward of IPv6": ([of.eth_type(0x86dd)], of.lb_forward(),
                                of.MATCH_INCONSISTENT),
    "IPv6 lb_forward of IPv4": (
        [IP], of.lb_forward(flags=2, ip_src=b"\x20" * 16,
                            ip_dst=b"\x20" * 16), of.MATCH_INCONSISTENT),
    "set lb_tick": ([], of.set_field(of.lb_oxm(of.LB_TICK, 1)),
                    of.BAD_SET_ARGUMENT),
    "set lb_status": ([], of.set_field(of.lb_oxm(of.LB_STATUS, 1)),
                      of.BAD_SET_ARGUMENT),
}


@VERSIONS
@pytest.mark.parametrize("oxms, action, error", list(MALFORMED.values()),
                         ids=list(MALFORMED))
def test_malformed_actions(wire, version, oxms, action, error):
    with wire.connect(version) as c:
        assert c.send(of.flow_mod(
            of.match(*oxms), of.apply_actions(action, of.output(2)),
            version=version)) == [error]
    assert wire.flows("br0") == []


TICK = of.lb_oxm(of.LB_TICK, 1)
MALFORMED_MATCHES = {
    "field 0": of.lb_header(0, 1) + b"\0",
    "field 7": of.lb_header(7, 2) + b"\0\0",
    "tick of 4 bytes": of.lb_header(of.LB_TICK, 4) + bytes(4),
    "status of 2 bytes": of.lb_header(of.LB_STATUS, 2) + bytes(2),
    "tick that says it has a mask": of.lb_header(of.LB_TICK, 8, True)
    + bytes(8),
    "member twice": of.lb_oxm(of.LB_MEMBER, 1) * 2,
    "tick with and without mask": TICK + of.lb_oxm(of.LB_TICK, 1, 1),
    "value outside of its mask": of.lb_oxm(of.LB_TICK, 3, 1),
    "end in the header": TICK[:6],
    "end in the value": TICK[:12],
}


@VERSIONS
@pytest.mark.parametrize("oxms", list(MALFORMED_MATCHES.values()),
                         ids=list(MALFORMED_MATCHES))
def test_malformed_matches(wire, version, oxms):
    """All are errors of the match: OFPET_BAD_MATCH."""
    with wire.connect(version) as c:
        errors = c.send(of.flow_mod(of.match(oxms), version=version))
    assert [kind for kind, _ in errors] == [4]
    assert wire.flows("br0") == []


@VERSIONS
def test_random_messages_do_no_harm(wire, version):
    """Flow-mods and group-mods with random bytes in them: refused or taken,
    the switch lives, answers, and dumps what it took."""
    rng = random.Random(version)
    good = [of.flow_mod(of.match(*EVERY_FIELD), of.apply_actions(
        of.lb_parse(6, 1, 32)), version=version),
        of.flow_mod(of.match(IP), of.apply_actions(of.lb_forward()),
                    version=version)]
    if version == of.OF15:
        good.append(of.group_mod(7, [of.bucket(i) for i in range(4)],
                                 of.selection_method(0x08020000)))
    refused = 0
    with wire.connect(version) as c:
        for _ in range(600):
            m = bytearray(rng.choice(good))
            for _ in range(rng.choice((1, 2, 4))):
                m[rng.randrange(8, len(m))] = rng.getrandbits(8)
            refused += bool(c.send(bytes(m)))
        assert 50 < refused < 600
    wire.ofctl("dump-flows", "br0")
    wire.ofctl("dump-groups", "br0")


MEMBER = model.Member(4, "02:00:00:00:00:01", "02:00:00:00:00:11", "10.0.0.1",
                      "10.0.0.11", 20000, 4)
MEMBER6 = model.Member(6, "02:00:00:00:00:01", "02:00:00:00:00:11",
                       "2001:db8:2::1", "2001:db8:3::11", 20000, 4, True)


@pytest.fixture
def pipeline(br0):
    br0.add_group("br0", calendar(7, {1001 % 512: 5}))
    br0.add_flows("br0", *parse_flows(br0, "p2"), "table=32,actions=group:7",
                  *member_flows({5: {4: MEMBER, 6: MEMBER6}}, "p2"))
    return br0


PACKET_OUTS = {
    "through table 0": "resubmit(,0)",
    "by table": "table",
    "parsed by the packet-out itself": "lb_parse(table=6)",
    "from the parse table": "resubmit(,5)",
    "with the member written": "set_field:5->lb_member,resubmit(,8)",
    "with the member loaded": "load:5->EVLBOXM_LB_MEMBER[],resubmit(,8)",
    "a clone": "clone(lb_parse(table=6))",
}


@pytest.mark.parametrize("actions", list(PACKET_OUTS.values()),
                         ids=list(PACKET_OUTS))
@pytest.mark.parametrize("version", ["OpenFlow10", "OpenFlow13",
                                     "OpenFlow15"])
def test_packet_out(pipeline, actions, version):
    """Through all three passes, though no packet of the kind has come before,
    and again when one has."""
    frames = {4: event(4, port_select=3), 6: event(6, port_select=3)}
    for _ in range(2):
        for family, member in ((4, MEMBER), (6, MEMBER6)):
            pipeline.sent("p2")
            pipeline.ofctl("packet-out", "br0", "in_port=1 packet=%s "
                           "actions=%s" % (frames[family].hex(), actions),
                           version=version)
            got = pipeline.wait_for(lambda: pipeline.sent("p2"), actions)
            assert got == [model.forward(frames[family], member)]


@pytest.mark.parametrize("version", ["OpenFlow13", "OpenFlow15"])
def test_packet_out_forwards(pipeline, version):
    """lb_forward in the packet-out."""
    frame = event(4, port_select=9)
    pipeline.sent("p2")
    pipeline.ofctl("packet-out", "br0", "in_port=controller packet=%s "
                   "actions=%s,output:2" % (frame.hex(), MEMBER.action()),
                   version=version)
    got = pipeline.wait_for(lambda: pipeline.sent("p2"), "packet-out")
    assert got == [model.forward(frame, MEMBER)]


def test_packet_out_of_no_event(pipeline):
    """A packet-out that is no event packet meets the fault's flow."""
    frame = event(4, magic=1)
    pipeline.sent("p2")
    pipeline.ofctl("packet-out", "br0", "in_port=1 packet=%s "
                   "actions=lb_parse(table=6)" % frame.hex())
    got = pipeline.wait_for(lambda: pipeline.sent("p2"), "packet-out")
    assert [f[:6].hex() for f in got] == ["02ee00000005"]


@pytest.mark.parametrize("then", ["", ",output:2"])
def test_packet_out_that_forward_drops(pipeline, then):
    """lb_forward drops what is no event packet, also where the actions before
    it are executed by ovs-vswitchd itself, which owns the packet: it once
    ended by freeing it twice, or on an assertion."""
    echo = ("020000000001aa0000000001080045000022000100004001000000000000"
            "0a000001" "0800f7ff00000000" + 6 * "00")
    pipeline.sent("p2")
    pipeline.ofctl("packet-out", "br0", "in_port=1 packet=%s "
                   "actions=set_field:0->icmp_type,%s%s"
                   % (echo, MEMBER.action(), then))
    assert pipeline.forward("p1", [], "p2") == []
    pipeline.check_health()


def test_packet_out_takes_no_lb_fields(pipeline):
    """As with ct_state and its like, a packet-out cannot make them up."""
    for field in ("lb_member=5", "lb_tick=1", "lb_status=0"):
        with pytest.raises(CommandError, match="not a valid pipeline field"):
            pipeline.ofctl("packet-out", "br0", "in_port=1,%s packet=%s "
                           "actions=table" % (field, event(4).hex()))


class Monitor:
    """ovs-ofctl monitor, and what it has printed."""

    def __init__(self, ovs, version, *args):
        self.ovs = ovs
        self.file = ovs.path("monitor.out")
        self.ctl = ovs.path("monitor.ctl")
        self.process = subprocess.Popen(
            ("ovs-ofctl", "-O", version, "monitor", "br0", "--unixctl="
             + self.ctl) + args, env=ovs.env, stderr=subprocess.STDOUT,
            stdout=open(self.file, "w"))

    def __enter__(self):
        try:
            self.ovs.wait_for(lambda: self.ovs.answers(self.ctl),
                              "monitor starts")
            # It answers a barrier after it has set the connection up.
            self.ovs.unixctl(self.ctl, "ofctl/barrier", [])
        except Exception:
            self.__exit__()
            raise
        return self

    def __exit__(self, *args):
        self.process.kill()
        self.process.wait()
        os.unlink(self.ctl)

    def packet_ins(self, n):
        """Waits for 'n' packet-ins; returns their lines."""
        def lines():
            with open(self.file) as f:
                found = [line for line in f if "PACKET_IN" in line]
            return found if len(found) >= n else None
        return self.ovs.wait_for(lines, "%d packet-ins" % n)


@pytest.mark.parametrize("version, kind", [
    (version, kind) for version in ("OpenFlow10", "OpenFlow13", "OpenFlow15")
    for kind in ("standard", "nxt_packet_in", "nxt_packet_in2")
    # OpenFlow 1.0's own packet-in has no place for metadata.
    if (version, kind) != ("OpenFlow10", "standard")])
def test_packet_in(pipeline, version, kind):
    """A packet-in's metadata holds the fields, after the parse and after the
    calendar."""
    pipeline.add_flows("br0", "table=32,actions=controller,group:7",
                       "table=8,priority=40000,actions=controller",
                       "table=6,priority=40000,lb_status=5,actions=controller")
    with Monitor(pipeline, version, "65534", "-P", kind) as monitor:
        pipeline.receive("p1", [event(4, version=3, slot_select=1001,
                                      tick=0x123456789abcdef0,
                                      port_select=0xfff),
                                event(6, magic=7)])
        lines = monitor.packet_ins(3)
    fields = [dict(re.findall(r"\b(lb_\w+)=([^, ]+)", line))
              for line in lines]
    # Fields that are 0 are left out.  Each comes in its own time.
    assert sorted(fields, key=len) == [
        {"lb_status": "5"},
        {"lb_version": "3", "lb_member": "5"},
        {"lb_version": "3", "lb_tick": "0x123456789abcdef0",
         "lb_slot_select": "0x3e9", "lb_port_select": "0xfff"}]


@pytest.mark.parametrize("version", ["OpenFlow10", "OpenFlow13",
                                     "OpenFlow15"])
def test_pause_and_resume(pipeline, version):
    """The fields survive a pause at the controller: what stands behind it
    needs the tick, then the member."""
    pipeline.add_flows(
        "br0", "table=32,actions=controller(pause),resubmit(,33)",
        "table=33,lb_tick=0x3e9,lb_slot_select=0x3e9,actions=group:7",
        "table=8,priority=40000,ipv6,lb_member=5,actions=controller(pause),"
        "%s,output:p2" % MEMBER6.action())
    frames = [event(4), event(6)]
    with Monitor(pipeline, version, "resume", "-P", "nxt_packet_in2"):
        pipeline.sent("p2")
        pipeline.receive("p1", frames)
        got = []
        pipeline.wait_for(lambda: got.extend(pipeline.sent("p2"))
                          or len(got) == 2, "both resumed")
    assert sorted(got) == sorted([model.forward(frames[0], MEMBER),
                                  model.forward(frames[1], MEMBER6)])
