# SPDX-License-Identifier: Apache-2.0
"""Whatever an operator does, and however evlbd and the switch are treated: what
a connected epoch has decided stays, every tick has an epoch, and every member
that a calendar names has a rule.  Looked up in the switch, after each step."""

import os
import random
import re
import subprocess

import pytest
from switch import TOP, find_programs
from world import World

CONFIG = """
openflow = { listen = [ "unix:%%(directory)s/of.sock" ]; };
admin = { socket = "%%(directory)s/admin.sock"; };
state_file = "%%(directory)s/evlb.db";
l2_miss = "%%(l2_miss)s";
neighbour = { resolve = false; };
epochs_kept = 3;
quiesce = 1;
bridges = ( { name = "br0"; datapath_id = "42"; calendar = "%s"; } );
interfaces = ( { name = "plain"; mac = "02:00:00:00:00:01"; } );
instances = (
  { name = "a"; id = 3; addresses = [ "10.0.0.1" ];
    sources = [ "0.0.0.0/0" ];
    members = ( %s );
    epochs = ( { id = 1; from = 0; bits = 2;
                 members = ( { id = 1; }, { id = 2; } ); } ); } );
"""
EVLBCTL = os.path.join(TOP, "build", "bin", "evlbctl")
STEPS = 50


def member(number):
    """A member as the configuration has it."""
    return ('{ id = %d; ip = "10.1.0.%d"; mac = "02:00:00:00:01:%02x"; '
            'base = 20000; egress = "p2"; }' % (number, number, number))


class Tables:
    """What stands in the switch."""

    def __init__(self, switch):
        self.prefixes = []      # (value, mask, epoch)
        self.late = []          # (value, mask)
        self.calendars = {}
        # A clean-up in between would make them contradict each other.
        groups = None
        while groups != switch.ofctl("dump-groups", "br0"):
            groups = switch.ofctl("dump-groups", "br0")
            text = switch.ofctl("dump-flows", "br0")
        for line in text.splitlines():
            found = re.search(r"cookie=0x4c4220(..)0003(....),.*table=35,",
                              line)
            if found:
                tick = re.search(r"lb_tick=(\w+)(?:/(\w+))?", line)
                value, mask = (int(tick.group(1), 16), int(
                    tick.group(2) or "f" * 16, 16)) if tick else (0, 0)
                (self.late if found.group(1) != "00" else self.prefixes
                 ).append((value, mask, int(found.group(2), 16)))
            found = re.search(r"table=7,.*reg1=0x3,reg2=0x(\w+)", line)
            if found:
                slot = re.search(r"lb_slot_select=(\w+)", line)
                self.calendars.setdefault(int(found.group(1), 16), {})[
                    int(slot.group(1), 16) if slot else 0] = int(re.search(
                        r"set_field:(\w+)->lb_member", line).group(1), 16)
        for line in groups.splitlines():
            found = re.search(r"group_id=(\d+)", line)
            if found:
                self.calendars[int(found.group(1)) & 0xffff] = {
                    int(slot): int(m) for slot, m in re.findall(
                        r"bucket_id:(\d+),actions=set_field:(\d+)", line)}
        self.members = {int(m, 16) for m in re.findall(
            r"cookie=0x4c4222..0003\w{4},.*lb_member=(\w+)", text)}

    def epoch_of(self, tick):
        """The epoch of 'tick', or None if it is late, by longest prefix."""
        best = max((p for p in self.prefixes + self.late
                    if tick & p[1] == p[0]), key=lambda p: p[1])
        return None if best in self.late else best[2]

    def check(self):
        """Whatever is referred to is there, and every tick has an epoch."""
        assert any(mask == 0 for _, mask, _ in self.prefixes)
        for _, _, epoch in self.prefixes:
            assert self.calendars[epoch], "epoch %d" % epoch
            assert set(self.calendars[epoch].values()) <= self.members


