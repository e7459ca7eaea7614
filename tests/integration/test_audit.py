# SPDX-License-Identifier: Apache-2.0
"""The audit of captures notices what goes wrong.

A run without faults is made up, frame by frame; then one thing at a time is
changed in the capture or in what the ends say, and the audit must find it.
"""

import json
import os
import socket
import struct
import subprocess
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "mininet"))
import audit  # noqa: E402
import capture  # noqa: E402

CONFIG = """
instances = ( { name = "demo";
    members = ( { id = 1; ip = "10.0.0.101"; base = 20000; bits = 2; },
                { id = 2; ip = "fd00::102"; base = 65535; bits = 1; } );
    epochs = ( { id = 1; from = 0; members = ( { id = 1; weight = 1; } ); } );
  } );
"""
EPOCHS = [
    {"time": 1000.0, "instance": "demo", "epoch": 1, "from": 0, "bits": 2,
     "xor": 0, "slots": [1, 1, 1, 1]},
    {"time": 1000.5, "instance": "demo", "epoch": 2, "from": 100, "bits": 2,
     "xor": 1, "slots": [1, 2, 1, 2]},
]
DAQS = {11: "daq1", 12: "daq2"}
NODES = {21: 1, 22: 2}
ADDRESSES = {1: "10.0.0.101", 2: "fd00::102"}
IN, OUT = 0, 4
SECOND = 10**9


def expected(packet):
    """Where a packet has to go: written out for this configuration only."""
    if packet["tick"] < 100:
        return 1, 20000 + packet["entropy"] % 4
    selector = (packet["tick"] if packet["version"] == 2
                else packet["slot"])
    if selector % 2:
        return 1, 20000 + packet["entropy"] % 4
    return 2, (65535, 0)[packet["entropy"] % 2]


def ip_packet(address, port, payload):
    """Returns an IP packet with a UDP datagram."""
    udp = struct.pack(">HHHH", 777, port, 8 + len(payload), 0) + payload
    if ":" in address:
        return 0x86dd, (struct.pack(">IHBB", 6 << 28, len(udp), 17, 64)
                        + bytes(16) + socket.inet_pton(socket.AF_INET6,
                                                       address) + udp)
    return 0x0800, (struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0x4000,
                                64, 17, 0) + bytes(4)
                    + socket.inet_aton(address) + udp)


class Frame:
    """A packet in the capture."""

    def __init__(self, when, interface, kind, address, port, payload):
        self.when = when
        self.interface = interface
        self.kind = kind
        self.address = address
        self.port = port
        self.payload = payload

    def record(self):
        """Returns it as it is in the file."""
        ethertype, packet = ip_packet(self.address, self.port, self.payload)
        frame = (struct.pack(">HHIHBB8s", ethertype, 0, self.interface, 1,
                             self.kind, 6, b"") + packet)
        kept = frame[:capture.SNAP]
        return struct.pack("<IIII", self.when // SECOND, self.when % SECOND,
                           len(kept), len(frame)) + kept


