# SPDX-License-Identifier: Apache-2.0
"""What must become of an event packet, computed from the description of the
formats (docs) in Python, byte by byte, and nothing else.

It shares no code with the switch, and none with what builds the frames."""

import ipaddress

OK, NOT_UDP, FRAGMENT, BAD_LENGTH, SHORT, BAD_MAGIC, BAD_VERSION, \
    TTL_EXPIRED, NO_SLOT = range(9)

# IPv6 extension headers that a packet may carry before UDP.
HOP_BY_HOP, ROUTING, FRAGMENT_HEADER, AUTHENTICATION, DESTINATION = \
    0, 43, 44, 51, 60


class Parsed:
    """What the header stage knows of a frame: 'status' and, if it is OK,
    the fields; and where the headers are."""

    def __init__(self, status, version=0):
        self.status = status
        self.version = version
        self.tick = self.slot_select = self.port_select = 0
        self.l3 = self.udp = self.family = None


def word(data, at):
    return data[at] << 8 | data[at + 1]


def find_l3(data, max_tags):
    """Returns the Ethernet type and the offset behind it; up to 'max_tags'
    VLAN tags are stepped over."""
    at = 12
    while word(data, at) in (0x8100, 0x88a8) and max_tags \
            and at + 6 <= len(data):
        at += 4
        max_tags -= 1
    return word(data, at), at + 2


def find_udp_in_ipv4(data, l3):
    """Returns a status, the offset of the UDP header, and the offset of the
    packet's end."""
    if len(data) - l3 < 20:
        return BAD_LENGTH, None, None
    header = (data[l3] & 15) * 4
    total = word(data, l3 + 2)
    if header < 20 or total < header or l3 + total > len(data):
        return BAD_LENGTH, None, None
    if data[l3] >> 4 != 4 or data[l3 + 9] != 17:
        return NOT_UDP, None, None
    if word(data, l3 + 6) & 0x3fff:
        return FRAGMENT, None, None
    return OK, l3 + header, l3 + total


def find_udp_in_ipv6(data, l3):
    if len(data) - l3 < 40:
        return BAD_LENGTH, None, None
    end = l3 + 40 + word(data, l3 + 4)
    if end > len(data):
        return BAD_LENGTH, None, None
    if data[l3] >> 4 != 6:
        return NOT_UDP, None, None
    kind, at = data[l3 + 6], l3 + 40
    while kind in (HOP_BY_HOP, ROUTING, FRAGMENT_HEADER, AUTHENTICATION,
                   DESTINATION):
        if at + 8 > end:
            return BAD_LENGTH, None, None
        if kind == FRAGMENT_HEADER:
            return FRAGMENT, None, None
        size = ((data[at + 1] + 2) * 4 if kind == AUTHENTICATION
                else (data[at + 1] + 1) * 8)
        if at + size > end:
            return BAD_LENGTH, None, None
        kind, at = data[at], at + size
    return (OK, at, end) if kind == 17 else (NOT_UDP, None, None)


def parse(data, max_tags=1):
    """Returns what the frame 'data' is, as a Parsed."""
    eth_type, l3 = find_l3(data, max_tags)
    if eth_type == 0x0800:
        status, udp, end = find_udp_in_ipv4(data, l3)
    elif eth_type == 0x86dd:
        status, udp, end = find_udp_in_ipv6(data, l3)
    else:
        status = NOT_UDP
    if status != OK:
        return Parsed(status)

    if end - udp < 8 or not 8 <= word(data, udp + 4) <= end - udp:
        return Parsed(BAD_LENGTH)
    if word(data, udp + 4) < 8 + 16:
        return Parsed(SHORT)
    lb = udp + 8
    if data[lb:lb + 2] != b"LB":
        return Parsed(BAD_MAGIC)
    version = data[lb + 2]
    if version not in (2, 3):
        return Parsed(BAD_VERSION, version)
    if data[l3 + (8 if eth_type == 0x0800 else 7)] <= 1:
        return Parsed(TTL_EXPIRED, version)

    p = Parsed(OK, version)
    p.tick = int.from_bytes(data[lb + 8:lb + 16], "big")
    p.port_select = word(data, lb + 6)
    p.slot_select = p.tick % 65536 if version == 2 else word(data, lb + 4)
    p.l3, p.udp, p.family = l3, udp, 4 if eth_type == 0x0800 else 6
    return p


