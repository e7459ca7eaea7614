# SPDX-License-Identifier: Apache-2.0
"""The account of the demo notices what goes wrong.

A run without faults is made up from an epoch log and a configuration; then
one thing at a time is changed in the logs, and the account must say so.
"""

import json
import os
import subprocess
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
ACCOUNT = os.path.join(TOP, "mininet", "account.py")
COLUMNS = ("time_ns", "version", "tick", "slot_select", "entropy", "data_id",
           "event_num", "offset", "size", "crc32c")
RECEIVED = ("time_ns", "port", "data_id", "event_num", "offset", "size",
            "crc32c", "status")

CONFIG = """
instances = ( { name = "other";
    members = ( { id = 1; base = 1; bits = 0; } ); epochs = (); },
  { name = "demo";   # A comment with { id = 9; base = 9; bits = 9; }
    members = ( { id = 1; base = 20000; bits = 2; },
                { id = 2; base = 65535; bits = 1; } );
    epochs = ( { id = 1; from = 0; members = ( { id = 1; weight = 1; } ); } );
  } );
"""
# Epoch 2 has 4 slots, member 2 has the odd ones; xor swaps 0 and 1, 2 and 3.
EPOCHS = [
    {"instance": "demo", "epoch": 1, "from": 0, "bits": 2, "xor": 0,
     "slots": [1, 1, 1, 1]},
    {"instance": "demo", "epoch": 2, "from": 100, "bits": 2, "xor": 1,
     "slots": [1, 2, 1, 2]},
    {"instance": "other", "epoch": 3, "from": 0, "bits": 0, "xor": 0,
     "slots": [7]},
]


def expected(packet):
    """Where a packet has to go: written out for this configuration only."""
    port_of_1 = 20000 + packet["entropy"] % 4
    if packet["tick"] < 100:
        return 1, port_of_1
    selector = (packet["tick"] if packet["version"] == 2
                else packet["slot_select"])
    if selector % 2:
        return 1, port_of_1
    return 2, (65535, 0)[packet["entropy"] % 2]


class Run:
    """The logs of a run."""

    def __init__(self):
        self.sent = []
        self.received = {1: [], 2: []}
        for tick in range(90, 110):
            for data_id in (1, 2):
                for offset in (0, 1000):
                    self.send({"time_ns": 1, "version": 1 + data_id,
                               "tick": tick, "slot_select": tick & 0xffff,
                               "entropy": data_id, "data_id": data_id,
                               "event_num": tick, "offset": offset,
                               "size": 1000, "crc32c": "%08x" % (
                                   tick * 10 + data_id)})

    def send(self, packet):
        """Adds a packet that arrives as it should."""
        self.sent.append(packet)
        member, port = expected(packet)
        self.received[member].append(dict(packet, port=port, status="ok"))

    def find(self, member, **fields):
        """Returns the packets that 'member' got with the given fields."""
        return [p for p in self.received[member]
                if all(p[name] == value for name, value in fields.items())]

    def account(self, directory):
        """Runs the account; returns (exit status, report)."""
        config = directory / "evlb.conf"
        config.write_text(CONFIG)
        epochs = directory / "epochs.json"
        epochs.write_text("".join(json.dumps(e) + "\n" for e in EPOCHS))
        write_log(directory / "sent.log", COLUMNS, self.sent)
        for member, packets in self.received.items():
            write_log(directory / ("received%d.log" % member), RECEIVED,
                      packets)
        output = directory / "report.json"
        result = subprocess.run(
            [sys.executable, ACCOUNT, "--config", str(config), "--instance",
             "demo", "--epochs", str(epochs), "--output", str(output),
             "--sent", str(directory / "sent.log"), "--received"]
            + ["%d=%s" % (member, directory / ("received%d.log" % member))
               for member in self.received],
            check=False, stdout=subprocess.PIPE, text=True)
        return result.returncode, json.loads(output.read_text())


def write_log(path, columns, packets):
    """Writes 'packets' as a sender or receiver does."""
    lines = ["\t".join(columns)]
    lines += ["\t".join(str(p[column]) for column in columns)
              for p in packets]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(name="run")
def fixture_run():
    """A run without faults."""
    return Run()


def check(run, directory, **faults):
    """Checks that the account finds 'faults' and nothing else."""
    status, report = run.account(directory)
    for name in ("lost", "misrouted", "duplicated", "foreign",
                 "split_events"):
        assert report[name] == faults.get(name, 0), name
    assert report["packets_in"] == len(run.sent)
    assert status == (1 if faults else 0)
    return report


def test_clean(run, tmp_path):
    report = check(run, tmp_path)
    assert report["packets_in"] == report["packets_out"] == 80
    assert report["events"] == 20
    shares = [{m: got["packets"] for m, got in e["members"].items()}
              for e in report["epochs"]]
    assert shares == [{"1": 40}, {"1": 20, "2": 20}]


def test_lost(run, tmp_path):
    run.received[1].pop()
    check(run, tmp_path, lost=1)


def test_lost_event(run, tmp_path):
    run.received[2] = [p for p in run.received[2] if p["tick"] != 104]
    check(run, tmp_path, lost=4)


def test_all_lost(run, tmp_path):
    run.received = {1: [], 2: []}
    check(run, tmp_path, lost=80)


def test_duplicated(run, tmp_path):
    run.received[1].append(dict(run.received[1][3]))
    check(run, tmp_path, duplicated=1)


def test_wrong_member_splits(run, tmp_path):
    """One packet of an event at another node: misrouted, and split."""
    packet = run.received[2].pop()
    packet["port"] = 20000 + packet["entropy"] % 4
    run.received[1].append(packet)
    check(run, tmp_path, misrouted=1, split_events=1)


def test_wrong_port_splits(run, tmp_path):
    """One packet of a bundle at another port of the right node."""
    run.received[1][0]["port"] += 1
    check(run, tmp_path, misrouted=1, split_events=1)


def test_whole_bundle_at_wrong_port(run, tmp_path):
    """Together, but not where the entropy says."""
    for packet in run.find(1, tick=91, data_id=2):
        packet["port"] = 20000
    check(run, tmp_path, misrouted=2)


def test_whole_event_at_wrong_member(run, tmp_path):
    """Together, but by the wrong epoch."""
    for packet in run.find(2, tick=100):
        run.received[2].remove(packet)
        packet["port"] = 20000 + packet["entropy"] % 4
        run.received[1].append(packet)
    check(run, tmp_path, misrouted=4)


def test_moved_boundary(run, tmp_path, monkeypatch):
    """The switch had another boundary than the record says."""
    monkeypatch.setitem(EPOCHS[1], "from", 105)
    # Ticks 100, 102, 104 are at member 2, and had to be at member 1.
    check(run, tmp_path, misrouted=12)


def test_slot_off_by_one(run, tmp_path, monkeypatch):
    monkeypatch.setitem(EPOCHS[1], "xor", 0)
    check(run, tmp_path, misrouted=40)


def test_foreign(run, tmp_path):
    """A packet that nobody sent, or whose data changed on the way."""
    run.received[1][0]["crc32c"] = "00000000"
    check(run, tmp_path, lost=1, foreign=1)


def test_nothing_sent(run, tmp_path):
    run.sent = []
    run.received = {1: [], 2: []}
    status, report = run.account(tmp_path)
    assert status == 1
    assert report["packets_in"] == 0
