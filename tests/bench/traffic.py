# SPDX-License-Identifier: Apache-2.0
"""Captures to be replayed: event packets of a number of senders."""

import struct

SWITCH_MAC = "02:00:00:00:00:01"
SWITCH_IP = "10.1.0.1"
LB_PORT = 19522
MIN_BYTES = 14 + 20 + 8 + 16


def sender_mac(i):
    return f"02:00:00:01:{i >> 8:02x}:{i & 255:02x}"


def sender_ip(i):
    return f"10.0.{i >> 8}.{i & 255}"


def mac_bytes(mac):
    return bytes.fromhex(mac.replace(":", ""))


def ip_bytes(ip):
    return bytes(map(int, ip.split(".")))


def checksum(data):
    """The Internet checksum of 'data', of even length."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def event_packet(size, sender, entropy):
    """Returns an Ethernet frame of 'size' bytes that carries a version 2
    header with tick 0.  Its UDP checksum is right."""
    payload = struct.pack(">HBBHHQ", 0x4c42, 2, 1, 0, entropy, 0)
    payload += bytes(size - MIN_BYTES)
    length = 8 + len(payload)
    addresses = ip_bytes(sender_ip(sender)) + ip_bytes(SWITCH_IP)
    udp = struct.pack(">HHHH", 40000 + sender % 1000, LB_PORT, length, 0)
    pseudo = addresses + struct.pack(">HH", 17, length)
    even = payload + bytes(len(payload) % 2)
    udp = udp[:6] + struct.pack(
        ">H", checksum(pseudo + udp + even) or 0xffff)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, 17, 0)
    ip = ip[:10] + struct.pack(">H", checksum(ip + addresses)) + addresses
    return (mac_bytes(SWITCH_MAC) + mac_bytes(sender_mac(sender))
            + b"\x08\x00" + ip + udp + payload)


def write_capture(path, size, senders, packets=128):
    """Writes a capture in which 'senders' take turns."""
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i in range(max(packets, senders)):
            frame = event_packet(size, i % senders, i % 16)
            f.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)))
            f.write(frame)