class Driver:
    """Does something at random, and knows what must not change."""

    def __init__(self, directory, mode, seed):
        self.rng = random.Random(seed)
        self.world = World(find_programs(), directory, "drop")
        self.mode = mode
        self.configured = {1, 2, 3}
        self.boundary = 0
        self.decided = {0: None}
        self.log = []
        self.world.start_evlbd(self.config())
        self.world.switch.start("--enable-dummy=override", "--disable-system")
        self.world.switch.add_dummy_bridge("br0", ["p1", "p2"])
        self.world.switch.vsctl("set", "bridge", "br0",
                                "other_config:datapath-id=0000000000000042")
        self.world.switch.vsctl("set-controller", "br0",
                                "unix:" + self.world.path("of.sock"))
        self.world.wait_committed(1)

    def config(self):
        """The configuration, with the members of the day."""
        return CONFIG % (self.mode, ", ".join(
            member(m) for m in sorted(self.configured)))

    def evlbctl(self, *args):
        """Runs evlbctl, and returns whether it succeeded."""
        done = subprocess.run(
            [EVLBCTL, "--socket", self.world.path("admin.sock"),
             *map(str, args)], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=30)
        self.log.append("%s: %s" % (args, done.stdout.strip()))
        assert done.returncode in (0, 1), done.stdout
        return done.returncode == 0

    # Steps.

    def set_epoch(self):
        boundary = max(0, self.boundary + self.rng.choice(
            (1, 2, 1000, 4096, 4097, 0)))
        shares = ["%d=%d" % (m, self.rng.randrange(0, 4))
                  for m in self.rng.sample(range(1, 6), 2)]
        if self.evlbctl("lb", "set", "a", "--at-event", boundary, *shares):
            assert boundary > self.boundary
            self.boundary = boundary

    def drain(self):
        boundary = self.boundary + self.rng.randrange(1, 100)
        if self.evlbctl("lb", "drain", "a", self.rng.randrange(1, 6),
                        "--at-event", boundary):
            self.boundary = boundary

    def add(self):
        number = self.rng.randrange(1, 6)
        self.evlbctl("lb", "add", "a", "id=%d" % number,
                     "ip=10.1.0.%d" % number, "base=20000",
                     "mac=02:00:00:00:01:%02x" % number, "egress=p2")

    def remove(self):
        self.evlbctl("lb", "remove", "a", self.rng.randrange(1, 6))

    def reload(self):
        before = self.configured
        self.configured = {1, 2} | set(self.rng.sample(range(1, 6), 3))
        self.world.write(self.config())
        if not self.evlbctl("reload"):
            self.configured = before

    def kill(self):
        """Ends evlbd in the middle of whatever it does."""
        command = subprocess.Popen(
            [EVLBCTL, "--socket", self.world.path("admin.sock"), "lb", "set",
             "a", "--at-event", str(self.boundary + 7), "1=1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.world.evlbd.kill()
        self.world.evlbd.wait()
        command.wait()
        self.world.start_evlbd(self.config())

    def restart_switch(self):
        """The switch loses all that it has."""
        self.world.switch.vsctl("del-controller", "br0")
        self.world.switch.ofctl("del-flows", "br0")
        self.world.switch.ofctl("del-groups", "br0")
        self.world.switch.vsctl("set-controller", "br0",
                                "unix:" + self.world.path("of.sock"))

    # What must hold.

    def connected(self):
        """Waits until the switch is what evlbd wants, and returns tables."""
        def calm():
            done = subprocess.run(
                [EVLBCTL, "--socket", self.world.path("admin.sock"), "--json",
                 "targets"], stdout=subprocess.PIPE, text=True)
            if '"state": "ready"' not in done.stdout:
                return None
            tables = Tables(self.world.switch)
            return tables if tables.prefixes else None
        return self.world.switch.wait_for(
            calm, "calm: %s\n%s" % ("\n".join(self.log), self.world.log()))

    def look(self):
        """Checks the switch, and notes what has been decided."""
        tables = self.connected()
        tables.check()
        for tick, slots in self.decided.items():
            epoch = tables.epoch_of(tick)
            if slots is not None and epoch is not None:
                assert tables.calendars[epoch] == slots, "\n".join(
                    self.log + ["tick %d" % tick])
        for value, mask, epoch in tables.prefixes:
            if mask:
                for tick in (value, value | ~mask & 2 ** 64 - 1):
                    self.decided.setdefault(tick, tables.calendars[epoch])
                    if self.decided[tick] is None:
                        self.decided[tick] = tables.calendars[epoch]
        top = max(t for t in self.decided)
        self.boundary = max(self.boundary, top + 1 if len(self.decided) > 1
                            else 0)


@pytest.mark.parametrize("mode", ["group", "flows"])
@pytest.mark.parametrize("seed", [1, 2])
def test_random(tmp_path, mode, seed):
    """Random steps, and a look at the switch after each one."""
    driver = Driver(tmp_path, mode, seed)
    steps = [driver.set_epoch] * 5 + [driver.drain] * 2 + [
        driver.add, driver.add, driver.remove, driver.remove, driver.reload,
        driver.kill, driver.restart_switch]
    try:
        driver.look()
        for _ in range(STEPS):
            driver.rng.choice(steps)()
            driver.look()
        assert len(driver.decided) > 20
    finally:
        driver.world.stop()
