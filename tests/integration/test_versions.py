# SPDX-License-Identifier: Apache-2.0
"""Switches that can less: OpenFlow 1.3, calendars as flows, and a stock Open
vSwitch, which is refused by name."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "ovs"))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))

import model  # noqa: E402
import netns  # noqa: E402
from packets import event  # noqa: E402
from switch import TOP, Switch, end_with_parent, find_programs  # noqa: E402

EVLBD = os.path.join(TOP, "build", "bin", "evlbd")
CONFIG = """
openflow = { listen = [ "unix:%(dir)s/of.sock" ]; role = "%(role)s"; };
admin = { socket = "%(dir)s/admin.sock"; };
bridges = ( { name = "br0"; datapath_id = "42"; calendar = "%(mode)s"; } );
interfaces = ( { name = "data"; mac = "02:00:00:00:00:01"; } );
instances = ( { name = "a"; id = 3; addresses = [ "10.0.0.1" ];
    sources = [ "0.0.0.0/0" ];
    members = (
        { id = 1; ip = "10.1.0.1"; mac = "02:00:00:00:01:01"; base = 20000;
          egress = "p2"; },
        { id = 2; ip = "10.1.0.2"; mac = "02:00:00:00:01:02"; base = %(base)d;
          egress = "p3"; } );
    epochs = ( { id = 7; from = 0; bits = 3; xor = 5;
                 members = ( { id = 1; weight = 3; }, { id = 2; } ); }
               %(more)s ); } );
"""
MORE = """, { id = 8; from = 5000; bits = 0; members = ( { id = 2; } ); }"""
MEMBERS = {1: ("p2", model.Member(4, "02:00:00:00:00:01", "02:00:00:00:01:01",
                                  "10.0.0.1", "10.1.0.1", 20000)),
           2: ("p3", model.Member(4, "02:00:00:00:00:01", "02:00:00:00:01:02",
                                  "10.0.0.1", "10.1.0.2", 30000))}


@pytest.fixture(scope="module", autouse=True)
def private_namespace():
    """Nothing here is seen by the machine's own network."""
    netns.enter_private()


class World:
    """evlbd, and a switch that speaks some versions."""

    base = 30000                # The first port of member 2.

    def __init__(self, directory, protocols, mode, programs=None,
                 role="equal"):
        self.role = role
        self.directory = str(directory)
        self.mode = mode
        self.out = os.path.join(self.directory, "evlbd.out")
        self.evlbd = None
        self.start_evlbd()
        self.switch = Switch(programs or find_programs(), directory)
        self.switch.start("--enable-dummy=override", "--disable-system")
        self.switch.add_dummy_bridge("br0", ["p1", "p2", "p3"])
        self.switch.vsctl("set", "bridge", "br0", "protocols=" + protocols,
                          "other_config:datapath-id=0000000000000042")
        self.switch.vsctl("set-controller", "br0",
                          "unix:%s/of.sock" % self.directory)
        self.version = "OpenFlow13" if "15" not in protocols else "OpenFlow15"

    def write(self, more=""):
        with open(os.path.join(self.directory, "evlb.conf"), "w",
                  encoding="utf-8") as conf:
            conf.write(CONFIG % {"dir": self.directory, "mode": self.mode,
                                 "role": self.role, "more": more,
                                 "base": self.base})

    def start_evlbd(self, more=""):
        self.write(more)
        self.evlbd = subprocess.Popen(
            [EVLBD, "-c", self.directory + "/evlb.conf", "--epoch-log",
             self.directory + "/epochs.json"],
            stdin=subprocess.DEVNULL,
            stdout=open(self.out, "a", encoding="utf-8"),
            stderr=subprocess.STDOUT, preexec_fn=end_with_parent)
        self.wait_log("listening")

    def wait_log(self, text, seen=0):
        deadline = time.monotonic() + 20
        while not re.search(text, self.log()[seen:]):
            assert self.evlbd.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()[seen:]
            time.sleep(0.02)

    def log(self):
        with open(self.out, encoding="utf-8") as out:
            return out.read()

    def flows(self):
        """Returns what stands in the switch, without counters."""
        text = self.switch.ofctl("dump-flows", "br0", version=self.version)
        return sorted(re.sub(r"(duration|n_packets|n_bytes|idle_age|"
                             r"hard_age)=[^,]*, ?", "", line)
                      for line in text.splitlines()[1:])

    def stop(self):
        self.evlbd.terminate()
        self.evlbd.wait()
        self.switch.stop()