def slot(p, bits=9, xor=0):
    return (p.slot_select ^ xor) % 2 ** bits


class Member:
    """Where a member's packets go to, per address family."""

    def __init__(self, family, eth_src, eth_dst, ip_src, ip_dst, base,
                 bits=0, keep=False):
        self.family = family
        self.eth_src, self.eth_dst = eth_src, eth_dst
        self.ip_src, self.ip_dst = ip_src, ip_dst
        self.base, self.bits, self.keep = base, bits, keep

    def action(self):
        """The OpenFlow action for this member."""
        return ("lb_forward(eth_src=%s,eth_dst=%s,ip_src=%s,ip_dst=%s,"
                "base=%d,bits=%d%s)" % (
                    self.eth_src, self.eth_dst, self.ip_src, self.ip_dst,
                    self.base, self.bits, ",keep" if self.keep else ""))


def replace(checksum, old, new):
    """The checksum after 'old' became 'new': HC' = ~(~HC + ~m + m'), each
    16-bit word in its turn (RFC 1624, equation 3)."""
    total = checksum ^ 0xffff
    for i in range(0, len(old), 2):
        total += word(old, i) ^ 0xffff
        total = (total & 0xffff) + (total >> 16)
    for i in range(0, len(new), 2):
        total += word(new, i)
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def be16(value):
    return bytes([value >> 8 & 255, value & 255])


def forward(data, member, max_tags=1):
    """Returns the frame that 'member' gets for the frame 'data', which must
    be a valid event packet of its family."""
    p = parse(data, max_tags)
    assert p.status == OK and p.family == member.family
    out = bytearray(data)
    out[0:6] = bytes.fromhex(member.eth_dst.replace(":", ""))
    out[6:12] = bytes.fromhex(member.eth_src.replace(":", ""))

    # Addresses, which stand in the UDP checksum's pseudo header too.
    at, end = (p.l3 + 12, p.l3 + 20) if p.family == 4 \
        else (p.l3 + 8, p.l3 + 40)
    old = bytes(out[at:end])
    new = (ipaddress.ip_address(member.ip_src).packed
           + ipaddress.ip_address(member.ip_dst).packed)
    out[at:end] = new

    strip = 0 if member.keep else 16
    udp_len = word(data, p.udp + 4)
    new_udp_len = be16(udp_len - strip)
    port = be16(member.base + p.port_select % 2 ** member.bits)

    if p.family == 4:
        out[p.l3 + 2:p.l3 + 4] = be16(word(data, p.l3 + 2) - strip)
        out[p.l3 + 8] -= 1
        rest = slice(p.l3, p.l3 + 10), slice(at, end)
        sum_ = word(data, p.l3 + 10)
        for part in rest:
            sum_ = replace(sum_, data[part], bytes(out[part]))
        out[p.l3 + 10:p.l3 + 12] = be16(sum_)
    else:
        out[p.l3 + 4:p.l3 + 6] = be16(word(data, p.l3 + 4) - strip)
        out[p.l3 + 7] -= 1

    sum_ = word(data, p.udp + 6)
    if sum_:
        sum_ = replace(sum_, old, new)
        sum_ = replace(sum_, be16(udp_len), new_udp_len)    # Pseudo header.
        sum_ = replace(sum_, be16(udp_len), new_udp_len)    # UDP header.
        sum_ = replace(sum_, data[p.udp + 2:p.udp + 4], port)
        sum_ = replace(sum_, data[p.udp + 8:p.udp + 8 + strip], b"")
        sum_ = sum_ or 0xffff

    out[p.udp + 2:p.udp + 8] = port + new_udp_len + be16(sum_)
    del out[p.udp + 8:p.udp + 8 + strip]
    return bytes(out)
