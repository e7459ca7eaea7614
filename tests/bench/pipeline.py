# SPDX-License-Identifier: Apache-2.0
"""The flows of each case, as 'flow' and 'group' lines of an ovs-ofctl bundle.

The load balancer's are those of one instance with one interface and one
address: tables 0 to 6, 8 and 32 as in the design's table.  Registers: 0, L2
interface; 1, instance; 2, which of the instance's addresses was hit.
"""

import random

import traffic

INSTANCE = 1
EPOCH_TABLE = 32 + INSTANCE
SLOT_BITS = 9
SLOTS = 1 << SLOT_BITS
ALL_TICKS = (0, 0)


def member_mac(member):
    return f"02:00:00:02:{member >> 8:02x}:{member & 255:02x}"


def member_ip(member):
    return f"10.2.{member >> 8}.{member & 255}"


def output(in_port, out_port):
    return [f"flow add table=0,in_port={in_port},actions=output:{out_port}"]


def rewrite(in_port, out_port):
    """What a user writes who has one server and no load balancer."""
    return [f"flow add table=0,in_port={in_port},udp,"
            f"nw_dst={traffic.SWITCH_IP},actions="
            f"set_field:{traffic.SWITCH_MAC}->eth_src,"
            f"set_field:{member_mac(1)}->eth_dst,"
            f"set_field:{traffic.SWITCH_IP}->ip_src,"
            f"set_field:{member_ip(1)}->ip_dst,"
            f"dec_ttl,set_field:17750->udp_dst,output:{out_port}"]


def front(in_port, senders):
    """Tables 0 to 6: classify, L2, L3, local, source, parse, header."""
    flows = [
        "table=0,priority=200,dl_dst=01:80:c2:00:00:00/ff:ff:ff:ff:ff:f0,"
        "actions=LOCAL",
        f"table=0,priority=100,in_port={in_port},vlan_tci=0x0000/0x1fff,"
        "actions=set_field:0->reg0,goto_table:1",
        "table=1,priority=100,reg0=0,dl_dst=33:33:00:00:00:01,"
        "actions=goto_table:2",
        "table=1,priority=100,reg0=0,dl_dst=ff:ff:ff:ff:ff:ff,"
        "actions=goto_table:2",
        f"table=1,priority=100,reg0=0,dl_dst={traffic.SWITCH_MAC},"
        "actions=goto_table:2",
        f"table=2,priority=100,reg0=0,ip,nw_dst={traffic.SWITCH_IP},"
        f"actions=set_field:{INSTANCE}->reg1,set_field:0->reg2,goto_table:3",
        f"table=2,priority=100,reg0=0,arp,arp_tpa={traffic.SWITCH_IP},"
        f"actions=set_field:{INSTANCE}->reg1,set_field:0->reg2,goto_table:3",
        "table=3,priority=100,arp,actions=drop",
        "table=3,priority=100,icmp,icmp_type=8,actions=drop",
        "table=3,priority=90,icmp,actions=drop",
        "table=3,priority=10,ip,actions=goto_table:4",
        "table=5,priority=200,ip,ip_frag=yes,actions=drop",
        f"table=5,priority=100,reg1={INSTANCE},udp,tp_dst=0x4000/0xc000,"
        f"actions=lb_parse(table=6,epoch_table={EPOCH_TABLE})",
        "table=5,priority=10,actions=drop"]
    flows += [f"table=4,priority=100,reg1={INSTANCE},ip,"
              f"nw_src={traffic.sender_ip(i)},actions=goto_table:5"
              for i in range(senders)]
    flows += [f"table=6,priority=100,reg1={INSTANCE},lb_status=0,"
              f"lb_version={v},actions=goto_table:{EPOCH_TABLE}"
              for v in (2, 3)]
    flows += [f"table=6,priority=100,reg1={INSTANCE},lb_status={status},"
              "actions=drop" for status in range(1, 8)]
    return [f"flow add {f}" for f in flows]


def range_prefixes(begin, end):
    """Returns the shortest list of (value, length) that is [begin, end)."""
    prefixes = []
    while begin != end:
        log2 = (end - begin).bit_length() - 1
        if begin:
            log2 = min(log2, (begin & -begin).bit_length() - 1)
        prefixes.append((begin, 64 - log2))
        begin += 1 << log2
    return prefixes


def group_id(epoch):
    return 1 << 28 | INSTANCE << 16 | epoch


def prefix_match(prefix):
    """Returns the match of one prefix, which wins over all shorter ones."""
    value, length = prefix
    mask = (1 << 64) - (1 << (64 - length))
    tick = f",lb_tick={value:#x}/{mask:#x}" if length else ""
    return f"table={EPOCH_TABLE},priority={100 + length}{tick}"


def prefix_flow(prefix, epoch):
    return (f"flow add {prefix_match(prefix)},"
            f"actions=group:{group_id(epoch)}")


def calendar(members, seed):
    """Returns the member of each slot: all of them in turns, shuffled."""
    slots = [1 + i % members for i in range(SLOTS)]
    random.Random(seed).shuffle(slots)
    return slots


def group(epoch, slots, verb="add"):
    param = 8 << 24 | SLOT_BITS << 16
    buckets = "".join(f",bucket=bucket_id:{slot},"
                      f"actions=set_field:{member}->lb_member"
                      for slot, member in enumerate(slots))
    return (f"group {verb} group_id={group_id(epoch)},type=select,"
            f"selection_method=lb_calendar,"
            f"selection_method_param={param:#x}{buckets}")


def members(count, out_port, keep=False):
    """Table 8: what becomes of a packet for each member."""
    flows = [f"flow add table=8,priority=100,reg0=0,reg1={INSTANCE},reg2=0,"
             f"ip,lb_status=0,lb_member={m},"
             f"actions=lb_forward(eth_src={traffic.SWITCH_MAC},"
             f"eth_dst={member_mac(m)},ip_src={traffic.SWITCH_IP},"
             f"ip_dst={member_ip(m)},base={17000 + 16 * m},bits=4"
             f"{',keep' if keep else ''}),output:{out_port}"
             for m in range(1, count + 1)]
    return flows + ["flow add table=8,priority=50,lb_status=8,actions=drop",
                    "flow add table=8,priority=10,actions=drop"]


def balancer(in_port, out_port, epochs, n_members, senders):
    """The whole pipeline.  'epochs' is a list of lists of prefixes; each epoch
    has a calendar of its own."""
    lines = front(in_port, senders) + members(n_members, out_port)
    for epoch, prefixes in enumerate(epochs):
        lines.append(group(epoch, calendar(n_members, epoch)))
        lines += [prefix_flow(prefix, epoch) for prefix in prefixes]
    return lines