CHOICES = [("OpenFlow13", "auto"), ("OpenFlow13", "flows"),
           ("OpenFlow13,OpenFlow15", "flows"),
           ("OpenFlow13,OpenFlow15", "auto")]


@pytest.fixture(params=CHOICES, ids=["%s-%s" % c for c in CHOICES])
def world(request, tmp_path):
    """Each way to have calendars."""
    made = World(tmp_path, *request.param)
    made.wait_log("change committed")
    made.groups = request.param[1] == "auto" and "15" in request.param[0]
    yield made
    made.switch.check_health()
    made.stop()


def check_events(world, tick_of_second=None):
    """Events of all slots go where the calendars say."""
    world.switch.ofctl("add-flow", "br0", world.switch.mark_flow(),
                       version=world.version)
    flows = world.switch.ofctl("dump-flows", "br0", "table=7",
                               version=world.version)
    assert ("table=7" in flows) != world.groups
    slots = read_slots(world)
    for tick in list(range(16)) + [4999, 5000, 5001, 2 ** 63]:
        sent = event(4, tick, dst="10.0.0.1", dport=16384,
                     eth_dst="02:00:00:00:00:01")
        slot = (tick % 65536 ^ 5) % 8
        member = slots[slot]
        if tick_of_second is not None and tick >= tick_of_second:
            member = 2
        port, where = MEMBERS[member]
        assert world.switch.forward("p1", [sent], port) \
            == [model.forward(sent, where)], tick


def read_slots(world):
    """Returns the calendar of epoch 7, of evlbd's log."""
    with open(os.path.join(world.directory, "epochs.json"),
              encoding="utf-8") as log:
        for line in log:
            epoch = json.loads(line)
            if epoch["epoch"] == 7:
                return epoch["slots"]
    raise AssertionError("epoch 7 is not in the log")


def test_events(world):
    """Each event reaches the member of its slot."""
    check_events(world)


def test_epoch_change(world):
    """A second epoch, and a controller that comes back and finds nothing to
    do."""
    seen = len(world.log())
    world.write(MORE)
    world.evlbd.send_signal(signal.SIGHUP)
    world.wait_log("change committed", seen)
    check_events(world, 5000)

    flows = world.flows()
    world.evlbd.kill()
    world.evlbd.wait()
    seen = len(world.log())
    world.start_evlbd(MORE)
    world.wait_log("ready: switch br0 instance a epoch 8", seen)
    assert "change committed" not in world.log()[seen:]
    assert world.flows() == flows


def test_repairs(world):
    """What is missing is put back, what is ours and too much goes."""
    flows = world.flows()
    world.evlbd.kill()
    world.evlbd.wait()
    world.switch.ofctl("del-flows", "br0", "table=%d" % (8 if world.groups
                                                         else 7),
                       version=world.version)
    world.switch.ofctl("add-flow", "br0", "table=7,cookie=0x4c42210000030063,"
                       "reg1=3,reg2=99,actions=drop", version=world.version)
    seen = len(world.log())
    world.start_evlbd()
    world.wait_log("change committed", seen)
    assert world.flows() == flows


def test_from_groups_to_flows(tmp_path):
    """A switch whose calendars were groups gets flows in their place."""
    made = World(tmp_path, "OpenFlow13,OpenFlow15", "auto")
    made.wait_log("change committed")
    made.evlbd.kill()
    made.evlbd.wait()
    made.mode, made.groups = "flows", False
    seen = len(made.log())
    made.start_evlbd()
    made.wait_log("change committed", seen)
    assert "group_id" not in made.switch.ofctl("dump-groups", "br0")
    check_events(made)
    made.stop()


