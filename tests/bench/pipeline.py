# SPDX-License-Identifier: Apache-2.0
"""The flows of each case, as 'flow' and 'group' lines of an ovs-ofctl bundle.

The load balancer's are what the controller installs for one instance with one
interface and one IPv4 address, as far as IPv4 can meet it: the same tables,
registers, matches and priorities, so that the datapath flows have the same
masks.  Register 0 holds the interface, 1 the instance.
"""

import random

import traffic

INSTANCE = 1
EPOCH_TABLE = 32 + INSTANCE
SLOT_BITS = 9
SLOTS = 1 << SLOT_BITS
ALL_TICKS = (0, 0)
UNTAGGED = "vlan_tci=0x0000/0x1fff"


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
    ip, mac = traffic.SWITCH_IP, traffic.SWITCH_MAC
    ours = f"reg1={INSTANCE}"
    flows = [
        f"table=0,priority=30,{UNTAGGED},"
        "dl_dst=01:80:c2:00:00:00/ff:ff:ff:ff:ff:f0,actions=LOCAL",
        f"table=0,priority=20,in_port={in_port},{UNTAGGED},"
        "actions=set_field:0->reg0,goto_table:1",
        *(f"table=1,priority=10,reg0=0,dl_dst={dst},actions=goto_table:2"
          for dst in ("33:33:00:00:00:01", "ff:ff:ff:ff:ff:ff", mac)),
        f"table=2,priority=30,reg0=0,arp,arp_tpa={ip},"
        f"actions=set_field:{INSTANCE}->reg1,goto_table:3",
        f"table=2,priority=20,reg0=0,ip,nw_dst={ip},"
        f"actions=set_field:{INSTANCE}->reg1,goto_table:3",
        "table=2,priority=20,ip,nw_src=0.0.0.0,nw_dst=0.0.0.0,actions=drop",
        "table=2,priority=10,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,"
        "actions=drop",
        "table=2,priority=9,ip,actions=drop",
        f"table=3,priority=30,reg0=0,icmp,nw_dst={ip},ip_frag=no,icmp_type=8,"
        "icmp_code=0,actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],"
        "move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[],"
        f"set_field:{ip}->ip_src,set_field:0->icmp_type,"
        f"set_field:{mac}->eth_src,output:IN_PORT",
        f"table=3,priority=10,{ours},icmp,actions=drop",
        f"table=3,priority=10,{ours},arp,actions=drop",
        f"table=3,priority=1,{ours},actions=goto_table:4",
        f"table=4,priority=10,{ours},udp,actions=drop",
        f"table=4,priority=1,{ours},ip,actions=drop",
        f"table=5,priority=30,{ours},ip,ip_frag=yes,actions=drop",
        f"table=5,priority=20,{ours},udp,tp_dst=0x4000/0xc000,"
        "actions=set_field:0->reg0,"
        f"lb_parse(table=6,epoch_table={EPOCH_TABLE})",
        f"table=5,priority=1,{ours},ip,actions=drop"]
    flows += [f"table=4,priority=30,{ours},udp,"
              f"nw_src={traffic.sender_ip(i)},actions=goto_table:5"
              for i in range(senders)]
    flows += [f"table=6,priority=10,{ours},lb_status=0,lb_version={v},"
              f"actions=goto_table:{EPOCH_TABLE}" for v in (2, 3)]
    flows += [f"table=6,priority=10,{ours},lb_status={status},actions=drop"
              for status in (1, 2, 3, 4, 5, 6, 7, 9)]
    flows.append(f"table={EPOCH_TABLE},priority=1,actions=drop")
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
    flows = [f"flow add table=8,priority=20,reg1={INSTANCE},{UNTAGGED},ip,"
             f"nw_dst={traffic.SWITCH_IP},lb_member={m},"
             f"actions=lb_forward(eth_src={traffic.SWITCH_MAC},"
             f"eth_dst={member_mac(m)},ip_src={traffic.SWITCH_IP},"
             f"ip_dst={member_ip(m)},base={17000 + 16 * m},bits=4"
             f"{',keep' if keep else ''}),output:{out_port}"
             for m in range(1, count + 1)]
    return flows + [
        f"flow add table=8,priority=30,reg1={INSTANCE},lb_status=8,"
        "actions=drop",
        f"flow add table=8,priority=1,reg1={INSTANCE},actions=drop"]


def balancer(in_port, out_port, epochs, n_members, senders):
    """The whole pipeline.  'epochs' is a list of lists of prefixes; each epoch
    has a calendar of its own."""
    lines = front(in_port, senders) + members(n_members, out_port)
    for epoch, prefixes in enumerate(epochs):
        lines.append(group(epoch, calendar(n_members, epoch)))
        lines += [prefix_flow(prefix, epoch) for prefix in prefixes]
    return lines
