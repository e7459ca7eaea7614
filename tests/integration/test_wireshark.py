# SPDX-License-Identifier: Apache-2.0

"""The Wireshark dissector in wireshark/evlb.lua, run by tshark over captures
that are made here: fields are compared with what went in, faults with what was
broken, and nothing that is cut short or garbled may raise an error in Lua."""

import json
import os
import random
import re
import socket
import struct
import subprocess

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import PcapWriter

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SCRIPT = os.path.join(TOP, "wireshark/evlb.lua")
SEND = os.path.join(TOP, "build/bin/evlb-send")
UDP_OFFSET = 14 + 20 + 8        # Of the datagram in a frame with IPv4.
ENVIRONMENT = dict(os.environ, HOME="/nonexistent", LC_ALL="C.UTF-8")

# ---------------------------------------------------------------------------
# Packets.


def lb_header(version=2, proto=1, slot=0, entropy=7, tick=1001,
              magic=0x4c42):
    return struct.pack(">HBBHHQ", magic, version, proto, slot, entropy, tick)


def re_header(data_id=5, offset=1436, length=10000, event=1001,
              start=0x1000):
    return struct.pack(">HHIIQ", start, data_id, offset, length, event)


def sync_datagram(source=17, tick=2**32, rate=1000,
                  ns=1704067200500000000, magic=0x4c43, version=2):
    return struct.pack(">HBBIQIQ", magic, version, 0, source, tick, rate, ns)


def frame(datagram, port=19522, network=IP(src="10.0.0.1", dst="10.0.0.2")):
    return (Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
            / network / UDP(sport=5000, dport=port) / Raw(datagram))


def write(path, frames, captured=None):
    """Writes 'frames', of each of which only the first 'captured' bytes were
    captured."""
    with PcapWriter(str(path), linktype=1) as writer:
        writer.write_header(None)
        for f in frames:
            data = bytes(f)
            writer.write_packet(data[:captured], wirelen=len(data))


