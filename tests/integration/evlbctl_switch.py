# SPDX-License-Identifier: Apache-2.0

"""evlbctl, evlbd and the real switch: what an operator changes stands in the
switch, and packets go by it.  Run by in-lab."""

import json
import os
import re
import subprocess
import sys
import time

import pytest

import lab

EVLBCTL = os.path.join(lab.BIN, "evlbctl")

PROBE = os.path.join(lab.TOP, "mininet", "probe.py")

CONFIG = """
# Nothing goes by itself while a test looks at it.
quiesce = 3600;
bridges = ( { name = "br0"; datapath_id = "0000000000000042"; } );
interfaces = ( { name = "data"; mac = "02:65:76:6c:62:01"; } );
instances = (
    { name = "demo"; id = 3; addresses = [ "10.42.0.1" ];
      sources = [ "10.42.0.11" ];
      members = (
          { id = 1; ip = "10.42.0.101"; mac = "02:65:76:6c:01:01";
            base = 20000; egress = "cn1"; } );
      epochs = ( { from = 0; members = ( { id = 1; } ); } ); }
);
"""


class World:
    """A switch with evlbd, one source, two compute nodes."""

    def __init__(self, directory):
        self.directory = directory
        self.switch = lab.Switch(directory, "br0", "0000000000000042")
        self.daq = lab.Host("daq1", "02:65:76:6c:00:01", ["10.42.0.11/24"])
        self.nodes = [lab.Host("cn%d" % i, "02:65:76:6c:01:%02x" % i,
                               ["10.42.0.%d/24" % (100 + i)])
                      for i in (1, 2)]
        for host in [self.daq] + self.nodes:
            self.switch.add_port(host.name)
        self.controller = lab.Controller(
            directory, 'state_file = "%s/evlb.db";\n' % directory + CONFIG)
        self.switch.set_controller("tcp:127.0.0.1:6653")
        self.controller.wait_for_epoch("demo", 1)

    def ctl(self, *args):
        """Runs evlbctl; returns its exit code and what it printed."""
        result = subprocess.run([EVLBCTL, *args], capture_output=True,
                                text=True, check=False, timeout=60)
        return result.returncode, result.stdout, result.stderr

    def ok(self, *args):
        """Runs evlbctl, which must succeed; returns what it printed."""
        code, out, err = self.ctl(*args)
        assert (code, err) == (0, ""), err
        return out

    def json(self, *args):
        """Runs evlbctl with --json; returns what it printed."""
        return json.loads(self.ok(*args, "--json"))

    def groups(self):
        """Returns the ids of the switch's groups."""
        return sorted(int(g) for g in re.findall(
            r"group_id=(\d+)", self.switch.ofctl("dump-groups")))

    def flows(self):
        """Returns the switch's flows without what they count."""
        return sorted(re.sub(r"(duration|n_packets|n_bytes|idle_age)=[^,]*,", "", line)
                      for line in
                      self.switch.ofctl("dump-flows").splitlines()[1:])

    def send(self, tick, node):
        """Sends an event of one packet; returns whether 'node' gets it."""
        name = "%d.%d" % (tick, node)
        ready = os.path.join(self.directory, name + ".ready")
        log = os.path.join(self.directory, name + ".log")
        receiver = self.nodes[node - 1].start(name, [
            os.path.join(lab.BIN, "evlb-recv"), "--listen",
            "10.42.0.%d" % (100 + node), "--port", "20000", "--ports", "1",
            "--ready-file", ready, "--log", log, "--quiet"], self.directory)
        lab.wait_for("evlb-recv", lambda: os.path.exists(ready))
        self.daq.run(os.path.join(lab.BIN, "evlb-send"), "--dest",
                     "10.42.0.1", "--port", "16384", "--events", "1",
                     "--event-size", "100", "--tick-start", str(tick),
                     "--quiet")

        time.sleep(0.5)
        receiver.stop()
        with open(log, encoding="utf-8") as lines:
            return sum(1 for _ in lines) > 1


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Builds the world, once."""
    return World(str(tmp_path_factory.mktemp("world")))


def test_life_of_a_member(world):
    """Added, given events, drained, removed."""
    assert len(world.groups()) == 1
    assert world.ok("lb", "add", "demo", "id=2", "ip=10.42.0.102",
                    "mac=02:65:76:6c:01:02", "base=20000",
                    "egress=cn2").startswith("demo: done\n")

    reply = world.json("lb", "set", "demo", "--at-event", "100000", "--force",
                       "2=1")
    assert (reply["epoch"], reply["boundary"]) == (2, 100000)
    assert len(world.groups()) == 2
    # The answer came after the commit, so packets go by it at once.
    assert world.send(99999, 1)
    assert world.send(100000, 2)

    world.ok("lb", "set", "demo", "--at-event", "200000", "--force",
             "1=1", "2=3")
    epoch = world.json("epochs", "demo")["epochs"][2]
    assert [(m["member"], m["slots"]) for m in epoch["members"]] == [
        (1, 128), (2, 384)]
    reply = world.json("lb", "drain", "demo", "2", "--at-event", "300000",
                       "--force")
    assert (reply["epoch"], reply["boundary"]) == (4, 300000)
    assert world.send(300000, 1)

    # Connected epochs still name it.
    code, _, err = world.ctl("lb", "remove", "demo", "2")
    assert code == 1 and "2" in err
    assert len(world.groups()) == 4


def test_remove(world):
    """A member that no epoch names goes, and its rules with it."""
    before = world.switch.ofctl("dump-flows").count("cookie=")
    world.ok("lb", "add", "demo", "id=9", "ip=10.42.0.102",
             "mac=02:65:76:6c:01:02", "base=20001", "egress=cn2")
    assert world.switch.ofctl("dump-flows").count("cookie=") > before
    assert world.ok("lb", "remove", "demo", "9").startswith("demo: done")
    assert world.switch.ofctl("dump-flows").count("cookie=") == before


def test_neighbours(world):
    """Where a member is, is found out."""
    world.ok("lb", "add", "demo", "id=7", "ip=10.42.0.102", "base=20000")
    world.ok("lb", "add", "demo", "id=8", "ip=10.42.0.199", "base=20000")

    def find(ip):
        return [n for n in world.json("neighbours")["neighbours"]
                if n["ip"] == ip]
    lab.wait_for("an answer", lambda: [n for n in find("10.42.0.102")
                                       if n["known"]])
    found = find("10.42.0.102")[0]
    assert (found["target"], found["interface"]) == ("br0", "data")
    assert (found["mac"], found["port"]) == ("02:65:76:6c:01:02", "cn2")
    lab.wait_for("a question", lambda: find("10.42.0.199")[0]["unanswered"])
    silent = find("10.42.0.199")[0]
    assert (silent["known"], silent["mac"], silent["port"]) == (False, "", "")
    assert re.search(r"10\.42\.0\.199 +not found", world.ok("neighbours"))
    members = world.json("members")["members"]
    assert [(m["mac"], m["egress"]) for m in members if m["id"] >= 7] == [
        ("", "seen")] * 2
    world.ok("lb", "remove", "demo", "7")
    world.ok("lb", "remove", "demo", "8")


def test_refused(world):
    """What is refused sends nothing to the switch."""
    def held():
        return world.flows() + world.groups()
    # Flows of the neighbours that were looked for may still be on their way.
    before = lab.wait_for("the switch to be calm",
                          lambda: held() == held() and held())
    for words in (["set", "demo", "--at-event", "5", "--force", "1=1"],
                  ["set", "demo", "--at-event", "900000", "--force", "7=1"],
                  ["drain", "demo", "9", "--at-event", "900000", "--force"],
                  ["remove", "demo", "1"]):
        assert world.ctl("lb", *words)[0] == 1
    assert held() == before


def test_reload(world):
    """A reload keeps what the operator changed."""
    epochs = world.json("epochs")
    assert world.ok("reload").endswith(": reloaded\n")
    assert world.json("epochs") == epochs


def test_restart(world):
    """So does a restart, which changes nothing in the switch."""
    epochs, flows, groups = (world.json("epochs"), world.flows(),
                             world.groups())
    world.controller.process.stop()
    world.controller.process = lab.Process(
        "evlbd", [os.path.join(lab.BIN, "evlbd"), "-c",
                  world.controller.config, "--epoch-log",
                  world.controller.epoch_log], world.directory)
    lab.wait_for("the switch", lambda: world.ctl("status")[0] == 0
                 and "1 of 1 switches" in world.ok("status"))
    assert world.json("epochs") == epochs
    assert (world.flows(), world.groups()) == (flows, groups)
    assert "change committed" not in world.controller.process.text()


def test_targets(world):
    target, = world.json("targets")["targets"]
    assert (target["name"], target["datapath_id"]) == ("br0",
                                                       "%016x" % 0x42)
    assert target["connected"] and target["state"] == "ready"
    assert target["peer"].startswith("tcp:127.0.0.1:") and not target["tls"]
    assert "ready" in world.ok("targets")
    assert "1 of 1 switches connected" in world.ok("status")


def test_flows(world):
    """What stands in the switch is listed, all of it, with names."""
    reply = world.json("flows")
    assert reply["errors"] == []
    flows = [f for f in reply["flows"] if f["table"] >= 0]
    assert (sorted(f["cookie"] for f in flows)
            == sorted(int(c, 16) for c in re.findall(
                "cookie=0x([0-9a-f]+)", world.switch.ofctl("dump-flows"))))
    assert all(f["target"] == "br0" and f["kind"] != "unknown" for f in flows)

    # The slots of each calendar, and the ticks of each epoch, are the ones
    # that the epochs say.
    for epoch in world.json("epochs")["epochs"]:
        mine = [f for f in reply["flows"] if f["epoch"] == epoch["id"]]
        assert {f["instance"] for f in mine} == {"demo"}
        assert sorted((f["member"], f["n_slots"]) for f in mine
                      if f["stage"] == "calendar") == [
                          (m["member"], m["slots"]) for m in epoch["members"]]
        ticks = [f for f in mine if f["has_ticks"] and f["stage"] == "epoch"
                 and f["kind"] == "epoch"]
        assert len(ticks) >= len(epoch["prefixes"])
    assert world.json("flows", "demo")["flows"] == [
        f for f in world.json("flows")["flows"] if f["instance"] == "demo"]
    assert "512 slots 0-511" in world.ok("flows", "demo", "br0")


def test_flows_count(world):
    """Packets are counted where they go."""
    def sent():
        return sum(f["packets"] for f in world.json("flows")["flows"]
                   if f["member"] == 1 and f["verdict"] == "mbr_tx")
    before = sent()
    assert world.send(5, 1)
    lab.wait_for("the packet to be counted", lambda: sent() == before + 1)


def test_trace(world, monkeypatch):
    """Where an event goes, and the switch says the same."""
    # evlbctl finds ovs-appctl and the switch where an operator's shell does.
    monkeypatch.setenv("PATH", os.path.join(lab.OVS, "bin"), prepend=":")
    monkeypatch.setenv("OVS_RUNDIR", lab.RUN)
    for tick, epoch, member in ((99999, 1, 1), (100000, 2, 2),
                                (300000, 4, 1)):
        trace = world.json("trace", "demo", "tick=%d" % tick, "version=2",
                           "in_port=daq1", "switch=br0")
        assert (trace["instance"], trace["epoch"], trace["member"]) == (
            "demo", epoch, member)
        assert trace["lb_tick"] == tick and not trace["dropped"]
        assert trace["egress"] == "cn%d" % member
        assert trace["in_port"] == "daq1"
        assert trace["ip_dst"] == "10.42.0.%d" % (100 + member)
        assert trace["steps"][-1]["verdict"] == "mbr_tx"
    # A packet as it is, and one that is dropped.
    again = world.json("trace", "demo", "packet=" + trace["packet"],
                       "switch=br0")
    assert (again["epoch"], again["member"]) == (4, 1)
    dropped = world.json("trace", "demo", "source=10.42.0.66", "switch=br0")
    assert dropped["dropped"] and dropped["verdict"] == "blocked_src"
    text = world.ok("trace", "demo", "tick=5", "switch=br0")
    assert "epoch 1" in text and "The switch says the same" in text
    assert "no port \"eth9\"" in world.ctl("trace", "demo",
                                           "in_port=eth9")[2]


def test_trace_differs(world, monkeypatch):
    """A switch that does otherwise is found out."""
    monkeypatch.setenv("PATH", os.path.join(lab.OVS, "bin"), prepend=":")
    monkeypatch.setenv("OVS_RUNDIR", lab.RUN)
    world.switch.ofctl("add-flow", "cookie=0x99,table=0,priority=65000,udp,"
                       "actions=drop")
    code, out, err = world.ctl("trace", "demo", "switch=br0")
    world.switch.ofctl("del-flows", "cookie=0x99/-1")
    assert code == 1 and "member: the switch says none" in err, (out, err)
    assert world.ctl("trace", "demo", "switch=br0")[0] == 0


def test_counters(world):
    """Packets are counted by name: for the instance, and for the member."""
    def packets(name, member=-1):
        return sum(c["packets"] for c in
                   world.json("counters", "demo")["counters"]
                   if c["name"] == name and c["member"] == member)
    before = packets("rx_v2"), packets("mbr_tx", 1), packets("bad_magic")
    assert world.send(6, 1)
    world.daq.run(sys.executable, PROBE, "udp", "10.42.0.1", "16384",
                  "00" * 16)
    lab.wait_for("the packets to be counted", lambda: (
        packets("rx_v2"), packets("mbr_tx", 1), packets("bad_magic"))
                 == (before[0] + 1, before[1] + 1, before[2] + 1))
    rows = world.json("counters")["counters"]
    assert {"instance", "member"} <= {r["scope"] for r in rows}
    assert all(r["dropped"] for r in rows if r["name"] == "bad_magic")
    assert not any(r["dropped"] for r in rows if r["name"] == "mbr_tx")
    table = world.ok("counters", "demo")
    assert re.search(r"^instance +demo +- +bad_magic +dropped +1 ", table,
                     re.M)


def test_counters_stay(world):
    """What was counted for a member does not go with its flows."""
    world.ok("lb", "add", "demo", "id=9", "ip=10.42.0.102",
             "mac=02:65:76:6c:01:02", "base=20001", "egress=cn2")
    before = world.json("counters")["counters"]
    world.ok("lb", "remove", "demo", "9")
    after = {(c["scope"], c["instance"], c["member"], c["name"], c["port"]):
             c["packets"] for c in world.json("counters")["counters"]}
    for c in before:
        assert after[c["scope"], c["instance"], c["member"], c["name"],
                     c["port"]] >= c["packets"]


@pytest.mark.parametrize("words, expected", [
    (["gamma"], 'no instance "gamma"; there are: demo'),
    (["demo", "br9"], 'no switch "br9"; there are: br0'),
])
def test_flows_refused(world, words, expected):
    code, out, err = world.ctl("flows", *words)
    assert (code, out) == (1, "") and expected in err


def test_switch_away(world):
    """A switch that cannot be asked is an error of its own."""
    world.switch.vsctl("del-controller", "br0")
    lab.wait_for("the error", lambda: world.ctl("flows")[0] == 1)
    code, out, err = world.ctl("flows", "--json")
    reply = json.loads(out)
    assert code == 1 and err.startswith("evlbctl: br0: ")
    assert reply["flows"] == [] and reply["errors"][0]["target"] == "br0"
    assert "br0" in world.ok("lb", "set", "demo", "--at-event", "400000",
                             "--force", "1=1")
    target = world.json("targets")["targets"][0]
    assert not target["connected"] and target["last_error"]
    world.switch.set_controller("tcp:127.0.0.1:6653")
    lab.wait_for("the switch", lambda: world.ctl("flows")[0] == 0)
    lab.wait_for("the epoch", lambda: [
        f for f in world.json("flows")["flows"] if f["epoch"] == 5])
