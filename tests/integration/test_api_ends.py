# SPDX-License-Identifier: Apache-2.0

"""evlb-recv and evlb-send in the control API of a real evlbd, without a switch:
registration, reports, Sync, epochs, and what they do when evlbd is away, has
forgotten them, or does not want them."""

import json
import os
import re
import signal
import socket
import subprocess
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/api"))
from evlbd import Evlbd, ROOT, free_port, wait_for  # noqa: E402
from test_api_ctl import start_with_tls  # noqa: E402

BIN = os.path.join(TOP, "build/bin")
TIMEOUT = 60


class Program:
    """A program at an end, which runs in the background."""

    def __init__(self, directory, name, *args, uri=None):
        environment = {k: v for k, v in os.environ.items()
                       if k != "EJFAT_URI"}
        if uri:
            environment["EJFAT_URI"] = uri
        self.paths = [os.path.join(directory, "%s-%d-%s" % (
            name, len(os.listdir(directory)), kind))
                      for kind in ("report", "errors")]
        with open(self.paths[0], "wb") as out, \
                open(self.paths[1], "wb") as err:
            self.process = subprocess.Popen(
                [os.path.join(BIN, name), "--json", *args], stdout=out,
                stderr=err, env=environment)

    def errors(self):
        with open(self.paths[1], encoding="utf-8") as err:
            return err.read()

    def wait_for_error(self, text):
        """Waits until the program, which runs on, has said 'text'."""
        wait_for(lambda: text in self.errors(), text)
        assert self.process.poll() is None

    def end(self, code=0):
        """Waits for the end, and returns the report."""
        assert self.process.wait(TIMEOUT) == code, self.errors()
        with open(self.paths[0], encoding="utf-8") as out:
            text = out.read()
        return json.loads(text) if text else None

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.end()


class World:
    """An evlbd, and programs at its ends."""

    def __init__(self, directory, start=Evlbd):
        self.directory = str(directory)
        os.mkdir(os.path.join(self.directory, "ends"))
        self.evlbd = start(directory, instance='sync_from = "senders";')
        self.programs = []
        self.sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sink.bind(("127.0.0.1", 0))

    def run(self, name, *args, uri=None):
        self.programs.append(Program(os.path.join(self.directory, "ends"),
                                     name, *args, uri=uri))
        return self.programs[-1]

    def recv(self, *args, uri, host="127.0.0.1", port=None):
        port = port or free_port(socket.SOCK_DGRAM)
        return self.run("evlb-recv", "--listen", host, "--port", str(port),
                        *args, uri=uri)

    def send(self, *args, uri):
        """A sender whose packets go nowhere."""
        return self.run("evlb-send", "--dest", "127.0.0.1", "--port",
                        str(self.sink.getsockname()[1]), *args, uri=uri)

    def reserve(self):
        return self.evlbd.ctl("reserve", "run7")["ejfatUri"]

    def root_uri(self, lb):
        return "ejfat://%s@%s/lb/%s" % (ROOT, self.evlbd.address, lb)

    def status(self, lb="1"):
        return self.evlbd.ctl("workers", lb)

    def workers(self, lb="1"):
        """Returns the workers by their names."""
        return {w["name"]: w for w in self.status(lb)["workers"]}

    def close(self):
        for program in self.programs:
            if program.process.poll() is None:
                program.process.kill()
                program.process.wait()
        self.sink.close()
        self.evlbd.close()


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.close()


def test_all_together(world):
    """Three workers, one source: workers get slots, Sync of the source is
    believed once it is a sender, and an epoch without the worker that leaves
    begins before it is gone."""
    uri = world.reserve()
    recvs = [world.recv("--name", "w%d" % i, uri=uri) for i in range(3)]
    wait_for(lambda: len(world.status()["workers"]) == 3
             and world.status()["currentEpoch"] == 1, "the first epoch")
    assert sorted(w["slotsAssigned"] for w in world.workers().values()) == [
        170, 171, 171]
    assert world.status()["currentPredictedEventNumber"] == 0

    send = world.send("--add-sender", "--tick-clock", "--events", "0",
                      "--rate", "100", uri=uri)
    wait_for(lambda: world.status()["currentPredictedEventNumber"] > 10**15,
             "Sync")
    assert world.status()["senderAddresses"] == ["127.0.0.1"]

    recvs[0].process.send_signal(signal.SIGTERM)
    wait_for(lambda: world.status()["currentEpoch"] == 2, "the second epoch")
    assert recvs[0].process.poll() is None
    workers = world.workers()
    assert {n: w["slotsAssigned"] for n, w in workers.items()} == {
        "w0": 0, "w1": 256, "w2": 256}
    report = recvs[0].end()
    assert report["registration"]["state"] == "gone"
    assert report["registration"]["registered"] == 1
    assert "deregistered" in recvs[0].errors()
    assert set(world.workers()) == {"w1", "w2"}

    overview, = world.evlbd.ctl("overview")["loadBalancers"]
    assert overview["status"]["currentEpoch"] == 2
    assert send.stop()["sync_sent"] > 1
    assert world.status()["senderAddresses"] == []
    for recv in recvs[1:]:
        recv.stop()
    assert world.workers() == {}