class Run:
    """What is left of a run."""

    def __init__(self):
        self.frames = []
        self.drops = 0
        self.senders = {name: 0 for name in DAQS.values()}
        self.logs = {1: [], 2: []}
        self.received = {1: {}, 2: {}}
        # 10 ms from event to event; the second source is 1 s behind.
        for tick in range(0, 200):
            for data_id, interface in ((1, 11), (2, 12)):
                for offset in (0, 1000):
                    self.send(interface, {
                        "version": 1 + data_id, "tick": tick,
                        "slot": tick & 0xffff if data_id == 1 else tick % 4,
                        "entropy": 7 * data_id + tick, "data_id": data_id,
                        "offset": offset,
                        "time": 1000 * SECOND + tick * SECOND // 100
                                + (data_id - 1) * SECOND + offset})

    def send(self, interface, p):
        """Adds a packet that arrives as it should."""
        event = (struct.pack(">HHIIQ", 0x1000, p["data_id"], p["offset"],
                             2000, p["tick"])
                 + b"%09d" % (p["tick"] * 10 + p["data_id"]) * 100)
        header = struct.pack(">2sBBHHQ", b"LB", p["version"], 1, p["slot"],
                             p["entropy"], p["tick"])
        member, port = expected(p)
        self.frames.append(Frame(p["time"], interface, IN, "10.0.0.1", 19522,
                                 header + event))
        self.frames.append(Frame(p["time"] + 30000, 20 + member, OUT,
                                 ADDRESSES[member], port, event))
        self.senders[DAQS[interface]] += 1
        self.logs[member].append((port, p["data_id"], p["tick"], p["offset"]))

    def out(self, tick, n=0):
        """Returns the n-th frame that came out of an event."""
        return [f for f in self.frames if f.kind == OUT and struct.unpack_from(
            ">Q", f.payload, 12)[0] == tick][n]

    def write(self, directory):
        """Writes all files."""
        def put(name, text):
            (directory / name).write_text(text)
        put("evlb.conf", CONFIG)
        put("epochs.json", "".join(json.dumps(e) + "\n" for e in EPOCHS))
        with open(directory / "capture.pcap", "wb") as out:
            out.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 256,
                                  capture.LINKTYPE_COOKED2))
            for frame in sorted(self.frames, key=lambda f: f.when):
                out.write(frame.record())
        for name, n in self.senders.items():
            put(name + ".out", "evlb-send: 1 s\n" + json.dumps(
                {"packets": n, "events": n // 2, "bundles": n // 2,
                 "overtaken": 0}, indent=1))
        for member, log in self.logs.items():
            report = {"packets": len(log), "kernel_drops": 0, "reordered": 0,
                      "port_changes": 0,
                      "verdicts": {"ok": len(log), "corrupt": 0,
                                   "duplicate": 0, "late_complete": 0,
                                   "late_incomplete": 0},
                      "events": {"complete": len(log) // 2, "corrupt": 0,
                                 "expired": 0, "evicted": 0, "unfinished": 0,
                                 "foreign": 0}}
            for path, value in self.received[member].items():
                group, _, field = path.rpartition(".")
                (report[group] if group else report)[field] = value
            put("cn%d.out" % member, json.dumps(report))
            put("cn%d.tsv" % member, "port\tdata_id\tevent_num\toffset\n"
                + "".join("\t".join(map(str, row)) + "\n" for row in log))
        put("run.json", json.dumps({
            "instance": "demo", "config": "evlb.conf",
            "epochs": "epochs.json", "capture": "capture.pcap",
            "capture_drops": self.drops, "n_epochs": 2, "lead_seconds": 0.3,
            "upcalls": [0, 5, 9], "sources": DAQS, "nodes": NODES,
            "names": {1: "cn1", 2: "cn2"}, "versions": {},
            "senders": {name: name + ".out" for name in DAQS.values()},
            "receivers": {m: {"report": "cn%d.out" % m, "log": "cn%d.tsv" % m}
                          for m in self.logs}}))

    def audit(self, directory):
        """Runs the audit; returns (exit status, report)."""
        self.write(directory)
        report = directory / "report.json"
        result = subprocess.run(
            [sys.executable, os.path.join(TOP, "mininet", "audit.py"),
             str(directory / "run.json"), "--output", str(report)],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)
        assert report.exists(), result.stdout
        return result.returncode, json.loads(report.read_text())


@pytest.fixture(name="run")
def fixture_run():
    """A run without faults."""
    return Run()


COUNTS = ("lost", "wrong_node", "wrong_port", "duplicated", "foreign",
          "split_events")


def check(run, directory, fault=None, **counts):
    """Checks that the audit counts 'counts' and nothing else, and that
    'fault' is among its faults."""
    status, report = run.audit(directory)
    assert {name: report[name] for name in COUNTS if report[name]} == counts
    assert status == (1 if counts or fault else 0), report["faults"]
    assert bool(report["faults"]) == bool(status)
    if fault:
        assert any(fault in text for text in report["faults"]), \
            report["faults"]
    return report


