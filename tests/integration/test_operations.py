# SPDX-License-Identifier: Apache-2.0

"""Operations of the operator at evlbd without a switch: where boundaries may
lie, by what senders tell; what a restart finds again; epochs that go."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import time

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BIN = os.path.join(TOP, "build/bin")

CONFIG = """
openflow = { listen = [ "unix:%(dir)s/of.sock" ]; };
admin = { socket = "%(dir)s/ctl.sock"; };
state_file = "%(dir)s/evlb.db";
quiesce = 0; epochs_kept = 2;
%(top)s
bridges = ( { name = "br0"; datapath_id = "1"; } );
interfaces = ( { name = "data"; mac = "02:00:00:00:00:01"; } );
instances = (
    { name = "demo"; id = 3; addresses = [ "10.0.0.1" ];
      sources = [ "10.0.0.11" ];
      %(instance)s
      members = (
          { id = 1; ip = "10.0.0.101"; mac = "02:00:00:00:01:01";
            base = 20000; egress = "cn1"; },
          { id = 2; ip = "10.0.0.102"; mac = "02:00:00:00:01:02";
            base = 20000; egress = "cn2"; } );
      epochs = ( { from = 0; members = ( { id = 1; } ); } %(epochs)s ); }
);
"""

SYNC = 'sync = "udp:127.0.0.1:%d"; sync_from = "any";'


class Evlbd:
    """evlbd, which can be started again."""

    def __init__(self, directory, **more):
        self.directory = str(directory)
        self.config = os.path.join(self.directory, "evlb.conf")
        self.log = os.path.join(self.directory, "log")
        self.port = self.free_port()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.write(**more)
        self.start()

    @staticmethod
    def free_port():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            return s.getsockname()[1]

    def write(self, sync=False, instance="", top="", epochs=""):
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(CONFIG % {
                "dir": self.directory, "top": top, "epochs": epochs,
                "instance": instance + (SYNC % self.port if sync else "")})

    def start(self):
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [os.path.join(BIN, "evlbd"), "-c", self.config], stderr=log)
        wait_for(lambda: self.process.poll() is not None
                 or self.ctl("status")[0] == 0)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(20)

    def said(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def ctl(self, *args):
        done = subprocess.run(
            [os.path.join(BIN, "evlbctl"), "--socket",
             self.directory + "/ctl.sock", *args],
            capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def ok(self, *args):
        code, out, err = self.ctl(*args)
        assert (code, err) == (0, "")
        return out

    def refused(self, *args):
        code, _, err = self.ctl(*args)
        assert code != 0
        return err

    def epochs(self):
        return [(e["id"], int(e["first"])) for e in
                json.loads(self.ok("epochs", "--json"))["epochs"]]

    def sync(self, tick, rate=1000000, source=1):
        self.socket.sendto(struct.pack(">HBBIQIQ", 0x4c43, 2, 0, source, tick,
                                       rate, 0), ("127.0.0.1", self.port))
        time.sleep(0.05)


def wait_for(condition):
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("waited in vain")


@pytest.fixture
def start(tmp_path):
    running = []

    def start_one(**more):
        running.append(Evlbd(tmp_path, **more))
        return running[-1]
    yield start_one
    for evlbd in running:
        if evlbd.process.poll() is None:
            evlbd.stop()


def test_without_sync(start):
    """Nothing is checked, and the answer says so."""
    evlbd = start()
    assert "the boundary was not checked" in evlbd.ok(
        "lb", "set", "demo", "--at-event", "1", "2=1")
    assert "has no \"sync\"" in evlbd.refused("lb", "set", "demo", "1=1")


def test_silence(start):
    """Who is to be heard is waited for, unless it is forced."""
    evlbd = start(sync=True)
    for words in (["--at-event", "1000"], []):
        assert "no Sync came at" in evlbd.refused("lb", "set", "demo", *words,
                                                  "2=1")
    assert "was not checked" in evlbd.ok("lb", "set", "demo", "--at-event",
                                         "1000", "--force", "2=1")


def test_too_near(start):
    evlbd = start(sync=True)
    evlbd.sync(1000000)
    said = evlbd.refused("lb", "set", "demo", "--at-event", "1000001", "2=1")
    assert re.search(r"tick 1000001 is too near: the senders are at \d+ now "
                     r"and make 1000000 a second; a change takes 300 ms \(the "
                     r"setting min_lead\), so it must be beyond \d+", said)
    # Nor may force have it, nor a reload.
    assert "too near" in evlbd.refused("lb", "set", "demo", "--force",
                                       "--at-event", "1000001", "2=1")
    evlbd.write(sync=True, epochs=", { from = 1000001; "
                "members = ( { id = 2; } ); }")
    assert re.search("evlb.conf:[0-9]+: instance demo: tick 1000001 is too",
                     evlbd.refused("reload"))
    assert evlbd.epochs() == [(1, 0)]
    evlbd.write(sync=True, epochs=", { from = 900000000; "
                "members = ( { id = 2; } ); }")
    evlbd.sync(1100000)
    evlbd.ok("reload")
    assert evlbd.epochs() == [(1, 0), (2, 900000000)]


def test_automatic(start):
    """As far ahead as is set, and at a coarse tick."""
    evlbd = start(sync=True)
    evlbd.sync(10000000)
    evlbd.ok("lb", "set", "demo", "1=1", "2=1")
    boundary = evlbd.epochs()[1][1]
    assert boundary > 10800000 and boundary % (1 << 17) == 0
    assert "try again later" in evlbd.refused("lb", "drain", "demo", "2")


def test_who_is_believed(start):
    """Others than the sources are not, by default."""
    evlbd = start(sync=True)
    evlbd.write(instance='sync = "udp:127.0.0.1:%d";' % evlbd.port)
    evlbd.ok("reload")
    evlbd.sync(1000000)
    assert "no Sync came" in evlbd.refused("lb", "set", "demo", "2=1")
    wait_for(lambda: "Sync from 127.0.0.1 is not believed" in evlbd.said())
    evlbd.write(instance='sync = "udp:127.0.0.1:%d"; '
                'sync_from = [ "127.0.0.0/8" ];' % evlbd.port)
    evlbd.ok("reload")
    evlbd.sync(1000000)
    evlbd.ok("lb", "set", "demo", "2=1")


def test_hostile_sync(start):
    """What is not Sync changes nothing."""
    evlbd = start(sync=True)
    good = struct.pack(">HBBIQIQ", 0x4c43, 2, 0, 1, 5, 5, 0)
    for bad in (b"", b"x", good[:-1], good + b"x", b"XX" + good[2:],
                good[:2] + b"\3" + good[3:], b"x" * 60000):
        evlbd.socket.sendto(bad, ("127.0.0.1", evlbd.port))
    assert "no Sync came" in evlbd.refused("lb", "set", "demo", "2=1")


def test_address_in_use(start):
    """A reload that cannot listen changes nothing."""
    evlbd = start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", evlbd.port))
        evlbd.write(sync=True)
        assert "cannot listen for Sync on udp:127.0.0.1" in evlbd.refused(
            "reload")
    evlbd.ok("reload")


def state(evlbd):
    return [evlbd.ok(what, "--json") for what in ("epochs", "members")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_restart(start, number):
    """What operators changed is there again."""
    evlbd = start()
    evlbd.ok("lb", "add", "demo", "id=9", "ip=10.0.0.109", "base=30000",
             "mac=02:00:00:00:01:09", "bits=3", "keep", "egress=cn 9")
    evlbd.ok("lb", "set", "demo", "--at-event", "1000", "9=2", "1=1:0.5:3")
    evlbd.ok("lb", "drain", "demo", "1", "--at-event", "2000")
    before = state(evlbd)
    evlbd.stop(number)
    evlbd.start()
    assert state(evlbd) == before
    assert "names member 9" in evlbd.refused("lb", "remove", "demo", "9")
    assert re.search(r"member 1 is in the configuration, line \d+",
                     evlbd.refused("lb", "remove", "demo", "1"))


def test_state_is_not_kept(start):
    evlbd = start()
    evlbd.stop()
    with open(evlbd.config, encoding="utf-8") as file:
        text = re.sub("state_file.*", 'state_file = "";', file.read())
    with open(evlbd.config, "w", encoding="utf-8") as file:
        file.write(text)
    evlbd.start()
    assert "A restart of evlbd forgets this" in evlbd.ok(
        "lb", "set", "demo", "--at-event", "1000", "2=1")


def test_damaged_state(start):
    evlbd = start()
    evlbd.stop()
    with open(evlbd.directory + "/evlb.db", "wb") as file:
        file.write(b"no database" * 1000)
    evlbd.start()
    assert evlbd.process.wait(20) == 1
    assert "move it away to start without what" in \
        evlbd.said()


def test_instance_goes(start):
    """With an instance, what operators changed there is forgotten."""
    evlbd = start()
    evlbd.ok("lb", "set", "demo", "--at-event", "1000", "2=1")
    with open(evlbd.config, encoding="utf-8") as file:
        text = file.read()
    with open(evlbd.config, "w", encoding="utf-8") as file:
        file.write(text[:text.index("instances =")])
    evlbd.ok("reload")
    evlbd.write()
    evlbd.ok("reload")
    assert evlbd.epochs() == [(1, 0)]
    evlbd.stop()
    evlbd.start()
    assert evlbd.epochs() == [(1, 0)]


def test_epochs_go(start):
    """The oldest do when they are over; ids go on."""
    evlbd = start()
    for i in (1, 2, 3):
        evlbd.ok("lb", "set", "demo", "--at-event", "%d" % (i * 1000), "2=1")
    wait_for(lambda: evlbd.epochs() == [(3, 2000), (4, 3000)])
    evlbd.stop()
    evlbd.start()
    assert evlbd.epochs() == [(3, 2000), (4, 3000)]
    evlbd.ok("lb", "set", "demo", "--at-event", "9000", "2=1")
    assert evlbd.epochs()[-1] == (5, 9000)


def test_epochs_that_senders_are_in_stay(start):
    evlbd = start(sync=True)
    evlbd.sync(100)
    for i in (1, 2, 3):
        evlbd.ok("lb", "set", "demo", "--at-event", "%d" % (i << 40), "2=1")
    time.sleep(1.5)
    assert len(evlbd.epochs()) == 4
    # They jump into the third one.
    evlbd.sync(5 << 39, rate=1)
    wait_for(lambda: [e[0] for e in evlbd.epochs()] == [3, 4])