def test_what_is_registered(world):
    port = free_port(socket.SOCK_DGRAM) & ~15
    world.recv("--name", "w", "--ports", "8", "--keep", "--weight", "2",
               "--min-factor", "0.5", "--max-factor", "4", "--slots",
               "0-9,20,any:5", "--address", "127.0.0.77", host="0.0.0.0",
               uri=world.reserve(), port=port)
    wait_for(lambda: world.workers().get("w"), "a worker")
    worker = world.workers()["w"]
    assert (worker["ipAddress"], worker["udpPort"], worker["portRange"],
            worker["keepLbHeader"], worker["minFactor"],
            worker["maxFactor"]) == ("127.0.0.77", port, "PORT_RANGE_8", True,
                                     0.5, 4)
    assert sum(r["length"] for r in worker["slotDemands"]) == 16


def test_reports(world):
    """A worker that cannot keep up reports a full queue, asks for less, and
    counts what it loses; then the queue is empty again."""
    port = free_port(socket.SOCK_DGRAM)
    world.recv("--name", "w", "--keep", "--process-rate", "100", "--queue",
               "50", "--interval", "0.02", uri=world.reserve(), port=port)
    wait_for(lambda: world.workers().get("w"), "a worker")
    world.run("evlb-send", "--dest", "127.0.0.1", "--port", str(port),
              "--events", "120", "--event-size", "100", "--uri", "none").end()
    full = wait_for(lambda: world.workers()["w"]["fillPercent"] > 0.5
                    and world.workers()["w"], "a full queue")
    assert full["controlSignal"] < -10
    done = wait_for(
        lambda: world.workers()["w"]["fillPercent"] == 0
        and world.workers()["w"]["totalEventsDequeued"] > 0
        and world.workers()["w"], "an empty queue")
    assert done["controlSignal"] == 25
    assert done["totalEventsRecv"] == done["totalEventsReassembled"] == 120
    assert done["totalPacketsRecv"] == 120
    assert done["totalBytesRecv"] == 120 * 136
    assert done["totalEventEnqueueErr"] >= 60
    assert (done["totalEventsDequeued"] + done["totalEventEnqueueErr"]
            == 120)


def test_fixed_control(world):
    world.recv("--name", "w", "--control", "-2.5", uri=world.reserve())
    wait_for(lambda: world.workers().get("w", {}).get("controlSignal")
             == -2.5, "the signal")


def test_server_restarts(world):
    """What evlbd remembers goes on; a worker is not registered again."""
    recv = world.recv("--name", "w", uri=world.reserve())
    wait_for(lambda: world.workers().get("w"), "a worker")
    before = world.workers()["w"]
    world.evlbd.restart()
    wait_for(lambda: world.workers()["w"]["lastUpdated"]
             not in (None, before["lastUpdated"]), "a report")
    assert world.workers()["w"]["sessionId"] == before["sessionId"]
    assert recv.stop()["registration"]["registered"] == 1
    assert recv.errors().count("registered \"w\"") == 1


def test_server_forgets(world):
    """A worker whose session is unknown registers anew, as soon as its
    reservation is there again."""
    world.reserve()
    recv = world.recv("--name", "w", uri=world.root_uri("1"))
    wait_for(lambda: world.workers().get("w"), "a worker")
    world.evlbd.stop()
    os.remove(world.evlbd.file("evlb.db"))
    world.evlbd.start()
    recv.wait_for_error("cannot register")
    world.reserve()
    wait_for(lambda: world.workers().get("w"), "a worker")
    assert recv.stop()["registration"]["registered"] == 2


def test_server_comes_later(world):
    uri = world.reserve()
    world.evlbd.stop()
    recv = world.recv("--name", "w", uri=uri)
    recv.wait_for_error("cannot register: ")
    assert "Connection refused; trying again" in recv.errors()
    world.evlbd.start()
    wait_for(lambda: world.workers().get("w"), "a worker")
    world.evlbd.stop()
    recv.wait_for_error("cannot report: ")
    world.evlbd.start()
    recv.wait_for_error("answers again")
    recv.stop()