def test_group_is_asked_for(tmp_path):
    """OpenFlow 1.3 has no group method: it says so."""
    made = World(tmp_path, "OpenFlow13", "group")
    made.wait_log("br0.* closed: lacks selection method lb_calendar; Open "
                  "vSwitch with the extension")
    assert "cookie=0x4c42" not in made.switch.ofctl(
        "dump-flows", "br0", version="OpenFlow13")
    made.stop()


@pytest.mark.parametrize("protocols", ["OpenFlow13", "OpenFlow13,OpenFlow15"])
def test_stock_open_vswitch(tmp_path, protocols):
    """A stock Open vSwitch is refused, and nothing is written."""
    stock = os.path.join(TOP, "build", "ovs-stock")
    programs = [os.path.join(stock, d) for d in ("bin", "sbin")]
    if not os.path.exists(os.path.join(stock, "sbin", "ovs-vswitchd")):
        pytest.skip("build/ovs-stock is not built (make ovs-stock)")
    made = World(tmp_path, protocols, "auto", programs)
    made.wait_log("br0.* closed: lacks match field lb_tick, action lb_parse, "
                  "action lb_forward; Open vSwitch with the extension")
    assert "cookie=0x4c42" not in made.switch.ofctl(
        "dump-flows", "br0", version="OpenFlow13")
    made.stop()


def start_second(first, directory, base=World.base):
    """Returns another primary controller, which the switch of 'first' is to
    have, too, and for which ports of member 2 begin at 'base'."""
    directory.mkdir()
    second = World.__new__(World)
    second.base = base
    second.directory, second.mode = str(directory), "auto"
    second.role, second.out = "primary", str(directory / "evlbd.out")
    second.switch, second.version = first.switch, first.version
    second.start_evlbd()
    set_controllers(first, first, second)
    first.wait_log("another controller is the primary one now")
    second.wait_log("ready: switch br0")
    return second


def set_controllers(world, *controllers):
    """Has the switch of 'world' connect to 'controllers', and no others."""
    world.switch.vsctl("set-controller", "br0",
                       *["unix:%s/of.sock" % c.directory
                         for c in controllers])


@pytest.mark.parametrize("protocols", ["OpenFlow13", "OpenFlow15"])
def test_roles(tmp_path, protocols):
    """Of two primary controllers the later one decides, until the other one
    asks again, and undoes what is not as it should be."""
    first = World(tmp_path, protocols, "auto", role="primary")
    first.groups = "15" in protocols
    first.wait_log("change committed")
    second = start_second(first, tmp_path / "second", 40000)
    second.wait_log("change committed")

    seen = len(first.log())
    first.write(MORE)
    first.evlbd.send_signal(signal.SIGHUP)
    first.wait_log("has us decide again", seen)
    first.wait_log("change committed", seen)
    second.wait_log("another controller is the primary one now")
    check_events(first, 5000)
    second.evlbd.terminate()
    second.evlbd.wait()
    first.stop()


@pytest.mark.parametrize("protocols", ["OpenFlow13", "OpenFlow15"])
def test_reconnect_of_secondary(tmp_path, protocols):
    """One that was displaced does not decide again only because its connection
    is a new one: switches have such a one be an equal controller."""
    first = World(tmp_path, protocols, "auto", role="primary")
    first.wait_log("change committed")
    second = start_second(first, tmp_path / "second", 40000)
    second.wait_log("change committed")
    flows = second.flows()

    set_controllers(first, second)
    first.wait_log("connection of br0 closed")
    seen = len(first.log())
    set_controllers(first, first, second)
    first.wait_log("has [0-9]+ ports, and [0-9]+ flows and groups of ours",
                   seen)
    first.wait_log("another controller is the primary one", seen)
    assert "change committed" not in first.log()[seen:]
    assert second.flows() == flows

    seen = len(first.log())
    first.evlbd.send_signal(signal.SIGHUP)
    first.wait_log("has us decide again", seen)
    first.wait_log("change committed", seen)
    assert first.flows() != flows
    second.evlbd.terminate()
    second.evlbd.wait()
    first.stop()
