# SPDX-License-Identifier: Apache-2.0
"""Captures at the switch: tcpdump on all interfaces at once, and its files.

One tcpdump sees both sides of the switch, so that there is one clock and one
count of what the kernel could not hand it.  The file is pcap with Linux
"cooked" frames of version 2, which tell interface and direction.
"""

import os
import re
import struct
import subprocess
import time

import lab

# Bytes of a packet that are kept, cooked header included: the event headers
# and some of the data behind them, with IPv6 too.
SNAP = 192
COOKED_LEN = 20
# The kernel hands on what it has after a second at the latest.
FLUSH_SECONDS = 1.5
OUTGOING = 4
LINKTYPE_COOKED2 = 276
MAGIC_NS, MAGIC_US = 0xa1b23c4d, 0xa1b2c3d4


class CaptureError(Exception):
    """A capture is not what it has to be."""


class Capture:
    """A tcpdump of the UDP packets on all interfaces, while it runs."""

    def __init__(self, path):
        self.process = lab.Process("tcpdump", [
            "tcpdump", "-i", "any", "-y", "LINUX_SLL2", "-n", "-s", str(SNAP),
            "-B", "65536", "-Z", "root", "--time-stamp-precision=nano", "-w",
            path, "udp"], os.path.dirname(path))
        lab.wait_for("tcpdump", self.is_ready)

    def is_ready(self):
        """Returns true once packets are captured."""
        self.process.check_alive()
        return "listening on" in self.process.text()

    def stop(self):
        """Ends the capture; returns how many packets it has lost."""
        time.sleep(FLUSH_SECONDS)
        self.process.stop()
        return parse_drops(self.process.text())


def parse_drops(text):
    """Returns how many packets tcpdump says in 'text' that it has lost."""
    counts = {what: int(n) for n, what in re.findall(
        r"(\d+) packets? (captured|received by filter|dropped by kernel|"
        r"dropped by interface)", text)}
    if len(counts) < 3:
        raise CaptureError("tcpdump did not count its drops: %s" % text)
    # What it had no time to read is lost as well.
    return (counts["dropped by kernel"]
            + counts.get("dropped by interface", 0)
            + counts["received by filter"] - counts["captured"])


def read_pcap(path):
    """Yields (time in ns, interface, is outgoing, EtherType, packet from the
    IP header on)."""
    with open(path, "rb") as capture:
        data = capture.read()
    if len(data) < 24:
        raise CaptureError("%s: it is no capture" % path)
    magic, = struct.unpack_from("<I", data)
    order = "<"
    if magic not in (MAGIC_NS, MAGIC_US):
        magic, = struct.unpack_from(">I", data)
        order = ">"
    linktype, = struct.unpack_from(order + "I", data, 20)
    if magic not in (MAGIC_NS, MAGIC_US) or linktype != LINKTYPE_COOKED2:
        raise CaptureError("%s: it is no capture of cooked frames, version 2"
                           % path)
    unit = 1 if magic == MAGIC_NS else 1000
    record = struct.Struct(order + "IIII")
    cooked = struct.Struct(">HHIHB")
    at, end = 24, len(data)
    while at + 16 <= end:
        seconds, fraction, captured, _ = record.unpack_from(data, at)
        at += 16
        if at + captured > end:
            raise CaptureError("%s: it ends in the middle of a packet" % path)
        if captured >= COOKED_LEN:
            ethertype, _, interface, _, kind = cooked.unpack_from(data, at)
            yield (seconds * 10**9 + fraction * unit, interface,
                   kind == OUTGOING, ethertype,
                   data[at + COOKED_LEN:at + captured])
        at += captured


def udp_of(ethertype, packet):
    """Returns (destination address, port, bytes of payload, payload as far as
    captured) of an IP packet, or None if it is no whole UDP packet."""
    if ethertype == 0x0800 and len(packet) >= 28:
        start = (packet[0] & 15) * 4
        fragment = struct.unpack_from(">H", packet, 6)[0] & 0x3fff
        if packet[9] != 17 or fragment or len(packet) < start + 8:
            return None
        address = packet[16:20]
    elif ethertype == 0x86dd and len(packet) >= 48:
        if packet[6] != 17:
            return None
        address, start = packet[24:40], 40
    else:
        return None
    port, length = struct.unpack_from(">HH", packet, start + 2)
    return address, port, length - 8, packet[start + 8:start + length]


def tcpdump_version():
    """Returns the first line of what tcpdump says about itself."""
    result = subprocess.run(["tcpdump", "--version"], text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return result.stdout.splitlines()[0] if result.stdout else "unknown"