def tshark(path, *arguments):
    done = subprocess.run(["tshark", "-n", "-X", "lua_script:" + SCRIPT,
                           "-r", str(path), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=True, env=ENVIRONMENT)
    assert "Lua" not in done.stderr
    assert "Lua Error" not in done.stdout
    return done.stdout


def dissect(path, frames, captured=None):
    """Returns the layers of each frame."""
    write(path, frames, captured)
    packets = json.loads(tshark(path, "-T", "json", "--no-duplicate-keys"))
    assert len(packets) == len(frames)
    return [packet["_source"]["layers"] for packet in packets]


def keys(tree):
    """Returns all names in 'tree'."""
    found = set()
    if isinstance(tree, dict):
        for name, value in tree.items():
            found.add(name)
            found |= keys(value)
    elif isinstance(tree, list):
        for value in tree:
            found |= keys(value)
    return found


def is_ours(layers):
    return any(name.startswith("evlb") for name in layers)


@pytest.fixture(name="pcap")
def fixture_pcap(tmp_path):
    return tmp_path / "test.pcap"


# ---------------------------------------------------------------------------
# Fields.


def lb_fields(version, proto, slot, entropy, tick):
    """What tshark must show of an LB header."""
    fields = {"evlb.magic": "0x4c42", "evlb.version": str(version),
              "evlb.proto": str(proto), "evlb.entropy": str(entropy),
              "evlb.tick": str(tick)}
    if version == 2:
        fields["evlb.reserved"] = "0x0000"
        fields["evlb.slot_select"] = str(tick % 65536)
    else:
        fields["evlb.slot_select"] = str(slot)
    return fields


def re_fields(data_id, offset, length, event, segment):
    fields = {"evlb.re.version": "1", "evlb.re.reserved": "0x0000",
              "evlb.re.data_id": str(data_id), "evlb.re.offset": str(offset),
              "evlb.re.length": str(length), "evlb.re.event": str(event),
              "evlb.re.segment_len": str(len(segment))}
    if segment:
        fields["evlb.re.segment"] = segment.hex(":")
    return fields


def random_packet(r):
    """Returns a random event packet's datagram and what is shown of it."""
    version = r.choice([2, 3])
    tick = r.choice([r.getrandbits(64), r.getrandbits(20), 0, 2**64 - 1])
    slot = r.getrandbits(16) if version == 3 else 0
    entropy = r.getrandbits(16)
    segment = r.randbytes(r.choice([0, 1, 100, 1400]))
    offset = r.choice([0, r.getrandbits(31), 2**32 - 1 - len(segment)])
    event = r.getrandbits(64)
    data_id = r.getrandbits(16)
    length = r.randint(offset + len(segment), 2**32 - 1)
    return (lb_header(version, 1, slot, entropy, tick)
            + re_header(data_id, offset, length, event) + segment,
            lb_fields(version, 1, slot, entropy, tick),
            re_fields(data_id, offset, length, event, segment))


@pytest.mark.parametrize("network", [
    IP(src="10.0.0.1", dst="10.0.0.2"), IPv6(src="fd00::1", dst="fd00::2")],
                         ids=["ipv4", "ipv6"])
def test_event_packets(pcap, network):
    r = random.Random(42)
    packets = [random_packet(r) for _ in range(300)]
    shown = dissect(pcap, [frame(p[0], r.choice([16384, 19522, 20001, 32767]),
                                 network) for p in packets])
    for layers, (_, lb, re_) in zip(shown, packets):
        assert layers["evlb"] == lb
        assert layers["evlb.re"] == re_


def test_what_members_get(pcap):
    """The LB header is gone; members listen on any port."""
    r = random.Random(43)
    packets = [random_packet(r) for _ in range(100)]
    packets = [p for p in packets
               if len(p[0]) > 36 or p[2]["evlb.re.length"] == "0"]
    shown = dissect(pcap, [frame(p[0][16:], r.choice([20000, 33000, 50000]))
                           for p in packets])
    for layers, (_, _, re_) in zip(shown, packets):
        assert "evlb" not in layers
        assert layers["evlb.re"] == re_


def test_sync(pcap):
    r = random.Random(44)
    values = [(17, 2**32, 1000, 1704067200500000000), (0, 0, 0, 0),
              (2**32 - 1, 2**64 - 1, 2**32 - 1, 4102444800999999999)]
    values += [(r.getrandbits(32), r.getrandbits(64), r.getrandbits(32),
                r.randrange(4 * 10**18)) for _ in range(50)]
    shown = dissect(pcap, [frame(sync_datagram(*v), r.choice([5001, 19531]))
                           for v in values])
    for layers, (source, tick, rate, ns) in zip(shown, values):
        time = layers["evlb.sync"].pop("evlb.sync.time")
        assert layers["evlb.sync"] == {
            "evlb.sync.magic": "0x4c43", "evlb.sync.version": "2",
            "evlb.sync.reserved": "0x00",
            "evlb.sync.source_id": str(source), "evlb.sync.tick": str(tick),
            "evlb.sync.rate": str(rate), "evlb.sync.unix_ns": str(ns)}
        assert ".%09d" % (ns % 10**9) in time
    assert "Jan  1, 2024 00:00:00.500000000 UTC" in tshark(pcap, "-V")


def wire_examples():
    """Returns (kind, fields, bytes) of the examples in docs/wire.md."""
    with open(os.path.join(TOP, "docs/wire.md"), encoding="utf-8") as doc:
        found = re.findall(r"^```wire (\w+) (.*)\n([0-9a-f \n]+)```$",
                           doc.read(), re.MULTILINE)
    return [(kind, dict(word.split("=") for word in words.split()),
             bytes.fromhex(data)) for kind, words, data in found]


def test_examples_of_the_document(pcap):
    names = {"lb": {"port_select": "entropy"}, "re": {"event_num": "event"},
             "sync": {"rate_hz": "rate"}}
    layer = {"lb": "evlb", "re": "evlb.re", "sync": "evlb.sync"}
    examples = wire_examples()
    assert {kind for kind, _, _ in examples} == set(names)
    shown = dissect(pcap, [
        frame(lb_header() + data if kind == "re" else data)
        if kind != "sync" else frame(data, 5001)
        for kind, _, data in examples])
    for layers, (kind, values, _) in zip(shown, examples):
        for name, value in values.items():
            full = "%s.%s" % (layer[kind], names[kind].get(name, name))
            assert layers[layer[kind]][full] == value


def test_what_evlb_send_sends(pcap):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        receiver.settimeout(10)
        subprocess.run([SEND, "--dest=127.0.0.1", "--events=5",
                        "--port=%d" % receiver.getsockname()[1],
                        "--event-size=3000", "--data-id=1-2",
                        "--lb-version=3", "--tick-start=70000"], check=True,
                       stdout=subprocess.DEVNULL)
        datagrams = [receiver.recv(65536)]
        receiver.settimeout(0.2)
        try:
            while True:
                datagrams.append(receiver.recv(65536))
        except TimeoutError:
            pass
    got = {}
    for layers in dissect(pcap, [frame(d) for d in datagrams]):
        lb, re_ = layers["evlb"], layers["evlb.re"]
        assert (lb["evlb.tick"], lb["evlb.version"]) == (
            re_["evlb.re.event"], "3")
        key = int(lb["evlb.tick"]), int(re_["evlb.re.data_id"])
        got[key] = got.get(key, 0) + int(re_["evlb.re.segment_len"])
    assert got == {(tick, data_id): 3000 for tick in range(70000, 70005)
                   for data_id in (1, 2)}


def test_filters(pcap):
    write(pcap, [frame(lb_header(tick=t) + re_header(data_id=d))
                 for t in (1001, 2**63) for d in (5, 6)]
          + [frame(sync_datagram(source=17), 5001)])
    for expression, n in [("evlb.tick == 1001", 2),
                          ("evlb.tick >= 1001 && evlb.re.data_id == 5", 2),
                          ("evlb.tick == 9223372036854775808", 2),
                          ("evlb", 4), ("evlb.sync", 1),
                          ("evlb.sync.source_id == 17", 1),
                          ("evlb.bad_version", 0)]:
        lines = tshark(pcap, "-Y", expression).splitlines()
        assert (expression, len(lines)) == (expression, n)


# ---------------------------------------------------------------------------
# What is not ours.


@pytest.mark.parametrize("datagram, port", [
    (lb_header() + re_header(), 16383),
    (lb_header() + re_header(), 32768),
    (b"LX" + lb_header()[2:] + re_header(), 20000),
    (b"", 20000),
    (b"", 19522),
    (b"L", 20000),
    (sync_datagram(version=1) + b"x", 5001),
    (b"LC", 5001),
    (re_header(length=1436) + b"x", 40000),
    (re_header(start=0x1001) + b"x", 40000),
    (re_header(), 40000),
    (re_header()[:19], 40000),
])
def test_not_ours(pcap, datagram, port):
    assert not is_ours(dissect(pcap, [frame(datagram, port)])[0])


# ---------------------------------------------------------------------------
# Faults.

FAULTS = [
    (lb_header() + re_header() + b"x", 19522, set(), "v2 tick 1001 entropy 7 "
     "event 1001 data 5 offset 1436+1/10000"),
    (lb_header(version=3, slot=9) + re_header() + b"x", 19522, set(),
     "v3 tick 1001 entropy 7 event 1001"),
    (b"L", 19522, {"evlb.short"}, "LB short"),
    (lb_header()[:15], 20000, {"evlb.short"}, "LB short"),
    (lb_header(magic=0x4c41), 19522, {"evlb.bad_magic"}, "LB bad magic"),
    (lb_header(version=1), 20000, {"evlb.bad_version"}, "LB bad version 1"),
    (lb_header(version=4), 20000, {"evlb.bad_version"}, "LB bad version 4"),
    (lb_header(version=255), 20000, {"evlb.bad_version"}, "bad version 255"),
    (lb_header(slot=1) + re_header(), 20000, {"evlb.bad_reserved"}, "event"),
    (lb_header(proto=2) + b"xyz", 20000, {"evlb.bad_proto"}, "entropy 7"),
    (lb_header(proto=0), 20000, {"evlb.bad_proto"}, "entropy 7"),
    (lb_header(), 20000, {"evlb.re.short"}, "entropy 7 RE short"),
    (lb_header() + re_header()[:19], 20000, {"evlb.re.short"}, "RE short"),
    (lb_header() + re_header(start=0x2000), 20000, {"evlb.re.bad_version"},
     "RE bad version"),
    (lb_header() + re_header(start=0x1001), 20000, {"evlb.re.bad_version"},
     "RE bad version"),
    (lb_header() + re_header(length=1436) + b"x", 20000, {"evlb.re.overrun"},
     "offset 1436+1/1436"),
    (lb_header() + re_header(offset=2**32 - 1, length=2**32 - 1) + b"x",
     20000, {"evlb.re.overrun"}, "offset 4294967295+1/4294967295"),
    (sync_datagram(), 5001, set(), "source 17 tick 4294967296 rate 1000"),
    (sync_datagram(version=1), 5001, {"evlb.sync.bad_version"},
     "Sync bad version 1"),
    (sync_datagram()[:27], 5001, {"evlb.sync.bad_length"},
     "Sync bad length 27"),
    (sync_datagram() + b"x", 5001, {"evlb.sync.bad_length"},
     "Sync bad length 29"),
]
FAULT_NAMES = {fault for _, _, faults, _ in FAULTS for fault in faults} | {
    "evlb.cut", "evlb.re.cut", "evlb.sync.cut", "evlb.sync.bad_magic"}


def test_all_faults_are_known():
    """The names above are all that the script has."""
    with open(SCRIPT, encoding="utf-8") as script:
        found = re.findall(r'{ "([a-z_.]+)", "[^"]+", "(?:MALFORMED|PROTOCOL|'
                           'UNDECODED)"', script.read())
    assert {"evlb." + name for name in found} == FAULT_NAMES


def test_faults(pcap):
    shown = dissect(pcap, [frame(d, port) for d, port, _, _ in FAULTS])
    lines = tshark(pcap).splitlines()
    for layers, line, (datagram, _, faults, info) in zip(shown, lines,
                                                         FAULTS):
        assert keys(layers) & FAULT_NAMES == faults, datagram
        assert info in line


def test_decode_as(pcap):
    """Who says that a port carries Sync sees bad magic there."""
    write(pcap, [frame(sync_datagram(magic=0x4c42), 5001)])
    assert "Sync bad magic" in tshark(pcap, "-d", "udp.port==5001,evlb.sync")


# ---------------------------------------------------------------------------
# Cut short, and garbled.

WHOLE = [(lb_header() + re_header() + b"xyz", 20000),
         (lb_header(version=3) + re_header() + b"xyz", 19522),
         (lb_header(proto=9) + b"xyz", 19522), (re_header() + b"xyz", 40000),
         (sync_datagram(), 5001)]


def test_captured_in_part(pcap):
    """Headers that were not captured whole are not called short."""
    for n in range(max(len(d) for d, _ in WHOLE) + 1):
        shown = dissect(pcap, [frame(*w) for w in WHOLE], UDP_OFFSET + n)
        for layers, (datagram, port) in zip(shown, WHOLE):
            faults = keys(layers) & FAULT_NAMES
            assert not {f for f in faults if f.endswith("short")}
            cut = any(f.endswith("cut") for f in faults)
            if is_ours(layers) and port != 40000:
                headers = (28 if port == 5001
                           else 16 if datagram[3] == 9 else 36)
                assert cut == (n < headers), (datagram, n)


def test_every_length(pcap):
    frames = [frame(d[:n], port) for d, port in WHOLE
              for n in range(len(d) + 1)]
    dissect(pcap, frames)


def test_garbled(pcap):
    """Bytes at random, behind what is taken for ours."""
    r = random.Random(45)
    starts = [(b"", 19522), (b"LB", 20000), (b"LB\2\1", 20000),
              (b"LB\3\1", 20000), (lb_header(), 20000), (b"LC\2", 5001),
              (re_header(), 40000)]
    frames = [frame(start + r.randbytes(r.randrange(80)), port)
              for start, port in starts for _ in range(100)]
    shown = dissect(pcap, frames)
    assert sum(map(is_ours, shown)) > 600
    for n in (UDP_OFFSET + i for i in (0, 1, 2, 3, 17, 40)):
        dissect(pcap, frames, n)