def test_clean(run, tmp_path):
    report = check(run, tmp_path)
    assert report["packets_in"] == report["packets_out"] == 800
    assert report["events"] == 200
    shares = [{m: got["events"] for m, got in e["members"].items()}
              for e in report["epochs"]]
    assert shares == [{"1": 100}, {"1": 50, "2": 50}]
    change, = report["changes"]
    # The first source is at tick 100 after a second, committed at half of it.
    assert change["lead_seconds"] == 0.5
    # From then on the second one is at ticks before, for a second.
    assert 0.97 < change["interleave_seconds"] < 1
    assert change["upcalls"] == 4
    assert report["upcalls"] == 9


def test_lost(run, tmp_path):
    """The node did not get it either: the ends agree with the capture."""
    frame = run.out(150)
    run.frames.remove(frame)
    member = NODES[frame.interface]
    run.logs[member].remove(next(row for row in run.logs[member]
                                 if row[2] == 150))
    check(run, tmp_path, lost=1)


def test_lost_behind_the_switch(run, tmp_path):
    run.logs[1].pop()
    check(run, tmp_path, fault="cn1: packets captured and not received is 1")


def test_wrong_node(run, tmp_path):
    frame = run.out(50)
    frame.interface, frame.address = 22, ADDRESSES[2]
    check(run, tmp_path, wrong_node=1, split_events=1)


def test_wrong_address(run, tmp_path):
    """Out of the right port of the switch, but to another's address."""
    run.out(50).address = "10.0.0.102"
    check(run, tmp_path, wrong_node=1, split_events=1)


def test_wrong_udp_port(run, tmp_path):
    run.out(50).port ^= 1
    check(run, tmp_path, wrong_port=1, split_events=1)


def test_out_at_a_source(run, tmp_path):
    """A packet that is flooded as well."""
    frame = run.out(50)
    run.frames.append(Frame(frame.when, 12, OUT, frame.address, frame.port,
                            frame.payload))
    check(run, tmp_path, wrong_node=1, duplicated=1, split_events=1)


def test_duplicated(run, tmp_path):
    run.frames.append(run.out(50))
    check(run, tmp_path, duplicated=1)


def test_header_left_on(run, tmp_path):
    frame = run.out(50)
    frame.payload = struct.pack(">2sBBHHQ", b"LB", 2, 1, 0, 0, 50) \
        + frame.payload
    check(run, tmp_path, wrong_node=1, split_events=1)


def test_data_changed(run, tmp_path):
    frame = run.out(50)
    frame.payload = frame.payload[:25] + b"x" + frame.payload[26:]
    check(run, tmp_path, lost=1, foreign=1)


def test_cut_short(run, tmp_path):
    frame = run.out(50)
    frame.payload = frame.payload[:-1]
    check(run, tmp_path, lost=1, foreign=1)


def test_capture_lost_packets(run, tmp_path):
    run.drops = 2
    check(run, tmp_path, fault="packets lost by tcpdump is 2")


def test_sender_sent_more(run, tmp_path):
    run.senders["daq2"] += 1
    check(run, tmp_path, fault="daq2: packets sent is 401, not 400")


@pytest.mark.parametrize("field, words", [
    ("verdicts.corrupt", "cn2: corrupt is 1"),
    ("verdicts.duplicate", "cn2: duplicate is 1"),
    ("events.expired", "cn2: incomplete is 1"),
    ("events.foreign", "cn2: foreign is 1"),
    ("kernel_drops", "cn2: kernel_drops is 1"),
    ("port_changes", "cn2: port_changes is 1"),
])
def test_receiver_complains(run, tmp_path, field, words):
    run.received[2][field] = 1
    check(run, tmp_path, fault=words)


def test_late_commit(run, tmp_path, monkeypatch):
    monkeypatch.setitem(EPOCHS[1], "time", 1000.8)
    check(run, tmp_path, fault="epoch 2: committed only 0.2")


