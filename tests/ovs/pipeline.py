# SPDX-License-Identifier: Apache-2.0
"""The packet's way through the switch as flows: the smallest pipeline that
has all three passes, and shows each fault on the wire.

    table 0   marks, then all IP packets (or all packets) to 5
    table 5   lb_parse
    table 6   lb_status: valid ones to 32; others go out marked with it
    table 32  tick prefix -> group
    group     calendar: slot -> member
    table 8   member -> lb_forward, output
"""

from packets import mac

FAULT_MAC = "02:ee:00:00:00:%02x"


def faults(table, out):
    """Flows that send a packet whose 'lb_status' is not 0 to 'out' with the
    status in its destination address."""
    return ["table=%d,lb_status=%d,actions=set_field:%s->eth_dst,output:%s"
            % (table, n, FAULT_MAC % n, out) for n in range(1, 10)]


def fault_of(frame):
    """The 'lb_status' that faults() left in 'frame'; 0 if it left none."""
    return frame[5] if frame[:5] == mac(FAULT_MAC % 0)[:5] else 0


def parse_flows(switch, out, matches=("ip", "ipv6"), epoch_table=32):
    """Flows up to the epoch table for packets that one of 'matches' takes."""
    return [switch.mark_flow(),
            "table=6,lb_status=0,actions=goto_table:%d" % epoch_table] \
        + ["table=0,%sactions=goto_table:5" % (m and m + ",")
           for m in matches] \
        + ["table=5,actions=lb_parse(table=6,epoch_table=%d)" % epoch_table] \
        + faults(6, out)


def member_flows(members, out):
    """'members' is {member id: {family: Member}}."""
    return ["table=8,lb_status=0,lb_member=%d,%s,actions=%s,output:%s" % (
        i, "ip" if family == 4 else "ipv6", member.action(), out)
        for i, families in members.items()
        for family, member in families.items()] + faults(8, out)


def calendar(group, slots, table=8, bits=9, xor=0):
    """A calendar group as ovs-ofctl takes it; 'slots' is {slot: member id}."""
    return ("group_id=%d,type=select,selection_method=lb_calendar,"
            "selection_method_param=%#x%s" % (
                group, table << 24 | bits << 16 | xor,
                "".join(",bucket=bucket_id:%d,actions="
                        "set_field:%d->lb_member" % slot
                        for slot in slots.items())))
