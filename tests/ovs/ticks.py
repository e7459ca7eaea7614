# SPDX-License-Identifier: Apache-2.0
"""Event streams through a pipeline of several instances and epochs, and how
many upcalls they may cause.

The pipeline's tables:

    0  port -> interface                  5  UDP port range -> lb_parse
    1  eth.dst                            6  lb_status, lb_version -> epochs
    2  ip.dst -> instance, address        8  member -> lb_forward, output
    4  ip.src of the instance             32 + instance  tick prefixes
"""

import random
import struct

from packets import checksum, ip, mac
from model import Member

SELF_MAC = "02:00:00:00:00:01"
VERSIONS = (2, 3)
TICK_END = 1 << 64


def prefixes(first, end):
    """The fewest (value, length) that cover the ticks from 'first' up to but
    not including 'end'."""
    result = []
    while first < end:
        size = first & -first or TICK_END
        while size > end - first:
            size >>= 1
        result.append((first, 64 - size.bit_length() + 1))
        first += size
    return result


def matches(prefix, tick):
    value, length = prefix
    return length == 0 or (value ^ tick) >> (64 - length) == 0


class Instance:
    """A load balancer: its address, sources, members, and current epochs."""

    def __init__(self, number, n_sources, n_members, seed=0):
        self.number = number
        self.address = "10.0.%d.1" % number
        self.table = 32 + number
        self.sources = ["172.16.%d.%d" % divmod(s, 256)
                        for s in range(n_sources)]
        self.members = list(range(100, 100 + n_members))
        self.rng = random.Random("%d %d" % (number, seed))
        self.epochs = []            # (number, prefixes), the last is current.
        self.next_epoch = 0

    def static_flows(self, out):
        """What no epoch change touches."""
        i = self.number
        flows = ["table=2,ip,nw_dst=%s,actions=set_field:%d->metadata,"
                 "set_field:%d->reg1,goto_table:4" % (self.address, i, i),
                 "table=5,priority=2,ip,nw_frag=yes,actions=drop",
                 "table=5,priority=1,udp,metadata=%d,udp_dst=0x4000/0xc000,"
                 "actions=lb_parse(table=6,epoch_table=%d)" % (i, self.table)]
        flows += ["table=4,ip,metadata=%d,nw_src=%s,actions=goto_table:5"
                  % (i, source) for source in self.sources]
        flows += ["table=6,lb_status=0,lb_version=%d,metadata=%d,"
                  "actions=goto_table:%d" % (version, i, self.table)
                  for version in VERSIONS]
        for m in self.members:
            member = Member(4, SELF_MAC, "02:00:00:00:%02x:%02x" % (i, m),
                            self.address, "10.1.%d.%d" % (i, m), 20000, 4)
            flows.append("table=8,metadata=%d,reg0=1,reg1=%d,lb_status=0,"
                         "lb_member=%d,ip,actions=%s,output:%s" % (
                             i, i, m, member.action(), out))
        return flows

    def group_id(self, epoch):
        return self.number << 16 | epoch

    def group(self, epoch):
        """An epoch's calendar: all 512 slots, members in random shares."""
        slots = {s: self.rng.choice(self.members) for s in range(512)}
        return ("group_id=%d,type=select,selection_method=lb_calendar,"
                "selection_method_param=%#x" % (self.group_id(epoch),
                                                8 << 24 | 9 << 16)
                + "".join(",bucket=bucket_id:%d,actions=set_field:%d->"
                          "lb_member" % slot for slot in slots.items()))

    def prefix_flows(self, epoch, parts):
        return ["table=%d,priority=%d,lb_tick=%#x/%#x,actions=group:%d" % (
            self.table, length + 1, value,
            (TICK_END - 1) ^ (TICK_END - 1 >> length), self.group_id(epoch))
            for value, length in parts]

    def change_epoch(self, boundary):
        """Returns the bundle by which ticks from 'boundary' on belong to a
        new epoch, make before break; the epoch before the current one goes.
        """
        new = self.next_epoch
        self.next_epoch += 1
        bundle = ["group add " + self.group(new)]
        new_parts = prefixes(boundary, TICK_END)
        if self.epochs:
            current, old_parts = self.epochs[-1]
            kept = prefixes(self.start, boundary)
            gone = set(old_parts) - set(kept) - set(new_parts)
            bundle += ["flow add " + f for f in self.prefix_flows(
                current, kept) + self.prefix_flows(new, new_parts)]
            self.epochs[-1] = current, kept
        else:
            gone = set()
            bundle += ["flow add " + f
                       for f in self.prefix_flows(new, new_parts)]
        bundle += ["flow delete_strict " + f.split(",actions=")[0]
                   for f in self.prefix_flows(new, sorted(gone))]
        for epoch, parts in self.epochs[:-1]:
            bundle += ["flow delete_strict " + f.split(",actions=")[0]
                       for f in self.prefix_flows(epoch, parts)]
            bundle.append("group delete group_id=%d" % self.group_id(epoch))
        self.epochs = self.epochs[-1:] + [(new, new_parts)]
        self.start = boundary
        return "\n".join(bundle)

    def met(self, ticks):
        """The prefixes that 'ticks' meet."""
        parts = [p for _, epoch in self.epochs for p in epoch]
        return {p for p in parts if any(matches(p, t) for t in ticks)}


