# SPDX-License-Identifier: Apache-2.0

"""evlb-send and evlb-recv over loopback: every packet that one logs, the other
must have seen, and what travels must be what docs/wire.md says.  The headers,
the event data and the checksums are made here a second time, from that
document alone."""

import collections
import csv
import json
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import time

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SEND = os.path.join(TOP, "build/bin/evlb-send")
RECV = os.path.join(TOP, "build/bin/evlb-recv")
TIMEOUT = 60
LOOPBACKS = ["127.0.0.1", "::1"]
M64 = 2**64 - 1
IP_RECVTTL = 12             # Not in Python's socket module.

# ---------------------------------------------------------------------------
# The formats, a second time.


def lb_header(version, tick, slot=0, entropy=0, proto=1):
    return struct.pack(">HBBHHQ", 0x4c42, version, proto, slot, entropy, tick)


def re_header(data_id, offset, length, event_num):
    return struct.pack(">BBHIIQ", 0x10, 0, data_id, offset, length, event_num)


def mix(x):
    x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & M64
    x = ((x ^ x >> 27) * 0x94d049bb133111eb) & M64
    return x ^ x >> 31


def event_data(data_id, event_num, length):
    """The data of an event of evlb-send."""
    seed = mix((mix(data_id << 32 | length) + event_num) & M64)
    words = (mix((seed + (k + 1) * 0x9e3779b97f4a7c15) & M64)
             for k in range((length + 7) // 8))
    return b"".join(struct.pack(">Q", word) for word in words)[:length]


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def segment(data_id, event_num, length, offset, size):
    """A good datagram for a node, without LB header."""
    data = event_data(data_id, event_num, length)[offset:offset + size]
    return re_header(data_id, offset, length, event_num) + data


# ---------------------------------------------------------------------------
# Helpers.


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def udp_socket(address, port=0):
    sock = socket.socket(family(address), socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.bind((address, port))
    sock.settimeout(TIMEOUT)
    return sock


def free_ports(address, n):
    """Returns the first of 'n' ports in a row that nobody uses."""
    for _ in range(100):
        base = random.randrange(20000, 30000)
        socks = []
        try:
            for port in range(base, base + n):
                socks.append(udp_socket(address, port))
            return base
        except OSError:
            pass
        finally:
            for sock in socks:
                sock.close()
    raise RuntimeError("no free ports")


def send(*args, check=True):
    result = subprocess.run([SEND, "--quiet", *map(str, args)], check=False,
                            capture_output=True, text=True, timeout=TIMEOUT)
    if check:
        assert result.returncode == 0, result.stderr
    return result


def rows(path):
    with open(path, encoding="ascii", newline="") as log:
        return list(csv.DictReader(log, delimiter="\t"))


class Receiver:
    """A running evlb-recv, with logs in 'directory'."""

    def __init__(self, directory, address, *args, n_ports=1):
        self.address = address
        self.base = free_ports(address, n_ports)
        self.log = directory / "recv.log"
        self.event_log = directory / "events.log"
        ready = directory / "ready"
        self.process = subprocess.Popen(
            [RECV, "--quiet", "--json", "--listen", address,
             "--port", str(self.base), "--ports", str(n_ports),
             "--log", self.log, "--event-log", self.event_log,
             "--ready-file", ready, *map(str, args)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + TIMEOUT
        while not (ready.exists() and ready.read_text()):
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def inject(self, *datagrams, port=0):
        """Sends datagrams of our own to it."""
        with socket.socket(family(self.address), socket.SOCK_DGRAM) as sock:
            for datagram in datagrams:
                sock.sendto(datagram, (self.address, self.base + port))

    def report(self, end=signal.SIGTERM):
        """Lets it end and returns its report."""
        if end:
            self.process.send_signal(end)
        out, err = self.process.communicate(timeout=TIMEOUT)
        assert self.process.returncode == 0, err
        assert err == ""
        return json.loads(out)

    def packets(self):
        return rows(self.log)

    def events(self):
        return rows(self.event_log)


@pytest.fixture
def receiver(tmp_path):
    """Starts receivers that do not outlive the test."""
    started = []

    def start(*args, **kwargs):
        started.append(Receiver(tmp_path, *args, **kwargs))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.process.kill()
            running.process.communicate()


def nonzero(report):
    """The verdicts that packets got."""
    return {word: n for word, n in report["verdicts"].items() if n}


# ---------------------------------------------------------------------------
# Sender to receiver.

SHARED = ["version", "tick", "slot_select", "entropy", "data_id", "event_num",
          "offset", "size", "length", "source_port", "port", "crc32c"]


def shared(log):
    return collections.Counter(
        tuple(row[column] for column in SHARED) for row in log)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("address", LOOPBACKS)
def test_all_packets_accounted_for(address, version, receiver, tmp_path):
    recv = receiver(address, "--keep", n_ports=4)
    sent = json.loads(send(
        "--dest", address, "--port", f"{recv.base}-{recv.base + 3}",
        "--lb-version", version, "--events", 400, "--event-size", "0-9000",
        "--data-id", "3-4", "--sockets", 3, "--entropy", "random",
        "--tick-start", 2**63, "--tick-step", 1000, "--rate", 2000,
        "--json", "--log", tmp_path / "send.log").stdout)
    got = recv.report()

    assert sent["ok"] and got["ok"]
    assert sent["events"] == 400 and sent["bundles"] == 800
    assert sent["first_tick"] == 2**63
    assert sent["last_tick"] == 2**63 + 399000
    assert len(sent["source_ports"]) == 3

    # Counters agree with each other...
    assert got["packets"] == sent["packets"]
    assert nonzero(got) == {"ok": sent["packets"]}
    assert got[f"lb_v{version}"] == sent["packets"]
    assert got[f"lb_v{5 - version}"] == 0
    assert got["events"]["complete"] == 800
    assert got["events"]["complete_bytes"] == sent["data_bytes"]
    assert got["kernel_drops"] == got["port_changes"] == 0
    assert sum(port["packets"] for port in got["ports"]) == sent["packets"]
    assert {source["data_id"]: source["complete"]
            for source in got["sources"]} == {3: 400, 4: 400}

    # ... and with the logs, which agree packet by packet.
    send_log, recv_log = rows(tmp_path / "send.log"), recv.packets()
    assert len(send_log) == sent["packets"]
    assert shared(send_log) == shared(recv_log)
    assert {row["status"] for row in recv_log} == {"ok"}
    assert {row["source"] for row in recv_log} == {address}
    assert {row["source_port"] for row in send_log} \
        == {str(port) for port in sent["source_ports"]}

    # Each event of each source is there once.
    events = collections.Counter((row["data_id"], row["event_num"])
                                 for row in recv.events())
    assert events == {(str(data_id), str(2**63 + 1000 * k)): 1
                      for data_id in (3, 4) for k in range(400)}
    assert {row["status"] for row in recv.events()} == {"complete"}


def test_log_times(receiver, tmp_path):
    """Times are ns since 1970, taken when packets are sent and arrive."""
    recv = receiver("127.0.0.1", "--keep")
    before = time.time_ns()
    send("--dest", "127.0.0.1", "--port", recv.base, "--events", 5,
         "--rate", 10, "--event-size", 2000, "--log", tmp_path / "send.log")
    after = time.time_ns()
    recv.report()
    for log in (rows(tmp_path / "send.log"), recv.packets(), recv.events()):
        times = [int(row["time_ns"]) for row in log]
        assert times == sorted(times)
        assert before <= times[0] and times[-1] <= after
        assert times[-1] - times[0] >= 350_000_000
    for row in recv.events():
        assert int(row["opened_ns"]) <= int(row["time_ns"])
        assert int(row["segments"]) == 2


def test_port_selector_checked(receiver):
    """Only packets at the port that their port selector asks for are right."""
    recv = receiver("127.0.0.1", "--keep", n_ports=4)
    for entropy in (5, 6):
        send("--dest", "127.0.0.1", "--port", recv.base + 1, "--events", 10,
             "--event-size", 10, "--entropy", entropy, "--event-start",
             100 * entropy)
    got = recv.report()
    assert got["packets"] == 20
    assert got["wrong_port"] == 10
    assert [port["packets"] for port in got["ports"]] == [0, 20, 0, 0]


def test_large_packets(receiver):
    recv = receiver("::1", "--keep")
    sent = json.loads(send(
        "--dest", "[::1]", "--port", recv.base, "--events", 20, "--mtu", 9000,
        "--event-size", 100000, "--rate", 200, "--json").stdout)
    got = recv.report()
    assert sent["packets"] == 20 * 12     # 8916 bytes of data in each.
    assert sent["ip_bytes"] == 20 * (100000 + 12 * 84)
    assert got["events"]["complete"] == 20


def test_reorder(receiver, tmp_path):
    """Packets overtake each other, as far as asked for, also those of other
    events; all the same events are there."""
    args = ["--events", 200, "--event-size", "1000-9000", "--data-id", "1-2",
            "--rate", 2000, "--json"]
    with udp_socket("127.0.0.1") as sock:
        send("--dest", "127.0.0.1", "--port", sock.getsockname()[1], *args,
             "--log", tmp_path / "straight.log")
    recv = receiver("127.0.0.1", "--keep")
    sent = json.loads(send(
        "--dest", "127.0.0.1", "--port", recv.base, *args, "--reorder", 20,
        "--log", tmp_path / "send.log").stdout)
    got = recv.report()
    assert nonzero(got) == {"ok": sent["packets"]}
    assert got["events"]["complete"] == 400

    def identity(row):
        return row["data_id"], row["tick"], row["offset"], row["crc32c"]

    straight = {identity(row): position for position, row
                in enumerate(rows(tmp_path / "straight.log"))}
    order = [straight.pop(identity(row))
             for row in rows(tmp_path / "send.log")]
    assert not straight
    assert got["reordered"] > 0
    assert sent["overtaken"] == sum(
        position < max(order[:i], default=0)
        for i, position in enumerate(order)) > 200
    for i, position in enumerate(order):
        assert sum(other > position for other in order[:i]) <= 20
    log = rows(tmp_path / "send.log")
    assert any(int(a["tick"]) > int(b["tick"]) for a, b in zip(log, log[1:]))


# ---------------------------------------------------------------------------
# What is on the wire.


@pytest.mark.parametrize("address", LOOPBACKS)
def test_bytes_on_the_wire(address):
    with udp_socket(address) as sock:
        port = sock.getsockname()[1]
        send("--dest", address, "--port", port, "--lb-version", 3, "--events",
             3, "--event-size", 250, "--data-id", 9, "--mtu", 184,
             "--tick-start", 0x1122334455667788, "--slot-select", 489,
             "--entropy", 7, "--event-start", 70)
        room = 100 if address == "::1" else 120
        for event in range(3):
            data = event_data(9, 70 + event, 250)
            for offset in range(0, 250, room):
                assert sock.recv(65536) == (
                    lb_header(3, 0x1122334455667788 + event, 489, 7)
                    + re_header(9, offset, 250, 70 + event)
                    + data[offset:offset + room])


def test_version_2_on_the_wire():
    with udp_socket("127.0.0.1") as sock:
        send("--dest", "127.0.0.1", "--port", sock.getsockname()[1],
             "--events", 2, "--event-size", 5, "--tick-start", 1001)
        for tick in (1001, 1002):
            assert sock.recv(65536) == (lb_header(2, tick, 0, 1)
                                        + segment(1, tick, 5, 0, 5))


def test_log_checksum(tmp_path):
    with udp_socket("127.0.0.1") as sock:
        send("--dest", "127.0.0.1", "--port", sock.getsockname()[1],
             "--events", 2, "--event-size", 3000, "--log",
             tmp_path / "send.log")
        for row in rows(tmp_path / "send.log"):
            data = sock.recv(65536)[36:]
            assert int(row["crc32c"], 16) == crc32c(data)
            assert int(row["size"]) == len(data)


def test_ip_header_fields():
    """TTL, DSCP, source address and source ports are as asked for."""
    with udp_socket("127.0.0.1") as sock:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        sock.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
        base = free_ports("127.0.0.9", 2)
        send("--dest", "127.0.0.1", "--port", sock.getsockname()[1],
             "--events", 4, "--event-size", 1, "--ttl", 7, "--dscp", 46,
             "--source", "127.0.0.9", "--source-port", base, "--sockets", 2)
        for event in range(4):
            _, control, _, source = sock.recvmsg(65536, 1024)
            values = {kind: int.from_bytes(value, "little")
                      for _, kind, value in control}
            assert values[socket.IP_TTL] == 7
            assert values[socket.IP_TOS] == 46 << 2
            assert source == ("127.0.0.9", base + event % 2)


def test_tick_clock():
    with udp_socket("127.0.0.1") as sock:
        before = time.time_ns() // 1000
        send("--dest", "127.0.0.1", "--port", sock.getsockname()[1],
             "--events", 100, "--event-size", 1, "--tick-clock")
        after = time.time_ns() // 1000
        ticks = [int.from_bytes(sock.recv(65536)[8:16], "big")
                 for _ in range(100)]
        assert before <= ticks[0] and ticks[-1] <= after + 100
        assert all(a < b for a, b in zip(ticks, ticks[1:]))


def receive_syncs(sock, seconds):
    """Returns the Sync datagrams that come within 'seconds', with times."""
    syncs = []
    end = time.monotonic() + seconds
    while select.select([sock], [], [], max(0, end - time.monotonic()))[0]:
        datagram = sock.recv(65536)
        assert len(datagram) == 28
        syncs.append((time.time_ns(),
                      *struct.unpack(">HBBIQIQ", datagram)))
    return syncs


def test_sync():
    with udp_socket("127.0.0.1") as sock, udp_socket("::1") as sync:
        command = [SEND, "--quiet", "--dest", "127.0.0.1", "--port",
                   str(sock.getsockname()[1]), "--events", "150",
                   "--event-size", "1", "--rate", "100", "--tick-start",
                   "5000", "--tick-step", "10", "--data-id", "77", "--sync",
                   f"[::1]:{sync.getsockname()[1]}"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            syncs = receive_syncs(sync, 3.2)
            assert process.wait(TIMEOUT) == 0
        first = sock.recv(65536)

    # One before the first event, then one a second: 1 s of lead, 1.5 s of
    # events.
    assert len(syncs) == 3
    for now, magic, version, reserved, source, _, rate, unix_ns in syncs:
        assert (magic, version, reserved, source) == (0x4c43, 2, 0, 77)
        assert rate == 1000               # Ticks, not events, a second.
        assert abs(now - unix_ns) < 10**9
    assert syncs[0][5] == 5000
    assert int.from_bytes(first[8:16], "big") == 5000
    assert syncs[1][5] in range(5000, 5200)
    assert syncs[2][5] in range(5800, 6300)
    assert 0.9e9 < syncs[2][0] - syncs[1][0] < 1.5e9


def test_delay(tmp_path):
    """Sync comes at once, and tells the first tick; events come later."""
    with udp_socket("127.0.0.1") as sock, udp_socket("127.0.0.1") as sync:
        send("--dest", "127.0.0.1", "--port", sock.getsockname()[1],
             "--events", 1, "--event-size", 1, "--tick-start", 70, "--sync",
             f"127.0.0.1:{sync.getsockname()[1]}", "--sync-lead", 0.1,
             "--delay", 0.4, "--log", tmp_path / "send.log")
        datagram = sync.recv(65536)
    tick, _, unix_ns = struct.unpack(">QIQ", datagram[8:])
    first = int(rows(tmp_path / "send.log")[0]["time_ns"])
    assert tick == 70
    assert first - unix_ns >= 490_000_000


def test_sync_without_listener():
    """A control plane that is not there stops nobody."""
    port = free_ports("127.0.0.1", 1)
    report = json.loads(send(
        "--dest", "127.0.0.1", "--port", port, "--events", 1, "--sync",
        f"127.0.0.1:{port}", "--sync-lead", 0.01, "--json").stdout)
    assert report["ok"] and report["events"] == 1
    assert report["sync_sent"] + report["sync_errors"] >= 1


# ---------------------------------------------------------------------------
# Pacing and the end.


def test_rate():
    """Never faster than asked for, and about as fast."""
    with udp_socket("127.0.0.1") as sock:
        report = json.loads(send(
            "--dest", "127.0.0.1", "--port", sock.getsockname()[1],
            "--events", 301, "--event-size", 100, "--rate", 300,
            "--json").stdout)
    assert 1.0 <= report["seconds"] < 3
    assert 100 < report["events_per_s"] < 302


def test_gbps():
    with udp_socket("127.0.0.1") as sock:
        report = json.loads(send(
            "--dest", "127.0.0.1", "--port", sock.getsockname()[1],
            "--events", 10, "--event-size", 143600, "--gbps", 0.012,
            "--json").stdout)
    # 1000 packets of 1500 bytes; the last need not have been waited for.
    assert report["packets"] == 1000
    assert 0.99 <= report["seconds"] < 3
    assert report["gbps"] < 0.0122


def test_duration():
    with udp_socket("127.0.0.1") as sock:
        report = json.loads(send(
            "--dest", "127.0.0.1", "--port", sock.getsockname()[1],
            "--events", 0, "--event-size", 100, "--rate", 1000, "--duration",
            0.5, "--json").stdout)
    assert 300 < report["events"] <= 502


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_sender_stopped(signum, receiver, tmp_path):
    """A signal lets the event under way be sent whole, and the report and the
    log tell what was."""
    recv = receiver("127.0.0.1", "--keep")
    with subprocess.Popen(
            [SEND, "--quiet", "--json", "--dest", "127.0.0.1", "--port",
             str(recv.base), "--events", "0", "--event-size", "100000",
             "--gbps", "0.05", "--log", tmp_path / "send.log"],
            stdout=subprocess.PIPE, text=True) as process:
        time.sleep(0.5)
        process.send_signal(signum)
        out, _ = process.communicate(timeout=TIMEOUT)
    sent, got = json.loads(out), recv.report()
    assert process.returncode == 0 and sent["ok"]
    assert sent["events"] >= 1
    assert got["events"]["complete"] == sent["events"]
    assert got["events"]["unfinished"] == 0
    assert got["packets"] == sent["packets"] == 70 * sent["events"]
    assert shared(rows(tmp_path / "send.log")) == shared(recv.packets())


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_receiver_stopped(signum, receiver):
    """Packets that have arrived are counted, also when the end comes first."""
    recv = receiver("127.0.0.1")
    recv.process.send_signal(signal.SIGSTOP)
    recv.inject(*(segment(1, event, 10, 0, 10) for event in range(500)))
    recv.process.send_signal(signum)
    recv.process.send_signal(signal.SIGCONT)
    got = recv.report(end=None)
    assert got["packets"] == got["events"]["complete"] == 500


def test_receiver_idle_exit(receiver):
    recv = receiver("127.0.0.1", "--idle-exit", 0.5)
    recv.inject(segment(1, 1, 10, 0, 10))
    start = time.monotonic()
    got = recv.report(end=None)
    assert 0.3 < time.monotonic() - start < 10
    assert got["packets"] == 1


def test_receiver_packet_limit(receiver):
    recv = receiver("127.0.0.1", "--packets", 70)
    recv.inject(*(segment(1, event, 10, 0, 10) for event in range(100)))
    got = recv.report(end=None)
    assert got["packets"] == 70
    assert len(recv.packets()) == 70


def test_kernel_drops(receiver):
    """What does not fit the socket buffer is reported, not lost silently."""
    recv = receiver("127.0.0.1", "--keep", "--rcvbuf", 100000)
    recv.process.send_signal(signal.SIGSTOP)
    sent = json.loads(send("--dest", "127.0.0.1", "--port", recv.base,
                           "--events", 500, "--event-size", 1000,
                           "--json").stdout)
    recv.process.send_signal(signal.SIGCONT)
    got = recv.report()
    assert got["kernel_drops"] > 0
    assert got["packets"] > 0
    assert got["packets"] + got["kernel_drops"] == sent["packets"]
    assert got["ports"][0]["kernel_drops"] == got["kernel_drops"]


# ---------------------------------------------------------------------------
# A receiver and what it must not believe.


def test_receiver_verdicts(receiver):
    good = segment(5, 1, 100, 0, 100)
    corrupt = bytearray(good)
    corrupt[-1] ^= 1
    recv = receiver("127.0.0.1")
    recv.inject(
        good,                                           # ok
        good,                                           # late_complete
        bytes(corrupt),                                 # corrupt
        segment(5, 2, 100, 50, 50),                     # ok
        segment(5, 2, 100, 50, 50),                     # duplicate
        segment(5, 2, 100, 40, 20),                     # overlap
        segment(5, 2, 100, 0, 0),                       # empty
        segment(5, 2, 90, 0, 40),                       # length_changed
        lb_header(2, 1) + good,                         # unstripped
        good[:19],                                      # re_short
        b"",                                            # re_short
        b"\x20" + good[1:],                             # re_bad_version
        b"\x10\x01" + good[2:],                         # re_bad_version
        re_header(5, 0, 2**32 - 1, 3) + b"x",           # corrupt
        segment(5, 4, 0, 0, 0),                         # ok
        segment(5, 2, 100, 0, 40))                      # ok
    got = recv.report()
    assert nonzero(got) == {
        "ok": 4, "late_complete": 1, "corrupt": 2, "duplicate": 1,
        "overlap": 1, "empty": 1, "length_changed": 1, "unstripped": 1,
        "re_short": 2, "re_bad_version": 2}
    assert got["packets"] == 16
    assert got["events"]["complete"] == 3
    assert got["reordered"] == 2
    log = recv.packets()
    assert [row["status"] for row in log] == [
        "ok", "late_complete", "corrupt", "ok", "duplicate", "overlap",
        "empty", "length_changed", "unstripped", "re_short", "re_short",
        "re_bad_version", "re_bad_version", "corrupt", "ok", "ok"]
    assert log[0]["tick"] == log[8]["event_num"] == "-"
    assert log[0]["crc32c"] == f"{crc32c(good[20:]):08x}"


def test_receiver_incomplete_events(receiver):
    recv = receiver("127.0.0.1", "--timeout", 0.3, "--max-events", 2)
    recv.inject(*(segment(5, event, 100, 0, 70) for event in (1, 2, 3)))
    time.sleep(0.8)
    recv.inject(segment(5, 2, 100, 70, 30), segment(5, 4, 100, 0, 60))
    got = recv.report()
    assert got["events"]["evicted"] == 1
    assert got["events"]["expired"] == 2
    assert got["events"]["unfinished"] == 1
    assert got["events"]["missing_bytes"] == 3 * 30 + 40
    assert nonzero(got) == {"ok": 4, "late_incomplete": 1}
    assert [(row["event_num"], row["status"], row["received"])
            for row in recv.events()] == [
        ("1", "evicted", "70"), ("2", "expired", "70"),
        ("3", "expired", "70"), ("4", "unfinished", "60")]


def test_receiver_foreign_payload(receiver):
    recv = receiver("127.0.0.1", "--payload", "any")
    recv.inject(re_header(1, 0, 10, 1) + b"helloworld",
                re_header(1, 0, 10, 2) + b"hello",
                re_header(1, 4, 10, 2) + b"Oworld",
                re_header(1, 4, 10, 2) + b"oworld")
    got = recv.report()
    assert nonzero(got) == {"ok": 2, "conflict": 1, "overlap": 1}
    assert got["events"]["complete"] == 2


def epoch(first, slots, instance="demo"):
    """A line of evlbd's log of epochs."""
    return json.dumps({"time": 1.5, "switch": "br0", "instance": instance,
                       "instance_id": 0, "epoch": 1, "from": first,
                       "bits": 2, "xor": 0, "slots": slots}) + "\n"


def test_receiver_foreign_events(receiver, tmp_path):
    """Events of another node are told by the log of epochs, which may be
    written while packets come."""
    log = tmp_path / "epochs.json"
    recv = receiver("127.0.0.1", "--epochs", log, "--instance", "demo",
                    "--member", 7)
    recv.inject(segment(5, 1, 10, 0, 10))       # No epoch is known.
    time.sleep(0.3)
    log.write_text(epoch(0, [1, 1, 1, 1], "other")
                   + epoch(100, [7, 8, 7, 7]))
    time.sleep(0.3)
    recv.inject(segment(5, 100, 10, 0, 10), segment(5, 101, 20, 0, 10),
                segment(5, 101, 20, 10, 10), segment(6, 102, 10, 0, 10))
    time.sleep(0.3)
    with open(log, "a", encoding="ascii") as out:
        out.write(epoch(200, [8, 8, 8, 8]))
    time.sleep(0.3)
    recv.inject(segment(5, 200, 10, 0, 10), segment(5, 199, 10, 0, 10))
    got = recv.report()
    assert got["foreign"] == 3
    assert got["events"]["foreign"] == 2
    assert nonzero(got) == {"ok": 7}
    assert {row["event_num"] for row in recv.events()
            if row["foreign"] == "1"} == {"101", "200"}


def test_receiver_foreign_by_header(receiver, tmp_path):
    """With the header there, its tick and slot decide, not the number."""
    log = tmp_path / "epochs.json"
    log.write_text(epoch(0, [7, 8, 7, 7]))
    recv = receiver("127.0.0.1", "--keep", "--epochs", log, "--instance",
                    "demo", "--member", 7)
    recv.inject(lb_header(3, 4, slot=1) + segment(5, 2, 10, 0, 10),
                lb_header(3, 1, slot=4) + segment(5, 1, 10, 0, 10),
                lb_header(2, 5, slot=0) + segment(5, 0, 10, 0, 10))
    got = recv.report()
    assert [row["event_num"] for row in recv.events()
            if row["foreign"] == "1"] == ["2", "0"]
    assert got["events"]["foreign"] == got["foreign"] == 2


def test_receiver_bad_epochs(tmp_path):
    log = tmp_path / "epochs.json"
    log.write_text(epoch(0, [7, 8, 7, 7]) + epoch(9, [1]))
    result = subprocess.run(
        [RECV, "--listen", "127.0.0.1", "--port",
         str(free_ports("127.0.0.1", 1)), "--epochs", log, "--instance",
         "demo", "--member", "7", "--quiet"], check=False,
        capture_output=True, text=True, timeout=TIMEOUT)
    assert result.returncode == 1
    assert f"{log}:2: this is no epoch" in result.stderr


def test_receiver_duplicated_events(receiver):
    """Each event of which something came twice counts once."""
    recv = receiver("127.0.0.1")
    whole, half = segment(5, 1, 10, 0, 10), segment(5, 2, 20, 0, 10)
    recv.inject(whole, whole, whole, half, half, segment(5, 3, 10, 0, 10))
    got = recv.report()
    assert nonzero(got) == {"ok": 3, "late_complete": 2, "duplicate": 1}
    assert got["events"]["duplicated"] == 2


def test_receiver_port_change(receiver):
    """Segments of an event that go to different ports are noticed."""
    recv = receiver("127.0.0.1", n_ports=2)
    recv.inject(segment(1, 1, 10, 0, 5))
    time.sleep(0.3)
    recv.inject(segment(1, 1, 10, 5, 5), port=1)
    got = recv.report()
    assert got["port_changes"] == 1
    assert recv.events()[0]["port_changed"] == "1"


# ---------------------------------------------------------------------------
# What goes wrong.


@pytest.mark.parametrize("args, words", [
    ([], "--dest: it is needed"),
    (["--dest", "nowhere"], "--dest: 'nowhere' is not an IPv4 or IPv6"),
    (["--dest", "::1", "--mtu", "9001"], "--mtu: '9001' is not a number "
                                         "from 100 to 9000"),
    (["--dest", "::1", "--lb-version", "4"], "from 2 to 3"),
    (["--dest", "::1", "--slot-select", "1"], "use --lb-version 3"),
    (["--dest", "::1", "--rate", "0"], "--rate: '0' is not a number over 0"),
    (["--dest", "::1", "--colour"], "--colour: no such option"),
    (["--dest"], "--dest: a value, ADDRESS, is missing"),
])
def test_sender_refuses(args, words):
    result = send(*args, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("evlb-send: ") and words in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("args, words", [
    (["--port", "9"], "--listen: it is needed"),
    (["--listen", "::1"], "--port: it is needed"),
    (["--listen", "::1", "--port", "9", "--ports", "3"],
     "--ports: '3' is not a power of two"),
    (["--listen", "::1", "--port", "9", "--epochs", "f", "--member", "1"],
     "--epochs: it needs --instance and --member"),
    (["--listen", "::1", "--port", "9", "--member", "1", "--instance", "a"],
     "--epochs: it needs"),
    (["--listen", "::1", "--port", "65535", "--ports", "2"],
     "do not fit below 65536"),
])
def test_receiver_refuses(args, words):
    result = subprocess.run([RECV, *args], check=False, capture_output=True,
                            text=True, timeout=TIMEOUT)
    assert result.returncode == 2
    assert result.stderr.startswith("evlb-recv: ") and words in result.stderr


def test_receiver_port_taken():
    with udp_socket("127.0.0.1") as sock:
        port = sock.getsockname()[1]
        result = subprocess.run(
            [RECV, "--listen", "127.0.0.1", "--port", str(port)], check=False,
            capture_output=True, text=True, timeout=TIMEOUT)
    assert result.returncode == 1
    assert f"cannot listen at 127.0.0.1:{port}: " in result.stderr


def test_log_that_cannot_be_written():
    args = ["--dest", "127.0.0.1", "--events", 1, "--log"]
    result = send(*args, "/dev/full", check=False)
    assert result.returncode == 1
    assert "/dev/full: writing failed" in result.stderr
    result = send(*args, "/nonexistent/log", check=False)
    assert result.returncode == 1
    assert "/nonexistent/log: No such file" in result.stderr


def test_packets_too_large_for_the_interface():
    """Packets are never fragmented; the error says what may help."""
    result = subprocess.run(
        ["unshare", "-n", "sh", "-c",
         f"ip link set lo mtu 1500 up && {SEND} --dest 127.0.0.1 --events 1 "
         "--event-size 5000 --mtu 9000"],
        check=False, capture_output=True, text=True, timeout=TIMEOUT)
    assert result.returncode == 1
    assert "cannot send 5064 bytes to 127.0.0.1:19522" in result.stderr
    assert "--mtu" in result.stderr


# ---------------------------------------------------------------------------
# Manual.


@pytest.mark.parametrize("program", [SEND, RECV])
def test_manual_is_complete(program):
    """The manual page has each option of --help, with the same argument, and
    no other."""
    text = subprocess.run([program, "--help"], check=True,
                          capture_output=True, text=True).stdout
    options = re.findall(r"^  --([a-z-]+)(?: (\S+))?(?:  |$)", text, re.M)
    assert len(options) > 15
    page = os.path.join(TOP, "man", os.path.basename(program) + ".1")
    with open(page, encoding="ascii") as source:
        entries = re.findall(r"^\.TP\n\.(?:B|BI) (.*)$", source.read(), re.M)
    manual = []
    for entry in entries:
        words = entry.replace('"', " ").replace("\\-", "-").split()
        if words[0].startswith("--"):
            manual.append((words[0][2:], " ".join(words[1:])))
    assert manual == options
