# SPDX-License-Identifier: Apache-2.0
"""What was connected while a switch was away: it is given what its ticks have
not reached, and what they have is withdrawn, for it would split events."""

import json
import os
import socket
import struct
import subprocess
import time

import pytest
from switch import TOP, find_programs
from test_random import Tables, member
from world import World

CONFIG = """
openflow = { listen = [ "unix:%%(directory)s/of.sock" ]; };
admin = { socket = "%%(directory)s/admin.sock"; };
state_file = "%%(directory)s/evlb.db";
l2_miss = "%%(l2_miss)s";
neighbour = { resolve = false; };
bridges = ( { name = "br0"; datapath_id = "42"; } );
interfaces = ( { name = "plain"; mac = "02:00:00:00:00:01"; } );
instances = (
  { name = "a"; id = 3; addresses = [ "10.0.0.1" ];
    sources = [ "0.0.0.0/0" ]; look_ahead = 200;
    sync = "udp:127.0.0.1:%d"; sync_from = "any";
    members = ( %s );
    epochs = ( { id = 1; from = 0; members = ( { id = 1; } ); } ); } );
"""
EVLBCTL = os.path.join(TOP, "build", "bin", "evlbctl")
RATE = 1000000


class Scene:
    """A switch, evlbd, and a sender whose tick is the time in us."""

    def __init__(self, directory):
        self.world = World(find_programs(), directory, "drop")
        self.sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.world.start_evlbd(CONFIG % (self.port, ", ".join(
            member(m) for m in (1, 2))))
        switch = self.world.switch
        switch.start("--enable-dummy=override", "--disable-system")
        switch.add_dummy_bridge("br0", ["p1", "p2"])
        switch.vsctl("set", "bridge", "br0",
                     "other_config:datapath-id=0000000000000042")
        self.attach()
        self.world.wait_committed(1)

    def attach(self, name="of.sock"):
        self.world.switch.vsctl("set-controller", "br0",
                                "unix:" + self.world.path(name))

    def detach(self):
        """Not without any controller: with its first one a bridge forgets its
        flows."""
        self.attach("nobody.sock")
        self.wait("targets", lambda t: '"state": "ready"' not in t)

    def wait(self, command, condition):
        self.world.switch.wait_for(
            lambda: condition(self.ctl("--json", command)), command)

    @staticmethod
    def tick():
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000

    def sync(self):
        self.sender.sendto(struct.pack(">HBBIQIQ", 0x4c43, 2, 0, 1,
                                       self.tick(), RATE, 0),
                           ("127.0.0.1", self.port))
        time.sleep(0.05)

    def ctl(self, *args):
        return subprocess.run(
            [EVLBCTL, "--socket", self.world.path("admin.sock"), *args],
            stdout=subprocess.PIPE, text=True, timeout=30, check=True).stdout

    def epochs(self):
        return {e["id"]: int(e["first"])
                for e in json.loads(self.ctl("--json", "epochs"))["epochs"]}

    def held(self):
        return set(Tables(self.world.switch).calendars)


@pytest.fixture(name="scene")
def make_scene(tmp_path):
    scene = Scene(str(tmp_path))
    yield scene
    scene.world.stop()


def test_too_late(scene):
    """Even with another one behind it that comes in time."""
    scene.detach()
    scene.sync()
    scene.ctl("lb", "set", "a", "2=1")
    late = max(scene.epochs())
    passed = scene.epochs()[late]
    scene.ctl("lb", "set", "a", "--at-event",
              str(scene.tick() + 3600 * RATE), "1=1", "2=1")
    in_time = max(scene.epochs())
    while scene.tick() <= passed:
        scene.sync()
    scene.attach()
    scene.wait("epochs", lambda t: str(passed) not in t)
    scene.world.switch.wait_for(lambda: scene.held() == {1, in_time},
                                "what is left")
    assert late not in scene.epochs()
    assert "is withdrawn" in scene.world.log()


def test_withdrawn_for_good(scene):
    """A restart does not bring it back."""
    scene.detach()
    scene.sync()
    scene.ctl("lb", "set", "a", "2=1")
    passed = max(scene.epochs().values())
    while scene.tick() <= passed:
        scene.sync()
    scene.attach()
    scene.wait("epochs", lambda t: str(passed) not in t)
    scene.world.evlbd.terminate()
    scene.world.evlbd.wait()
    scene.world.start_evlbd(CONFIG % (scene.port, ", ".join(
        member(m) for m in (1, 2))))
    scene.world.switch.wait_for(
        lambda: os.path.exists(scene.world.path("admin.sock")), "evlbd")
    assert list(scene.epochs()) == [1]


def test_in_time(scene):
    scene.detach()
    scene.sync()
    scene.ctl("lb", "set", "a", "--at-event",
              str(scene.tick() + 3600 * RATE), "2=1")
    scene.attach()
    scene.world.switch.wait_for(lambda: scene.held() == set(scene.epochs()),
                                "all epochs")
    assert len(scene.epochs()) == 2


def test_empty_switch(scene):
    """One that holds nothing has decided nothing."""
    scene.detach()
    scene.sync()
    scene.ctl("lb", "set", "a", "2=1")
    passed = max(scene.epochs().values())
    scene.world.switch.ofctl("del-flows", "br0")
    scene.world.switch.ofctl("del-groups", "br0")
    while scene.tick() <= passed:
        scene.sync()
    scene.attach()
    scene.world.switch.wait_for(lambda: scene.held() == set(scene.epochs()),
                                "all epochs")
    assert len(scene.epochs()) == 2