def test_refused(world):
    """A first registration that is refused ends the program, which says so
    without its token."""
    uri = world.reserve()
    token = re.search("//(.*)@", uri).group(1)
    wrong = uri.replace(token, "0123456789abcdef" * 2)
    recv = world.recv(uri=wrong)
    report = recv.end(1)
    assert not report["ok"]
    assert "this worker is not taken: " in report["error"]
    assert "token" in recv.errors()
    assert "0123456789abcdef" not in recv.errors() + str(report)

    recv = world.recv("--address", "224.0.0.1", uri=uri)
    assert "224.0.0.1" in recv.end(1)["error"]
    send = world.send("--add-sender", "--events", "1", uri=wrong)
    send.end(1)
    assert "AddSenders: " in send.errors()
    assert "0123456789abcdef" not in send.errors()


def test_leave_under_fire(world):
    """Packets that do not stop are received until the grace is over."""
    port = free_port(socket.SOCK_DGRAM)
    recv = world.recv("--keep", "--grace", "0.5", "--name", "w",
                      uri=world.reserve(), port=port)
    wait_for(lambda: world.workers().get("w"), "a worker")
    send = world.run("evlb-send", "--dest", "127.0.0.1", "--port", str(port),
                     "--events", "0", "--rate", "500", "--uri", "none")
    wait_for(lambda: world.workers()["w"]["totalPacketsRecv"] > 0, "packets")
    before = world.workers()["w"]["totalPacketsRecv"]
    report = recv.stop()
    assert report["packets"] > before
    assert "deregistered" in recv.errors()
    send.stop()


def test_ends_by_itself(world):
    """--packets ends a worker as a signal does."""
    port = free_port(socket.SOCK_DGRAM)
    recv = world.recv("--keep", "--packets", "5", "--name", "w",
                      uri=world.reserve(), port=port)
    wait_for(lambda: world.workers().get("w"), "a worker")
    world.run("evlb-send", "--dest", "127.0.0.1", "--port", str(port),
              "--events", "20", "--event-size", "100", "--uri", "none").end()
    report = recv.end()
    assert report["packets"] == 5
    assert report["registration"]["state"] == "gone"
    assert world.workers() == {}


def test_sender_is_removed_after_a_signal(world):
    uri = world.reserve()
    send = world.send("--add-sender", "--events", "0", "--rate", "50",
                      uri=uri)
    wait_for(lambda: world.status()["senderAddresses"] == ["127.0.0.1"],
             "a sender")
    send.stop()
    assert world.status()["senderAddresses"] == []


def test_free_ends_reports(world):
    """When the reservation is freed, its worker goes on trying."""
    recv = world.recv("--name", "w", uri=world.reserve())
    wait_for(lambda: world.workers().get("w"), "a worker")
    world.evlbd.ctl("free", "1")
    recv.wait_for_error("cannot register")
    recv.process.send_signal(signal.SIGTERM)
    assert recv.end()["registration"]["state"] == "gone"


def test_addresses_by_uri(world):
    """Without --dest and --listen, addresses are those of the URI and of the
    route there."""
    uri = world.reserve()
    here = re.sub(r"data=.*", "data=127.0.0.1:%d" %
                  world.sink.getsockname()[1], uri)
    world.run("evlb-recv", "--port", str(free_port(socket.SOCK_DGRAM)),
              "--name", "w", "--uri", here)
    wait_for(lambda: world.workers().get("w"), "a worker")
    assert world.workers()["w"]["ipAddress"] == "127.0.0.1"
    report = world.run("evlb-send", "--events", "3", "--event-size", "10",
                       "--sync-lead", "0.1", "--uri", here).end()
    assert report["packets"] == 3
    assert report["sync_sent"] >= 1
    assert len(world.sink.recv(2048)) == 46


@pytest.fixture
def tls_world(tmp_path):
    made = World(tmp_path, start_with_tls)
    yield made
    made.close()


def test_tls(tls_world):
    """A certificate that nobody trusts is told from a server that is away, and
    the token is not given to it."""
    uri = tls_world.reserve()
    assert uri.startswith("ejfats://")
    ca = tls_world.evlbd.file("ca.pem")
    recvs = [tls_world.recv("--name", "w", "--ca", ca, uri=uri),
             tls_world.recv("--name", "v", "--insecure", uri=uri)]
    wait_for(lambda: set(tls_world.workers()) == {"w", "v"}, "two workers")
    wrong = tls_world.recv("--name", "u", uri=uri)
    wrong.wait_for_error("certificate")
    send = tls_world.send("--add-sender", "--events", "1", "--ca", ca,
                          uri=uri)
    send.end()
    for recv in recvs + [wrong]:
        recv.stop()
    assert tls_world.workers() == {}
