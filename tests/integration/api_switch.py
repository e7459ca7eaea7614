# SPDX-License-Identifier: Apache-2.0

"""The control API with the real switch: workers that evlb-recv registers get
the events of a source that evlb-send had let through, each event whole at one
of them, while workers leave and come.  Run by in-lab."""

import json
import os
import signal
import subprocess

import pytest

import lab

EVLBCTL = os.path.join(lab.BIN, "evlbctl")
CONTROL = "10.43.0.1"

CONFIG = """
state_file = "@/evlb.db";
api = { listen = [ "tcp:10.43.0.1" ]; allow_plain = true;
        root_token = "00112233445566778899aabbccddeeff";
        public_address = "10.43.0.1:19523"; };
reservations = { allow_private_workers = true; };
bridges = ( { name = "br0"; datapath_id = "0000000000000042"; } );
interfaces = ( { name = "data"; mac = "02:65:76:6c:62:01"; } );
instances = (
    { name = "run"; id = 3; reservable = true; addresses = [ "10.42.0.1" ];
      sync = "udp:10.43.0.1:19531"; sync_from = "any"; }
);
"""


class World:
    """A switch with evlbd, a source, three compute nodes, and a network of
    their own for the control plane."""

    def __init__(self, directory):
        self.directory = directory
        self.switch = lab.Switch(directory, "br0", "0000000000000042")
        self.daq = lab.Host("daq1", "02:65:76:6c:00:01", ["10.42.0.11/24"])
        self.nodes = [lab.Host("cn%d" % i, "02:65:76:6c:01:%02x" % i,
                               ["10.42.0.%d/24" % (100 + i)])
                      for i in (1, 2, 3)]
        lab.run("ip", "address", "add", CONTROL + "/32", "dev", "lo")
        for number, host in enumerate([self.daq] + self.nodes):
            self.switch.add_port(host.name)
            self.connect(host, number)
        self.controller = lab.Controller(directory,
                                         CONFIG.replace("@", directory))
        self.switch.set_controller("tcp:127.0.0.1:6653")
        lab.wait_for("the switch", lambda: "1 of 1 switches"
                     in self.ctl("status"))
        self.uri = self.ctl("reserve", "run7").strip()
        self.programs = 0

    @staticmethod
    def connect(host, number):
        """Connects a host to the control plane's address."""
        there = "c" + host.name
        lab.run("ip", "link", "add", there, "type", "veth", "peer", "name",
                "control", "netns", host.name)
        lab.run("ip", "address", "add", "10.43.%d.1/30" % (number + 1), "dev",
                there)
        lab.run("ip", "link", "set", there, "up")
        host.run("ip", "address", "add", "10.43.%d.2/30" % (number + 1),
                 "dev", "control")
        host.run("ip", "link", "set", "control", "up")
        host.run("ip", "route", "add", CONTROL, "via",
                 "10.43.%d.1" % (number + 1))

    @staticmethod
    def ctl(*args):
        """Runs evlbctl; returns what it printed."""
        result = subprocess.run([EVLBCTL, *args], capture_output=True,
                                text=True, check=False, timeout=60)
        return result.stdout if result.returncode == 0 else result.stderr

    def status(self):
        return json.loads(self.ctl("workers", "1", "--json"))

    def slots(self):
        """Returns the workers' slots by their names."""
        return {w["name"]: w["slotsAssigned"]
                for w in self.status()["workers"]}

    def start(self, host, program, *args):
        """Starts a program at an end, with its report in JSON."""
        self.programs += 1
        return host.start(
            "%s-%d" % (host.name, self.programs),
            [os.path.join(lab.BIN, program), "--json", "--uri", self.uri,
             *args], self.directory)

    def recv(self, i):
        """Starts a worker on node 'i', from 1."""
        return self.start(self.nodes[i - 1], "evlb-recv", "--port", "20000",
                          "--ports", "4", "--name", "cn%d" % i)

    def wait_for_slots(self, *names):
        """Waits until these workers, and no others, have slots in an epoch
        that is in the switch."""
        lab.wait_for("slots of " + " ".join(names), lambda: {
            n for n, slots in self.slots().items() if slots} == set(names), 60)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Builds the world, once."""
    return World(str(tmp_path_factory.mktemp("world")))


def end(process):
    """Waits for the end of a program, and returns its report."""
    process.wait(60)
    return lab.last_json("\n" + process.text())


def test_workers_come_and_go(world):
    """No event is lost, split or doubled while a worker leaves, another one
    comes, and the first comes back.  Packets are few and small, as a socket of
    the switch's data path on a busy machine does not hold many."""
    first = [world.recv(i) for i in (1, 2)]
    world.wait_for_slots("cn1", "cn2")
    send = world.start(world.daq, "evlb-send", "--add-sender", "--tick-clock",
                       "--events", "0", "--rate", "200", "--event-size",
                       "3000", "--data-id", "1-2")
    lab.wait_for("events", lambda: all(
        w["totalEventsReassembled"] > 100
        for w in world.status()["workers"]), 60)

    first[0].signal(signal.SIGTERM)
    world.wait_for_slots("cn2")
    reports = [end(first[0])]
    third = world.recv(3)
    world.wait_for_slots("cn2", "cn3")
    back = world.recv(1)
    world.wait_for_slots("cn1", "cn2", "cn3")
    counts = {w["name"]: w["totalEventsReassembled"]
              for w in world.status()["workers"]}
    lab.wait_for("events everywhere", lambda: all(
        w["totalEventsReassembled"] > counts[w["name"]] + 100
        for w in world.status()["workers"]), 60)

    send.signal(signal.SIGTERM)
    sent = end(send)
    for process in (first[1], third, back):
        process.signal(signal.SIGTERM)
        reports.append(end(process))
    # Each event has a bundle of each of the two sources, and is there for each
    # of them.
    events = [r["events"] for r in reports]
    assert sum(e["complete"] for e in events) == sent["bundles"]
    assert sum(r["packets"] for r in reports) == sent["packets"]
    for e in events:
        assert (e["expired"], e["evicted"], e["unfinished"], e["corrupt"],
                e["duplicated"]) == (0, 0, 0, 0, 0)
    assert all(e["complete"] > 100 for e in events)
    assert all(r["registration"]["registered"] == 1 for r in reports)
    assert world.status()["senderAddresses"] == []
    assert world.status()["currentEpoch"] >= 4
