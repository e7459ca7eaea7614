# SPDX-License-Identifier: Apache-2.0
"""Event packets of every kind, the members that they go to, and what must
become of each.  The calendar's slots lead to members that differ in all that
a member can have."""

import model
from model import Member
from packets import ETH_QINQ, ETH_VLAN, event
from pipeline import calendar, member_flows, parse_flows

SELF_MAC = "02:00:00:00:00:01"
SELF_IP = {4: "10.0.0.1", 6: "2001:db8:2::1"}


def make_member(i, base, bits, keep):
    return {family: Member(family, SELF_MAC, "02:00:00:00:01:%02x" % i,
                           SELF_IP[family],
                           "10.1.0.%d" % i if family == 4
                           else "2001:db8:3::%x" % i,
                           base, bits, keep)
            for family in (4, 6)}


# Slot n leads to the n-th of them.
MEMBERS = {
    1: make_member(1, 20000, 0, False),
    2: make_member(2, 20000, 0, True),
    3: make_member(3, 30000, 4, False),
    4: make_member(4, 65535, 16, False),
    5: make_member(5, 65000, 14, True),
    6: make_member(6, 0, 1, False),
    7: make_member(7, 0xabcd, 16, True),
    65535: make_member(8, 1, 9, False),
}
SLOTS = dict(enumerate(MEMBERS))
BITS = 3


def load(ovs, out, members=None):
    """Makes 'ovs' send what br0 receives through all three passes to 'out'.
    """
    ovs.clear("br0")
    ovs.add_group("br0", calendar(7, SLOTS, bits=BITS))
    ovs.add_flows("br0", *parse_flows(ovs, out),
                  "table=32,priority=0,actions=group:7",
                  *member_flows(members or MEMBERS, out))


def expect(frame, max_tags=1):
    """The frame that must come out of the pipeline for 'frame'."""
    parsed = model.parse(frame, max_tags)
    assert parsed.status == model.OK
    member = MEMBERS[SLOTS[model.slot(parsed, BITS)]][parsed.family]
    return model.forward(frame, member, max_tags)


def each_member(**fields):
    """One event for each slot."""
    return [event(tick=0x1234567800 + s, **fields) for s in SLOTS]


# Named cases: each goes to every member.  First what IPv4 and IPv6 share.
BOTH = {
    "plain": {},
    "no UDP checksum": {"csum": "absent"},
    "wrong UDP checksum": {"csum": "wrong"},
    "UDP checksum ffff": {"csum": 0xffff},
    "UDP checksum 1": {"csum": 1},
    "version 3, port select 0": {"version": 3},
    "port select 1": {"port_select": 1},
    "port select ffff": {"port_select": 0xffff},
    "port select 8000": {"port_select": 0x8000},
    "other next protocol": {"proto": 0xa5},
    "version 2 with bits in the reserved field": {"slot_select": 0xffff},
    "TTL 2": {"ttl": 2},
    "TTL 255": {"ttl": 255},
    "DSCP and ECN": {"tos": 0xb9},
    "all of the traffic class": {"tos": 0xff},
    "no payload": {"payload": b""},
    "one byte of payload": {"payload": b"x"},
    "odd payload": {"payload": b"seventeen bytes.."},
    "even payload": {"payload": bytes(range(256))},
    "1500-byte MTU": {"payload": b"\xa5" * 1400},
    "9000 bytes": {"payload": bytes(8900)},
    "source port 0": {"sport": 0},
    "other destination port": {"dport": 32767},
    "other source": {"eth_src": "aa:bb:cc:dd:ee:ff"},
    "broadcast destination": {"eth_dst": "ff:ff:ff:ff:ff:ff"},
    "padding": {"payload": b"", "padding": b"\xee\xff"},
    "odd padding": {"payload": b"abc", "padding": b"\x01\x02\x03"},
    "long padding": {"padding": b"\x55" * 300},
    "VLAN": {"tags": [(ETH_VLAN, 100)]},
    "VLAN with priority": {"tags": [(ETH_VLAN, 0xefff)]},
    "priority tag": {"tags": [(ETH_VLAN, 0xe000)]},
    "VLAN and padding": {"tags": [(ETH_VLAN, 5)], "padding": b"\x55" * 5},
    "802.1ad tag alone": {"tags": [(ETH_QINQ, 7)]},
}

