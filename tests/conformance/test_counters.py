# SPDX-License-Identifier: Apache-2.0
"""What "evlbctl counters" says of packets that were sent, and that it never
goes back."""

import json
import os

import pytest
from packets import event
from switch import TOP
from test_events import packet
from world import A4, B4, CONFIG

EVLBCTL = os.path.join(TOP, "build", "bin", "evlbctl")


def ask(world, *command):
    return json.loads(world.switch.run(
        EVLBCTL, "--socket", world.path("admin.sock"), "--json", *command))


def read(world):
    """Returns {(scope, owner, member, name): packets}."""
    world.switch.settle()
    reply = ask(world, "counters")
    assert reply["errors"] == []
    counters = [c for c in reply["counters"] if not c["port"]]
    result = {(c["scope"], c["instance"] or c["interface"], c["member"],
               c["name"]): c["packets"] for c in counters}
    assert len(result) == len(counters)
    return result


def growth(world, *frames, port="p1"):
    before = read(world)
    world.switch.receive(port, list(frames))
    after = read(world)
    assert set(before) <= set(after)
    return {key: n - before.get(key, 0) for key, n in after.items()
            if n != before.get(key, 0)}


def instance(name, counter):
    return ("instance", name, -1, counter)


def member(name, number, counter):
    return ("member", name, number, counter)


@pytest.mark.parametrize("n", [1, 17])
@pytest.mark.parametrize("frame, counters", [
    (packet(A4, 1000),
     [instance("a", "lb_rx"), instance("a", "rx_v2"),
      member("a", 1, "mbr_tx")]),
    (packet(A4, 1001, version=3, slot_select=1),
     [instance("a", "lb_rx"), instance("a", "rx_v3"),
      member("a", 2, "mbr_tx")]),
    (packet(A4, 1003),
     [instance("a", "lb_rx"), instance("a", "rx_v2"),
      member("a", 4, "no_port")]),
    (packet(A4, 1000, src="203.0.113.9"),
     [instance("a", "lb_rx"), instance("a", "blocked_src")]),
    (packet(A4, 1000, magic=1),
     [instance("a", "lb_rx"), instance("a", "bad_magic")]),
    (packet(A4, 1000, ttl=1),
     [instance("a", "lb_rx"), instance("a", "rx_v2"),
      instance("a", "ttl_expired")]),
    (packet(B4, 7, dport=19522),
     [instance("b", "lb_rx"), instance("b", "rx_v2"),
      instance("b", "late_drop")]),
])
def test_growth(world, n, frame, counters):
    """N packets of a kind make its counters, and no others, grow by N."""
    assert growth(world, *[frame] * n) == {c: n for c in counters}


def test_not_an_instances(world):
    """A frame for nobody is counted, but for no instance."""
    grown = growth(world, event(4, 1000, eth_dst="02:00:00:00:00:99"))
    assert grown == {("interface", "plain", -1, "l2_dst_drop"): 1}


def test_ports(world):
    """Ports count what they receive and send."""
    def rx_tx():
        return {(c["port"], c["name"]): c["packets"]
                for c in ask(world, "counters")["counters"] if c["port"]}
    before = rx_tx()
    world.switch.receive("p1", [packet(A4, 1000)] * 9)
    world.switch.settle()
    after = rx_tx()
    assert after["p1", "port_rx"] - before["p1", "port_rx"] >= 9
    assert after["p2", "port_tx"] - before["p2", "port_tx"] == 9


def test_replaced_and_deleted(world):
    """A member's flow that is replaced, deleted and added again: what it had
    counted stays, also what nobody has read before the change."""
    key = member("a", 1, "mbr_tx")
    frame = packet(A4, 1000)
    start = read(world)[key]

    # Sent and not read; then replaced.  What the switch has not added to its
    # flows yet when they change, it adds to those that are there then.
    world.switch.receive("p1", [frame] * 3)
    moved = CONFIG.replace('bits = 2; egress = "p2"',
                           'bits = 2; egress = "p3"')
    assert moved != CONFIG
    try:
        world.reload(moved)
        assert read(world)[key] == start + 3
        world.switch.receive("p1", [frame] * 4)
        world.switch.settle()

        # Without instance a, its flows are deleted.
        a, b = CONFIG.index('{ name = "a"'), CONFIG.index('{ name = "b"')
        world.reload(CONFIG[:a] + CONFIG[b:])
        gone = member("#3", 1, "mbr_tx")
        world.switch.wait_for(lambda: read(world).get(gone) == start + 7,
                              "the last count of the flow that went")
    finally:
        world.reload(CONFIG)
    assert read(world)[key] == start + 7
    world.switch.receive("p1", [frame] * 2)
    assert read(world)[key] == start + 9
    world.last = world.counters()
