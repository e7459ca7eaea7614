#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sends single packets from a host of a laboratory.

usage: probe.py ping ADDRESS
       probe.py udp ADDRESS PORT HEX [TTL [COUNT]]
       probe.py frame INTERFACE HEX COUNT
       probe.py flood ADDRESS SECONDS

"ping" exits with 0 if an echo reply comes within two seconds.  "flood" sends
echo requests over IPv4 as fast as it can.  "udp" sends
datagrams with the bytes in HEX, and "frame" Ethernet frames, and both do not
wait for anything.
"""

import os
import select
import socket
import struct
import sys
import time


def checksum(data):
    """Returns the Internet checksum of 'data'."""
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ping(address):
    """Sends an echo request; returns true if the right reply comes back."""
    family, _, _, _, where = socket.getaddrinfo(address, 0)[0]
    payload = os.urandom(32)
    if family == socket.AF_INET6:
        request, reply, offset = 128, 129, 0
        sock = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    else:
        request, reply, offset = 8, 0, 20
        sock = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    body = struct.pack("!HH", os.getpid() & 0xffff, 7) + payload
    message = struct.pack("!BBH", request, 0, 0) + body
    message = (struct.pack("!BBH", request, 0, checksum(message)) + body)
    sock.sendto(message, where)
    deadline = time.monotonic() + 2
    while select.select([sock], [], [], deadline - time.monotonic())[0]:
        data, sender = sock.recvfrom(2048)
        if (sender[0] == address and data[offset] == reply
                and data[offset + 4:] == body):
            return True
        if time.monotonic() >= deadline:
            break
    return False


def udp(address, port, payload, ttl=64, count=1):
    """Sends 'count' datagrams."""
    family, _, _, _, where = socket.getaddrinfo(address, port)[0]
    sock = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, ttl)
    else:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
    for _ in range(count):
        sock.sendto(payload, where)


def flood(address, seconds):
    """Sends echo requests for 'seconds'."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW,
                         socket.IPPROTO_ICMP)
    sock.connect((address, 0))
    body = struct.pack("!HH", 1, 1) + bytes(20)
    message = struct.pack("!BBH", 8, 0, 0) + body
    message = struct.pack("!BBH", 8, 0, checksum(message)) + body
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(1000):
            try:
                sock.send(message)
            except OSError:
                pass            # The queue is full.


def frame(interface, data, count):
    """Sends 'count' Ethernet frames."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((interface, 0))
    for _ in range(count):
        sock.send(data)


def main():
    """Runs the program."""
    if sys.argv[1:2] == ["ping"] and len(sys.argv) == 3:
        sys.exit(0 if ping(sys.argv[2]) else 1)
    elif sys.argv[1:2] == ["udp"] and len(sys.argv) in (5, 6, 7):
        udp(sys.argv[2], int(sys.argv[3]), bytes.fromhex(sys.argv[4]),
            *[int(arg) for arg in sys.argv[5:]])
    elif sys.argv[1:2] == ["flood"] and len(sys.argv) == 4:
        flood(sys.argv[2], float(sys.argv[3]))
    elif sys.argv[1:2] == ["frame"] and len(sys.argv) == 5:
        frame(sys.argv[2], bytes.fromhex(sys.argv[3]), int(sys.argv[4]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