def shared_flows(ports):
    """Tables that the instances have in common."""
    return ["table=0,in_port=%s,actions=set_field:1->reg0,goto_table:1" % port
            for port in ports] + [
        "table=1,dl_dst=%s,actions=goto_table:2" % SELF_MAC] + [
        "table=6,lb_status=%d,actions=drop" % n for n in range(1, 10)]


def ticks_around(rng, boundary, n, before=.25):
    """'n' distinct ticks in random order, a stretch of the stream in which
    'boundary' lies."""
    start = boundary - int(4 * n * before)
    return rng.sample(range(start, start + 4 * n), n)


class Frames:
    """Makes event packets with everything varied that no megaflow may match:
    TTL 2 to 255, DSCP, UDP ports, entropy, source MAC."""

    def __init__(self, instance, rng):
        self.rng = rng
        self.sources = [ip(s) for s in instance.sources]
        header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + 8 + 16 + 16, 0, 0, 64,
                             17, 0) + bytes(4) + ip(instance.address)
        self.template = bytearray(
            mac(SELF_MAC) + mac("aa:00:00:00:00:00") + b"\x08\0" + header
            + struct.pack(">HHHH", 5000, 19522, 8 + 16 + 16, 0)
            + b"LB\2\1" + bytes(12) + b"sixteen bytes ..")
        self.count = 0

    def make(self, tick):
        f = self.template
        n = self.count
        self.count += 1
        bits = self.rng.getrandbits(64)
        source = self.sources[n % len(self.sources)]
        f[10] = bits & 0xff                             # Source MAC.
        f[11] = n >> 3 & 0xff
        f[15] = bits >> 8 & 0xfc                        # DSCP.
        f[22] = 2 + n % 254                             # TTL.
        f[26:30] = source
        struct.pack_into(">HH", f, 34, bits >> 16 & 0xffff,
                         0x4000 | bits >> 32 & 0x3fff)  # UDP ports.
        version = VERSIONS[bits >> 63]
        struct.pack_into(">BBHHQ", f, 44, version, 1, bits >> 46 & 0xffff,
                         bits >> 40 & 0xffff, tick)
        f[24:26] = b"\0\0"
        struct.pack_into(">H", f, 24, checksum(bytes(f[14:34])))
        return bytes(f)


class Bound:
    """The upcalls that are allowed: for each epoch, ports x versions x
    (prefixes that ticks meet + members x addresses), here of one interface
    and one address an instance; and ports x sources on first contact."""

    def __init__(self, n_ports):
        self.n_ports = n_ports
        self.total = 0

    def first_contact(self, instance):
        self.total += self.n_ports * len(instance.sources)

    def epoch(self, instance, ticks):
        self.total += self.n_ports * len(VERSIONS) * (
            len(instance.met(ticks)) + len(instance.members))
