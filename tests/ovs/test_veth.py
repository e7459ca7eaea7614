# SPDX-License-Identifier: Apache-2.0
"""The same packets through the real userspace datapath: AF_PACKET ports on
veth pairs, hosts in namespaces of their own."""

import os
import random
import signal

import pytest

import model
from cases import (BOTH, IPV4, IPV6, each_member, expect, load, random_event)
from netns import Host
from packets import event, lb
from pipeline import fault_of
from switch import Switch
from taps import Tap, forward


class Wire:
    """A switch between a host that sends and one that receives, raw."""

    def __init__(self, switch, sender, receiver):
        self.switch = switch
        self.sender = sender.inside(lambda: Tap("eth0"))
        self.receiver = receiver.inside(lambda: Tap("eth0"))

    def forward(self, frames):
        return forward(self.sender, frames, self.receiver)

    def forward_in_bursts(self, frames, n):
        """The same, but the switch finds 'n' of the frames at once: they are
        sent while it is stopped."""
        got = []
        pid = self.switch.processes["ovs-vswitchd"].pid
        for i in range(0, len(frames), n):
            os.kill(pid, signal.SIGSTOP)
            try:
                self.sender.send(frames[i:i + n])
            finally:
                os.kill(pid, signal.SIGCONT)
            got += [self.receiver.wait() for _ in frames[i:i + n]]
        return got + self.forward([])


@pytest.fixture(scope="module", params=[1500, 9000, 9100])
def wire(request, programs, tmp_path_factory):
    mtu = request.param
    hosts = []
    switch = None
    try:
        hosts += [Host("h1", "v1", mtu)]
        hosts += [Host("h2", "v2", mtu)]
        switch = Switch(programs, tmp_path_factory.mktemp("ovs"))
        switch.start("--disable-system")
        switch.add_netdev_bridge("br0", ["v1", "v2"])
        load(switch, "v2")
        # Marks go to the receiver.
        switch.add_flows("br0", "table=0,priority=65535,dl_type=0x88b5,"
                         "actions=output:v2")
        wire = Wire(switch, *hosts)
        wire.mtu = mtu
        wire.forward([])
        yield wire
        switch.check_health()
    finally:
        if switch:
            switch.stop()
        for host in hosts:
            host.destroy()


def fits(wire, frame):
    """A VLAN tag is no part of the MTU."""
    tagged = frame[12:14] in (b"\x81\0", b"\x88\xa8")
    return len(frame) <= 14 + 4 * tagged + wire.mtu


def check(wire, frames, burst=None):
    """A batch leaves the switch megaflow by megaflow: only what one member
    gets of one kind keeps its order."""
    frames = [f for f in frames if fits(wire, f)]
    got = wire.forward_in_bursts(frames, burst) if burst \
        else wire.forward(frames)
    expected = [expect(f) for f in frames]
    for key in {f[:16] for f in expected}:
        assert [f.hex() for f in got if f[:16] == key] == [
            f.hex() for f in expected if f[:16] == key]
    assert len(got) == len(expected)


@pytest.mark.parametrize("family", [4, 6])
def test_every_case(wire, family):
    cases = dict(BOTH, **(IPV4 if family == 4 else IPV6))
    for name, fields in cases.items():
        check(wire, each_member(family=family, **fields))


def test_faults(wire):
    frames = [event(4, ttl=1), event(6, ttl=0), event(4, magic=1),
              event(6, version=1), event(4, length=400), event(6, length=9),
              event(4, frag=0x2000), event(4, total=21),
              event(6, header=lb(1)[:15], payload=b"")]
    got = wire.forward(frames)
    assert sorted((fault_of(g), g[6:]) for g in got) == sorted(
        (model.parse(f).status, f[6:]) for f in frames)


@pytest.mark.parametrize("seed", range(2))
def test_random(wire, seed):
    # What receives from packet sockets clears a tag's CFI.
    rng = random.Random(seed)
    frames = [f for f in (random_event(rng, 0xefff) for _ in range(600))
              if fits(wire, f)]
    for i in range(0, len(frames), 20):
        check(wire, frames[i:i + 20])


def test_batches(wire):
    """Batches as full as they get, of both families, all members, and
    faults between them."""
    rng = random.Random(1)
    frames = []
    for _ in range(1500):
        fields = {"payload": rng.randbytes(rng.randrange(100)),
                  "csum": rng.choice(("right", "wrong", "absent")),
                  "port_select": rng.getrandbits(16)}
        frames.append(event(rng.choice((4, 6)), tick=rng.getrandbits(64),
                            **fields))
    check(wire, frames, burst=150)
    wire.switch.appctl("dpif-netdev/pmd-stats-clear")
    check(wire, frames, burst=150)
    stats = wire.switch.appctl("dpif-netdev/pmd-stats-show")
    batch = [float(line.split(":")[1]) for line in stats.splitlines()
             if "avg. packets per output batch" in line]
    assert max(batch) > 8, stats

    mixed = [f for pair in zip(frames, (event(4, magic=n % 9, tick=n)
                                        for n in range(300))) for f in pair]
    got = wire.forward_in_bursts(mixed, 150)
    assert sorted(g for g in got if not fault_of(g)) == sorted(
        expect(f) for f in frames[:300])
    assert sum(fault_of(g) == model.BAD_MAGIC for g in got) == 300
