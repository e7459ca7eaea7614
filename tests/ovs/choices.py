# SPDX-License-Identifier: Apache-2.0
"""Which member a calendar chooses, made visible: a packet goes out with the
member's ID in its destination address."""

import model
from packets import event
from pipeline import fault_of, faults, parse_flows

MEMBER_MAC = "02:01:00:00:%02x:%02x"


def member_flow(member, out="p2"):
    """A member's packets go out with its ID in their destination address."""
    return "table=8,lb_status=0,lb_member=%d,actions=set_field:%s->eth_dst," \
        "output:%s" % (member, MEMBER_MAC % (member >> 8, member & 255), out)


def load(ovs, group, members, epoch_flows=None):
    """The pipeline with 'group' for all ticks, and flows for 'members'."""
    ovs.add_group("br0", group)
    ovs.add_flows("br0", *parse_flows(ovs, "p2"),
                  *(epoch_flows or ["table=32,actions=group:7"]),
                  *[member_flow(m) for m in sorted(set(members))],
                  *faults(8, "p2"))


def chosen(ovs, frames):
    """For each of 'frames' the member that it went to, or ("status", n)."""
    result = []
    got = ovs.forward("p1", frames, "p2")
    assert len(got) == len(frames)
    for frame in got:
        status = fault_of(frame)
        assert status or frame[:4] == b"\2\1\0\0", frame.hex()
        result.append(("status", status) if status
                      else model.word(frame, 4))
    return result


def expected(frames, slots, bits=9, xor=0):
    result = []
    for frame in frames:
        slot = model.slot(model.parse(frame), bits, xor)
        result.append(slots.get(slot, ("status", model.NO_SLOT)))
    return result


def selectors(rng, n):
    """Events of both versions and families over all slot selectors."""
    frames = []
    for _ in range(n):
        frames.append(event(rng.choice((4, 6)), tick=rng.getrandbits(64),
                            version=rng.choice((2, 3)),
                            slot_select=rng.getrandbits(16)))
    return frames
