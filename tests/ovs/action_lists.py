# SPDX-License-Identifier: Apache-2.0
"""Runs the same frames through flows with lb_* actions among others."""

import re

import model
from model import Member
from packets import event

SELF = "02:00:00:00:00:01"


def make(i, base, bits=0, keep=False):
    return {4: Member(4, SELF, "02:00:00:00:00:%02x" % i, "10.0.0.1",
                      "10.0.0.%d" % i, base, bits, keep),
            6: Member(6, SELF, "02:00:00:00:00:%02x" % i, "2001:db8:2::1",
                      "2001:db8:3::%d" % i, base, bits, keep)}


A = make(11, 20000, 4)
B = make(12, 30000, 4, keep=True)
FRAMES = [event(f, tick=t, port_select=t, csum=c) for f in (4, 6)
          for t in (0, 1, 7, 15, 16) for c in ("right", "absent")]


def forwarded(frames, member=A):
    return [model.forward(f, member[4 if f[12:14] == b"\x08\0" else 6])
            for f in frames]


def both(actions, match="", table=0, priority=100):
    """Flows for IPv4 and IPv6; A and B in 'actions' stand for lb_forward to
    these members."""
    flows = []
    for family, proto in ((4, "ip"), (6, "ipv6")):
        text = re.sub(r"\b[AB]\b", lambda m: {"A": A, "B": B}[m.group(0)][
            family].action(), actions)
        flows.append("table=%d,priority=%d,%s%s,actions=%s" % (
            table, priority, proto, match and "," + match, text))
    return flows


def run_frames(switch, *flows, frames=FRAMES, out="p2"):
    """Loads 'flows' (strings, or lists of them) and lets p1 receive 'frames'
    twice, by upcall and without, with the same outcome.  Returns what 'out'
    sent; what the other ports sent is in 'switch.others'."""
    switch.add_flows("br0", switch.mark_flow(), *[
        line for f in flows for line in ([f] if isinstance(f, str) else f)])
    switch.settle()
    first = switch.forward("p1", frames, out)
    switch.others = {port: switch.sent(port) for port in ("p1", "p3", "p4")}
    again = switch.forward("p1", frames, out)
    assert [f.hex() for f in again] == [f.hex() for f in first]
    for port, sent in switch.others.items():
        assert switch.sent(port) == sent
    return first