IPV4 = {
    "IP options": {"options": b"\x94\x04\x00\x00"},
    "40 bytes of IP options": {"options": b"\x01" * 39 + b"\x00"},
    "IP options and padding": {"options": b"\x07\x07\x04" + bytes(5),
                               "padding": b"\xff" * 7},
    "don't fragment": {"frag": 0x4000},
    "reserved flag": {"frag": 0x8000},
    "IP id": {"ident": 0xfedc},
    "wrong IP checksum": {"ip_csum": 0x1234},
    "IP checksum 0": {"ip_csum": 0},
    "IP checksum ffff": {"ip_csum": 0xffff},
    "broadcast source": {"src": "255.255.255.255"},
    "9100 bytes": {"payload": bytes(9100 - 20 - 8 - 16)},
}

HEADER8 = bytes(8)
IPV6 = {
    "flow label": {"label": 0xfffff},
    "flow label and class": {"label": 0x12345, "tos": 0x42},
    "hop-by-hop": {"extensions": [(0, HEADER8)]},
    "routing header": {"extensions": [(43, HEADER8)]},
    "destination options, 16 bytes":
        {"extensions": [(60, b"\0\1" + bytes(14))]},
    "authentication header": {"extensions": [(51, b"\0\4" + bytes(22))]},
    "four extension headers":
        {"extensions": [(0, HEADER8), (60, b"\0\2" + bytes(22)),
                        (43, HEADER8), (51, b"\0\1" + bytes(10))]},
    "extension header and VLAN":
        {"extensions": [(0, HEADER8)], "tags": [(ETH_VLAN, 12)]},
    "multicast source": {"src": "ff02::1"},
    "9100 bytes": {"payload": bytes(9100 - 40 - 8 - 16)},
}


def random_event(rng, tci_bits=0xffff):
    """A valid event packet of any kind.  'tci_bits' are the bits that a VLAN
    tag may have."""
    family = rng.choice((4, 6))
    fields = {
        "family": family,
        "tick": rng.getrandbits(64),
        "version": rng.choice((2, 3)),
        "slot_select": rng.getrandbits(16),
        "port_select": rng.getrandbits(16),
        "proto": rng.getrandbits(8),
        "payload": rng.randbytes(rng.choice((0, 1, rng.randrange(64),
                                             rng.randrange(1500),
                                             rng.randrange(8000)))),
        "csum": rng.choice(("right", "right", "absent", "wrong", 0xffff,
                            rng.getrandbits(16))),
        "sport": rng.getrandbits(16),
        "dport": rng.getrandbits(16),
        "ttl": rng.randrange(2, 256),
        "tos": rng.getrandbits(8),
        "eth_src": "0a:%02x:00:00:00:%02x" % (rng.getrandbits(8),
                                              rng.getrandbits(8)),
        "tags": rng.choice(([], [], [(ETH_VLAN,
                                      rng.getrandbits(16) & tci_bits)])),
        "padding": rng.choice((b"", b"", rng.randbytes(rng.randrange(60)))),
    }
    if family == 4:
        fields.update(ident=rng.getrandbits(16),
                      frag=rng.choice((0, 0x4000, 0x8000)),
                      options=rng.randbytes(4 * rng.choice((0, 0, 1, 5, 10))),
                      src="192.168.%d.%d" % (rng.getrandbits(8),
                                             rng.getrandbits(8)))
    else:
        fields.update(label=rng.getrandbits(20),
                      src="2001:db8:9::%x" % rng.getrandbits(16),
                      extensions=[
                          (kind, b"\0\0" + rng.randbytes(6))
                          for kind in rng.choice(((), (), (0,), (60, 43)))])
    return event(**fields)
