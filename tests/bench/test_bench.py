# SPDX-License-Identifier: Apache-2.0
"""What the measurements stand on: prefixes, packets, figures, and the check of
a stream of packets."""

import json
import struct
import subprocess

import cases
import pipeline
import pytest
import report
import switch
import traffic


def inside(prefix, tick):
    value, length = prefix
    return length == 0 or tick >> (64 - length) == value >> (64 - length)


@pytest.mark.parametrize("begin, end", [(0, 1), (1, 64), (7, 100), (96, 128)])
def test_prefixes_are_the_range(begin, end):
    prefixes = pipeline.range_prefixes(begin, end)
    for tick in range(200):
        assert (sum(inside(p, tick) for p in prefixes)
                == (begin <= tick < end))


def test_stream_meets_every_prefix():
    for case in cases.cases_of(128):
        for epoch in case.epochs:
            for prefix in epoch:
                longer = [p for e in case.epochs for p in e
                          if p[1] > prefix[1]]
                assert any(inside(prefix, t)
                           and not any(inside(p, t) for p in longer)
                           for t in range(cases.FIRST,
                                          cases.FIRST + cases.SWEEP,
                                          case.every | 1)), (case.name, prefix)


@pytest.mark.parametrize("size", [58, 128, 1499, 9000])
def test_packet_has_right_lengths_and_checksums(size):
    packet = traffic.event_packet(size, sender=258, entropy=7)
    ip, udp = packet[14:34], packet[34:]
    assert len(packet) == size
    assert traffic.checksum(ip) == 0
    assert struct.unpack(">H", ip[2:4])[0] == size - 14
    length = struct.unpack(">H", udp[4:6])[0]
    assert length == size - 34
    pseudo = ip[12:20] + struct.pack(">HH", 17, length)
    assert traffic.checksum(pseudo + udp + bytes(length % 2)) == 0


def sample(cycles):
    return {"cycles": cycles, "mpps": 1000 / cycles, "passes": 1.0,
            "megaflows": [1, 0, 0], "upcalls": 1, "subtables": 1.0,
            "share": 0.99}


def samples(emc, none, smc):
    return {"emc": [sample(c) for c in emc], "none": [sample(c) for c in none],
            "smc": [sample(c) for c in smc]}


def test_cases_are_compared_by_median_and_best_setting():
    records = report.summarize({
        cases.Case("rewrite", 128): samples([90, 100, 900], [300], [200]),
        cases.Case("output", 128): samples([80], [50], [70]),
        cases.Case("rewrite", 1500): samples([400], [500], [600])})
    assert [(r["cache"], r["cycles"], r["ratio_to_rewrite"])
            for r in records] == [("emc", 100, 1.0), ("none", 50, 0.5),
                                  ("emc", 400, 1.0)]
    assert (records[0]["min"], records[0]["max"]) == (90, 900)


def test_builds_are_compared_setting_by_setting():
    records = report.summarize({
        cases.Case("rewrite-stock", 128): samples([100], [200], [300])})
    records += report.summarize({
        cases.Case("rewrite-patched", 128): samples([103], [200], [270])})
    report.relate(records, "-patched", "-stock")
    assert "ratio_to_stock" not in records[0]
    assert records[1]["ratio_to_stock"] == {"emc": 1.03, "none": 1.0,
                                            "smc": 0.9}


def test_table_lines_up():
    lines = report.table(report.summarize({
        cases.Case("rewrite", 128): samples([100], [200], [300]),
        cases.Case("output", 128): samples([8], [9], [10])}))
    column = lines[0].index("cycles") + len("cycles")
    assert [line[:column].split()[-1] for line in lines[2:]] == ["100", "8"]


def test_without_hugepages_there_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(switch, "HUGEPAGES", str(tmp_path / "none"))
    with pytest.raises(switch.Unavailable, match="no hugepages"):
        with switch.hugepages(2):
            pass


def test_hugepages_are_given_back(tmp_path, monkeypatch):
    pages = tmp_path / "nr_hugepages"
    pages.write_text("3")
    monkeypatch.setattr(switch, "HUGEPAGES", str(pages))
    with pytest.raises(ZeroDivisionError):
        with switch.hugepages(1 << 20):
            assert int(pages.read_text()) > 1 << 18
            raise ZeroDivisionError
    assert pages.read_text() == "3"


# The check of a stream.  Two epochs: the first has member 1 in each slot, the
# second, from tick 1000 on, member 2.


def sent_packet(tick, member, address=None, entropy=5, ttl=63):
    """What the switch sends to 'member' for an event packet with 'tick'."""
    packet = bytearray(traffic.event_packet(128, 0, entropy))
    packet[0:6] = traffic.mac_bytes(pipeline.member_mac(member))
    packet[22] = ttl
    packet[24:26] = bytes(2)
    packet[26:30] = traffic.ip_bytes(traffic.SWITCH_IP)
    packet[30:34] = traffic.ip_bytes(pipeline.member_ip(address or member))
    packet[24:26] = struct.pack(">H", traffic.checksum(packet[14:34]))
    packet[36:38] = struct.pack(">H", 17000 + 16 * member + 5)
    packet[50:58] = struct.pack(">Q", tick)
    return bytes(packet)


def check(tmp_path, *packets):
    """Returns what the checker counts in the two epochs."""
    with open(tmp_path / "epochs", "w") as f:
        for first, member in ((0, 1), (1000, 2)):
            print(first, *[member] * pipeline.SLOTS, file=f)
    with open(tmp_path / "sent", "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for packet in packets:
            f.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)))
            f.write(packet)
    done = subprocess.run(["build/bench/check-stream", tmp_path / "epochs",
                           tmp_path / "sent"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["epochs"]


def counts(**more):
    return {"packets": 0, "wrong_epoch": 0, "neither": 0, "malformed": 0,
            **more}


def test_right_members(tmp_path):
    assert check(tmp_path, sent_packet(5, 1), sent_packet(999, 1),
                 sent_packet(1000, 2), sent_packet(998, 1)) == [
        counts(packets=3), counts(packets=1)]


def test_wrong_epoch(tmp_path):
    assert check(tmp_path, sent_packet(999, 2), sent_packet(1000, 1)) == [
        counts(packets=1, wrong_epoch=1), counts(packets=1, wrong_epoch=1)]


def test_member_of_neither(tmp_path):
    assert check(tmp_path, sent_packet(1, 3), sent_packet(2000, 2)) == [
        counts(packets=1, neither=1), counts(packets=1)]


@pytest.mark.parametrize("fault", [{"address": 2}, {"ttl": 64},
                                   {"entropy": 6}])
def test_packet_that_fits_no_member(tmp_path, fault):
    assert check(tmp_path, sent_packet(1, 1, **fault)) == [
        counts(packets=1, malformed=1), counts()]


def test_damaged_capture_is_refused(tmp_path):
    with pytest.raises(AssertionError, match="damaged"):
        check(tmp_path, bytes(20))
