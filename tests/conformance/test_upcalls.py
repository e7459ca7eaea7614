# SPDX-License-Identifier: Apache-2.0
"""Upcalls do not grow with events: what evlbd writes keeps the bound that the
extension makes possible."""

import random

import pytest
from conftest import make_world
from test_events import packet
from world import A4, A6, B4, CONFIG, SOURCE

# Ticks of the epoch [2000, 3000) of instance a: one for each prefix.
PREFIXES = [2000, 2032, 2048, 2560, 2816, 2944, 2976, 2992]


@pytest.fixture(name="world")
def counted_world(world):
    """What is received here is not counted by send(), which goes on later."""
    yield world
    world.last = world.counters()


def misses(world):
    """Returns how many packets the datapath had to ask about."""
    return world.switch.lookups()[1]


@pytest.mark.parametrize("family, address, ticks, first, block", [
    (4, A4, range(2000, 3000), PREFIXES, "192.168.7.%d"),
    (6, A6, range(1 << 40, 1 << 41), [1 << 40, (1 << 40) + 1],
     "2001:db8:7::%x")])
def test_events_cost_nothing(world, family, address, ticks, first, block):
    """After first contact, no tick, entropy, TTL, DSCP, flow label, UDP port or
    packet size costs an upcall; a sender costs one."""
    rng = random.Random(5)

    def events(n, sources):
        return [packet(address, rng.choice(ticks), ttl=rng.randrange(2, 256),
                       tos=rng.randrange(256), sport=rng.randrange(1, 65536),
                       dport=rng.randrange(16384, 32768),
                       src=rng.choice(sources),
                       port_select=rng.randrange(65536),
                       payload=bytes(rng.randrange(1, 1000)),
                       **{"ident" if family == 4 else "label": i})
                for i in range(n)]

    world.switch.receive("p1", [packet(address, tick) for tick in first])
    before = misses(world)
    world.switch.receive("p1", events(200, [SOURCE[family]]))
    assert misses(world) - before == 0
    world.switch.receive("p1", events(2000, [SOURCE[family]]))
    assert misses(world) - before == 0

    # Senders: the first pass of each, and nothing more.
    sources = [block % i for i in range(1, 41)]
    world.switch.receive("p1", [packet(address, ticks[0], src=source)
                                for source in sources])
    assert misses(world) - before <= len(sources)
    before = misses(world)
    world.switch.receive("p1", events(1000, sources))
    assert misses(world) - before == 0


def test_slots_cost_nothing(world):
    """Slots and members: an upcall for each member, not for each slot."""
    rng = random.Random(6)
    world.switch.receive("p1", [packet(A6, 3000 + slot, version=3,
                                       slot_select=slot) for slot in (0, 1)])
    before = misses(world)
    world.switch.receive("p1", [
        packet(A6, rng.randrange(4096, 2 ** 64 - 1), version=3,
               slot_select=rng.randrange(65536)) for _ in range(1000)])
    # The newest epoch's ticks above those of the older ones: a handful of
    # prefixes, cut by theirs.
    assert misses(world) - before <= 64
    before = misses(world)
    world.switch.receive("p1", [
        packet(A6, rng.randrange(2 ** 40, 2 ** 64 - 1), version=3,
               slot_select=rng.randrange(65536)) for _ in range(1000)])
    assert misses(world) - before <= 8


@pytest.fixture
def changing(tmp_path_factory):
    """A balancer whose configuration may be changed."""
    yield from make_world(tmp_path_factory, "drop")


def test_other_instances_cost_nothing(changing):
    """Events of b cost no upcall while a gets an epoch after the other."""
    events = [packet(B4, tick, dport=19522) for tick in range(100, 1100, 7)]
    changing.switch.receive("p1", events)
    before = misses(changing)
    last = "members = ( { id = 61; }, { id = 62; } ); }"
    epochs = ""
    for i in range(6):
        epochs += (", { from = %d; bits = 3; members = ( { id = %d; } ); }"
                   % (5000 + 1001 * i, 1 + i % 2))
        changing.reload(CONFIG.replace(last, last + epochs))
        changing.switch.receive("p1", events)
    assert misses(changing) - before == 0
    changing.switch.receive("p1", [packet(A4, 5000)])
    assert misses(changing) - before > 0
