# SPDX-License-Identifier: Apache-2.0
"""What the balancer answers by itself, by RFC 826, 792, 4443, 4861.

Checksums are updated by what changed, so that a wrong one stays wrong, except
that of an advertisement, which is new."""

import ipaddress
import struct

from packets import checksum, ip, mac
from model import replace

ICMPV6 = 58


def swap(frame, own):
    """The Ethernet header of the answer to 'frame' from 'own'."""
    return frame[6:12] + mac(own) + frame[12:]


def l3(frame):
    """The offset of what is behind the Ethernet header and a VLAN tag."""
    return 18 if frame[12:14] == b"\x81\x00" else 14


def arp_request(target, sender="10.0.0.99", sender_mac="aa:00:00:00:00:01",
                op=1):
    """The ARP packet that asks for 'target'."""
    return struct.pack("!HHBBH", 1, 0x800, 6, 4, op) + mac(sender_mac) \
        + ip(sender) + bytes(6) + ip(target)


def arp_reply(frame, own):
    """The answer to an ARP request."""
    at = l3(frame)
    out = swap(frame, own)
    return (out[:at + 6] + b"\0\2" + mac(own) + frame[at + 24:at + 28]
            + frame[at + 8:at + 18] + frame[at + 28:])


def icmp(kind, code, body):
    """An ICMP message with its checksum."""
    message = struct.pack("!BBH", kind, code, 0) + body
    return message[:2] + struct.pack("!H", checksum(message)) + message[4:]


def icmpv6(src, dst, kind, code, body):
    """An ICMPv6 message with its checksum."""
    message = struct.pack("!BBH", kind, code, 0) + body
    pseudo = ip(src) + ip(dst) + struct.pack("!II", len(message), ICMPV6)
    return (message[:2] + struct.pack("!H", checksum(pseudo + message))
            + message[4:])


def echo_reply4(frame, own):
    """The answer to an ICMP echo request."""
    at = l3(frame)
    out = bytearray(swap(frame, own))
    out[at + 12:at + 20] = frame[at + 16:at + 20] + frame[at + 12:at + 16]
    message = at + 4 * (frame[at] & 15)
    old = struct.unpack_from("!H", frame, message + 2)[0]
    out[message] = 0
    struct.pack_into("!H", out, message + 2,
                     replace(old, frame[message:message + 2],
                             bytes(out[message:message + 2])))
    return bytes(out)


def echo_reply6(frame, own, address):
    """The answer to an ICMPv6 echo request, from 'address'."""
    at = l3(frame)
    out = bytearray(swap(frame, own))
    out[at + 8:at + 40] = ip(address) + frame[at + 8:at + 24]
    old = struct.unpack_from("!H", frame, at + 42)[0]
    out[at + 40] = 129
    struct.pack_into("!H", out, at + 42, replace(
        old, frame[at + 8:at + 42], bytes(out[at + 8:at + 42])))
    return bytes(out)


def solicitation(target, options=b"", flags=0):
    """The body of a neighbour solicitation."""
    return struct.pack("!I", flags) + ip(target) + options


def source_link(address):
    """The option that tells a sender's MAC address."""
    return b"\1\1" + mac(address)


def advertisement(frame, own, target, to_mac, to=None):
    """The answer to a neighbour solicitation."""
    at = l3(frame)
    asked = str(ipaddress.ip_address(frame[at + 8:at + 24]))
    solicited = asked != "::"
    to = to or asked
    body = struct.pack("!I", 0x40000000 if solicited else 0) + ip(target) \
        + b"\2\1" + mac(own)
    message = icmpv6(target, to, 136, 0, body)
    header = bytearray(frame[at:at + 40])
    struct.pack_into("!HBB", header, 4, len(message), ICMPV6, 255)
    header[8:40] = ip(target) + ip(to)
    return (mac(to_mac) + mac(own) + frame[12:at] + bytes(header) + message)
