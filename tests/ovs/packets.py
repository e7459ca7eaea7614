# SPDX-License-Identifier: Apache-2.0
"""Builds frames of event packets, right ones and wrong ones."""

import ipaddress
import struct

ETH_IP = 0x0800
ETH_IPV6 = 0x86dd
ETH_VLAN = 0x8100
ETH_QINQ = 0x88a8

UDP = 17

SRC_MAC = "aa:00:00:00:00:01"
DST_MAC = "02:00:00:00:00:01"
SRC = {4: "192.168.0.1", 6: "2001:db8:1::1"}
DST = {4: "10.0.0.1", 6: "2001:db8:2::1"}


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def ip(text):
    return ipaddress.ip_address(text).packed


def checksum(data):
    """The Internet checksum of 'data' (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def lb(tick, version=2, slot_select=0, port_select=0, magic=0x4c42, proto=1):
    return struct.pack(">HBBHHQ", magic, version, proto, slot_select,
                       port_select, tick)


def udp_checksum(src, dst, datagram):
    """The checksum that belongs into 'datagram', whose own field is 0."""
    pseudo = ip(src) + ip(dst) + struct.pack(">II", len(datagram), UDP)
    return checksum(pseudo + datagram) or 0xffff


def udp(src, dst, payload, sport=5000, dport=19522, length=None, csum="right"):
    """'csum' is "right", "wrong", "absent", or a number."""
    if length is None:
        length = 8 + len(payload)
    datagram = struct.pack(">HHHH", sport, dport, length, 0) + payload
    if csum == "right":
        csum = udp_checksum(src, dst, datagram)
    elif csum == "wrong":
        csum = udp_checksum(src, dst, datagram) ^ 0x5a00 or 0x1234
    elif csum == "absent":
        csum = 0
    return datagram[:6] + struct.pack(">H", csum) + payload


def ipv4(payload, src=SRC[4], dst=DST[4], ttl=64, options=b"", tos=0, ident=1,
         frag=0, proto=UDP, total=None, csum=None, version=4, ihl=None):
    """'frag' is the word of flags and offset."""
    if ihl is None:
        ihl = 5 + len(options) // 4
    if total is None:
        total = 20 + len(options) + len(payload)
    header = struct.pack(">BBHHHBBH", version << 4 | ihl, tos, total, ident,
                         frag, ttl, proto, 0) + ip(src) + ip(dst) + options
    if csum is None:
        csum = checksum(header)
    return header[:10] + struct.pack(">H", csum) + header[12:] + payload


def ipv6(payload, src=SRC[6], dst=DST[6], ttl=64, extensions=(), tos=0,
         label=0, proto=UDP, length=None, version=6):
    """'extensions' lists pairs of header type and header, whose first byte
    is filled in."""
    chain = b""
    following = proto
    for kind, header in reversed(extensions):
        chain = bytes([following]) + header[1:] + chain
        following = kind
    if length is None:
        length = len(chain) + len(payload)
    return struct.pack(">IHBB", version << 28 | tos << 20 | label, length,
                       following, ttl) + ip(src) + ip(dst) + chain + payload


def frame(packet, eth_type, src=SRC_MAC, dst=DST_MAC, tags=(), padding=b""):
    """'tags' lists pairs of tag type and tag control information."""
    tagged = b"".join(struct.pack(">HH", *tag) for tag in tags)
    return (mac(dst) + mac(src) + tagged + struct.pack(">H", eth_type)
            + packet + padding)


def event(family=4, tick=1001, payload=b"hello world!", tags=(), padding=b"",
          src=None, dst=None, eth_src=SRC_MAC, eth_dst=DST_MAC, l4=None,
          header=None, **fields):
    """A frame with an event packet.  'l4' and 'header' stand in for the UDP
    datagram and the load-balancer header; 'fields' go to the functions above
    that know them."""
    def given(*names):
        return {name: fields.pop(name) for name in names if name in fields}

    src = src or SRC[family]
    dst = dst or DST[family]
    if header is None:
        header = lb(tick, **given("version", "slot_select", "port_select",
                                  "magic", "proto"))
    if l4 is None:
        l4 = udp(src, dst, header + payload,
                 **given("sport", "dport", "length", "csum"))
    ip_fields = {name[3:] if name.startswith("ip_") else name: value
                 for name, value in fields.items()}
    build = ipv4 if family == 4 else ipv6
    return frame(build(l4, src, dst, **ip_fields),
                 ETH_IP if family == 4 else ETH_IPV6, eth_src, eth_dst, tags,
                 padding)