def test_not_mixed(run, tmp_path):
    """The second source is as far as the first."""
    for frame in run.frames:
        if frame.payload[-900:-891].endswith(b"2"):
            frame.when -= SECOND
    check(run, tmp_path, fault="came mixed for 0.0")


def test_epoch_without_event(run, tmp_path, monkeypatch):
    monkeypatch.setitem(EPOCHS[1], "from", 2**20)
    status, report = run.audit(tmp_path)
    assert status == 1
    assert "epoch 2: no event" in report["faults"]


def test_upcalls_over_the_bound(run, tmp_path):
    run.write(tmp_path)
    path = tmp_path / "run.json"
    # Two sources, blocks [0,64) [64,96) [96,100) and some beyond, 2 members.
    text = path.read_text()
    path.write_text(text.replace("[0, 5, 9]", "[0, 5, 500]"))
    result = audit.Audit(str(path)).report()
    assert any("495 upcalls after the change, over the bound"
               in fault for fault in result["faults"])


def test_shares_not_the_calendars(run, tmp_path):
    """All goes where it has to, but ticks meet some slots only."""
    run.frames = [f for f in run.frames if struct.unpack_from(
        ">Q", f.payload, 12 + (16 if f.kind == IN else 0))[0] < 100
        or f.interface != 22 and not (f.kind == IN and expected_in(f) == 2)]
    _, report = run.audit(tmp_path)
    assert [f for f in report["faults"] if "of the events" in f] == [
        "epoch 2: member 1 got 100.00% of the events, not 50.00%",
        "epoch 2: member 2 got 0.00% of the events, not 50.00%"]


def expected_in(frame):
    """Returns the member that a frame on its way in has to go to."""
    version = frame.payload[2]
    slot, entropy, tick = struct.unpack_from(">HHQ", frame.payload, 4)
    return expected({"version": version, "slot": slot, "entropy": entropy,
                     "tick": tick})[0]


def test_bad_captures(run, tmp_path):
    run.write(tmp_path)
    path = tmp_path / "capture.pcap"
    whole = path.read_bytes()
    for data, words in ((whole[:10], "it is no capture"),
                        (b"x" * 100, "no capture of cooked frames"),
                        (whole[:-1], "in the middle of a packet")):
        path.write_bytes(data)
        with pytest.raises(capture.CaptureError, match=words):
            list(capture.read_pcap(str(path)))


def test_drops_of_tcpdump():
    text = ("10 packets captured\n%d packets received by filter\n"
            "%d packets dropped by kernel\n")
    assert capture.parse_drops(text % (10, 0)) == 0
    assert capture.parse_drops(text % (13, 2)) == 5
    with pytest.raises(capture.CaptureError):
        capture.parse_drops("tcpdump: no such device")


def test_blocks():
    assert list(audit.blocks(0, 8)) == [(0, 7)]
    assert list(audit.blocks(5, 16)) == [(5, 5), (6, 7), (8, 15)]
    assert list(audit.blocks(8, 13)) == [(8, 11), (12, 12)]
    assert list(audit.blocks(2**64 - 1, 2**64)) == [(2**64 - 1, 2**64 - 1)]
    assert list(audit.blocks(0, 2**64)) == [(0, 2**64 - 1)]
    assert audit.count_met(5, 16, [5, 9, 10, 30]) == 2


def test_longest_mix():
    mixed = [(10**9 * i, i % 2) for i in range(10)]
    assert audit.longest_mix(mixed, 1, 2) == (8.0, 9)
    # One late packet of the old side far behind makes no long mix.
    assert audit.longest_mix([(0, 0), (1, 1)] + [(2 + i, 1) for i in
                                                 range(100)]
                             + [(10**9, 0)], 1, 10) == (0.0, 1)
    assert audit.longest_mix([(0, 0), (10**9, 1)], 1, 10) == (0.0, 1)
    assert audit.longest_mix([], 1, 10) == (0.0, 0)
