# SPDX-License-Identifier: Apache-2.0

"""From workers' registrations and senders' Sync to epochs."""

import socket
import struct
import time

import pytest

from evlbd import (SLOTS, Sender, add_workers, make_sync, refused, report,
                   wait_for)

QUICK = "period = 50; "
PATIENT = "unready_after = 3000000; remove_after = 3600000; "
RATE = 1000000
LOOK_AHEAD = 0.8


class Experiment:
    """A reservation, its workers and its senders."""

    def __init__(self, evlbd, **fields):
        self.evlbd = evlbd
        self.root = evlbd.client()
        reply = self.root.ReserveLoadBalancer(**fields)
        self.lb_id = reply.lbId
        self.port = reply.syncUdpPort
        self.senders = []
        self.workers = []

    def add_sender(self, **fields):
        self.senders.append(Sender(self.port, **fields))
        return self.senders[-1]

    def join(self, n=1, **fields):
        workers = add_workers(self.root, self.lb_id, n,
                              first=len(self.workers) + 1, **fields)
        self.workers += workers
        return workers

    def status(self):
        return self.root.LoadBalancerStatus(lbId=self.lb_id)

    def predicted(self):
        return self.status().currentPredictedEventNumber

    def slots(self):
        """Returns the number of slots of each worker, by name."""
        return {w.name: w.slotsAssigned for w in self.status().workers}

    def issues(self):
        return {i.type for i in self.status().healthIssues}

    def epochs(self):
        return self.evlbd.epochs()

    def beat(self, workers=None, **fields):
        """Has senders tell and workers report."""
        for sender in self.senders:
            sender.sync()
        for worker in self.workers if workers is None else workers:
            report(worker, self.lb_id, **fields)

    def wait(self, condition, what="it", workers=None, **fields):
        """Waits for 'condition()' while senders tell and workers report."""
        def check():
            self.beat(workers, **fields)
            return condition()
        return wait_for(check, what)

    def wait_for_slots(self, workers=None, **wanted):
        self.wait(lambda: self.slots() == wanted, "slots %s" % wanted, workers)


@pytest.fixture
def experiment(start):
    """Returns a function that starts evlbd and reserves."""
    def make(reservations=PATIENT, fields=None, **more):
        evlbd = start(reservations=QUICK + reservations, **more)
        return Experiment(evlbd, **(fields or {}))
    return make


# ---------------------------------------------------------------------------
# The first epoch.


def test_first_epoch(experiment):
    """It begins with event 0, and needs neither Sync nor a switch."""
    e = experiment()
    assert not e.epochs()
    assert e.status().currentEpoch == 0
    e.join()
    e.wait_for_slots(w1=SLOTS)
    (number, first), = e.epochs()
    assert first == 0
    assert e.status().currentEpoch == number
    shown, = e.evlbd.ctl("epochs")["epochs"]
    assert shown["prefixes"] == ["0x0000000000000000/0"]


def test_before_a_report(experiment):
    """A worker that has registered is taken to be ready ..."""
    e = experiment()
    e.join()
    wait_for(e.epochs, "an epoch")
    assert e.slots() == {"w1": SLOTS}


def test_only_after_a_report(experiment):
    """... or only one that has said so, if that is asked for."""
    e = experiment("ready_on_register = false; " + PATIENT)
    e.join(2)
    e.wait(lambda: "no_workers" in e.issues(), workers=e.workers[:1],
           isReady=False)
    assert not e.epochs()
    e.wait_for_slots(w1=0, w2=SLOTS, workers=e.workers[1:])


def test_first_epoch_is_replaced(experiment):
    """As long as there are neither packets nor Sync, workers that join are
    there from event 0 on."""
    e = experiment()
    numbers = []
    for n in range(1, 5):
        e.join()
        e.wait(lambda n=n: all(e.slots().get("w%d" % i) == SLOTS // n + (
            SLOTS % n >= i) for i in range(1, n + 1)) or sorted(
                e.slots().values())[0] >= SLOTS // n, "slots of %d" % n)
        (number, first), = e.epochs()
        assert first == 0
        numbers.append(number)
    assert numbers == sorted(set(numbers))
    assert sum(e.slots().values()) == SLOTS


# ---------------------------------------------------------------------------
# Further epochs.


def test_boundaries(experiment):
    """Each change is an epoch more; boundaries lie ahead of the senders, but
    not far, and what is connected stays as it is."""
    e = experiment(top="epochs_kept = 64;")
    sender = e.add_sender(start=10**15)
    known = {}
    for n in range(1, 6):
        before = sender.event()
        old = dict(e.epochs())
        e.join()
        e.wait(lambda n=n: sorted(v for v in e.slots().values() if v) and min(
            e.slots().values()) >= SLOTS // n, "an epoch for %d" % n)
        epochs = {i["id"]: i for i in e.evlbd.ctl("epochs")["epochs"]}
        new = {int(i["first"]) for i in epochs.values()} - set(old.values())
        for first in new - {0}:
            assert before < first
            assert first < sender.event() + 10 * LOOK_AHEAD * RATE
        for number, shown in known.items():
            assert shown["first"] == epochs[number]["first"]
            assert shown["members"] == epochs[number]["members"]
        known = epochs
    firsts = [first for _, first in e.epochs()]
    assert len(firsts) >= 4
    assert firsts[0] == 0
    assert firsts == sorted(set(firsts))
    newest = e.epochs()[-1]
    assert e.status().currentEpoch == newest[0]


def test_leaving(experiment):
    """From the next epoch on it has no slots; it stays known as long as a
    connected epoch sends it events, and then goes."""
    e = experiment(top="epochs_kept = 1; quiesce = 0;")
    sender = e.add_sender()
    e.join(2)
    e.wait_for_slots(w1=256, w2=256)
    e.wait(e.predicted, "Sync")
    client, session = e.workers.pop(0)
    client.Deregister(lbId=e.lb_id, sessionId=session)
    assert [m["id"] for m in e.evlbd.ctl("members")["members"]] == [0, 1]
    e.wait_for_slots(w2=SLOTS)
    boundary = e.epochs()[-1][1]
    assert len(e.epochs()) == 2
    e.wait(lambda: [m["id"] for m in e.evlbd.ctl("members")["members"]] == [1],
           "the end of the member")
    assert sender.event() > boundary
    assert len(e.epochs()) == 1


def test_control_signal(experiment):
    """Each report's signal is added to the weight once."""
    e = experiment()
    e.add_sender()
    e.join(2)
    e.wait_for_slots(w1=256, w2=256)
    report(e.workers[0], e.lb_id, controlSignal=1000)
    e.wait(lambda: e.slots() == {"w1": 341, "w2": 171}, "2:1", workers=[])
    for _ in range(20):
        time.sleep(0.05)  # No period adds it again.
        e.beat(workers=[])
    assert e.slots() == {"w1": 341, "w2": 171}
    report(e.workers[0], e.lb_id, controlSignal=-1e6)
    e.wait(lambda: e.slots()["w1"] <= 1, "nothing", workers=[])
    assert sum(e.slots().values()) == SLOTS


@pytest.mark.parametrize("strategy", ["static", "explicit"])
def test_no_control_signal(experiment, strategy):
    """Other strategies do not look at it."""
    e = experiment(fields={"strategy": strategy})
    e.join(2, slotDemands=[{"index": -1, "length": 256}])
    e.wait_for_slots(w1=256, w2=256)
    number = e.status().currentEpoch
    for _ in range(10):
        report(e.workers[0], e.lb_id, controlSignal=500)
        time.sleep(0.05)
    assert e.status().currentEpoch == number


# ---------------------------------------------------------------------------
# Silence.


def test_silent_worker(experiment):
    """It loses its slots, and later its session."""
    e = experiment("unready_after = 700; remove_after = 3000;")
    e.add_sender()
    e.join(3)
    alive = e.workers[:2]
    e.wait(lambda: all(e.slots().values()))
    e.wait(lambda: e.slots().get("w3") == 0, "silence", alive)
    assert e.slots() == {"w1": 256, "w2": 256, "w3": 0}
    e.wait(lambda: "w3" not in e.slots(), "removal", alive)
    with refused("PERMISSION_DENIED"):
        report(e.workers[2], e.lb_id)
    assert e.slots() == {"w1": 256, "w2": 256}


def test_silent_worker_that_is_back(experiment):
    """One report, and it has slots again."""
    e = experiment("unready_after = 700; remove_after = 3600000;")
    e.add_sender()
    e.join(3)
    e.wait(lambda: all(e.slots().values()))
    e.wait(lambda: e.slots()["w3"] == 0, "silence", e.workers[:2])
    e.wait(lambda: e.slots()["w3"] > 100, "its return")


def test_most_fall_silent(experiment):
    """More likely it is us: the calendar stays, and it is said."""
    e = experiment("unready_after = 700; remove_after = 3600000;")
    e.add_sender()
    e.join(4)
    e.wait(lambda: all(e.slots().values()) and e.predicted())
    e.wait(lambda: "majority_silent" in e.issues(), "an issue", e.workers[:1])
    assert set(e.slots().values()) == {128}
    e.wait(lambda: "majority_silent" not in e.issues(), "its end")
    assert set(e.slots().values()) == {128}


def test_most_say_that_they_are_not_ready(experiment):
    """That is their own will."""
    e = experiment()
    e.add_sender()
    e.join(4)
    e.wait(lambda: all(e.slots().values()) and e.predicted())

    def check():
        for worker in e.workers[1:]:
            report(worker, e.lb_id, isReady=False)
        return e.slots() == {"w1": SLOTS, "w2": 0, "w3": 0, "w4": 0}
    e.wait(check, "one worker", e.workers[:1])


def test_last_worker_leaves(experiment):
    """Its calendar stays, and it is said."""
    e = experiment()
    e.join()
    e.wait_for_slots(w1=SLOTS)
    epochs = e.epochs()
    client, session = e.workers.pop()
    client.Deregister(lbId=e.lb_id, sessionId=session)
    e.wait(lambda: e.issues(), "an issue")
    assert e.epochs() == epochs


# ---------------------------------------------------------------------------
# Sync.


def test_without_sync(experiment):
    """Once there was Sync, a change waits for it, and says so."""
    e = experiment()
    e.add_sender()
    e.join()
    e.wait(lambda: e.slots() == {"w1": SLOTS} and e.predicted(), "Sync")
    senders, e.senders = e.senders, []
    e.wait(lambda: not e.predicted(), "its age")
    epochs = e.epochs()
    e.join()
    e.wait(lambda: "no_boundary" in e.issues(), "an issue")
    assert e.epochs() == epochs
    e.senders = senders
    e.wait_for_slots(w1=256, w2=256)
    assert "no_boundary" not in e.issues()


def test_reset(experiment):
    """An experiment whose events begin anew gets epochs that begin anew."""
    e = experiment()
    e.add_sender(start=10**15)
    e.join()
    e.wait(lambda: e.slots() == {"w1": SLOTS} and e.predicted(), "Sync")
    e.join()
    e.wait_for_slots(w1=256, w2=256)
    assert e.epochs()[-1][1] > 10**15
    number = e.status().currentEpoch
    e.senders = []
    e.root.ResetLoadBalancer(lbId=e.lb_id, sync=True, epochs=True)
    e.wait_for_slots(w1=256, w2=256)
    e.wait(lambda: [first for _, first in e.epochs()] == [0], "a new one")
    assert e.status().currentEpoch != number
    e.add_sender(start=1, rate=10)
    e.join()
    e.wait(lambda: e.slots().get("w3", 0) > 100, "an epoch")
    assert 0 < e.epochs()[-1][1] < 10**6


def get_sync(e):
    """Returns what evlbd counted of datagrams."""
    return next(i for i in e.evlbd.ctl("status")["instances"]
                if i["instance"] == "first")


MALFORMED = [b"", b"\0", make_sync(1)[:27], make_sync(1) + b"\0",
             make_sync(1, magic=0x4c42), make_sync(1, version=1),
             make_sync(1, version=3), bytes(28), b"\xff" * 28, bytes(65000)]


def test_malformed_sync(experiment):
    """It is counted, and nothing else."""
    e = experiment()
    for data in MALFORMED:
        e.evlbd.sync(("127.0.0.1", e.port), data)
    wait_for(lambda: get_sync(e)["sync_malformed"] == len(MALFORMED), "count")
    assert get_sync(e)["sync_taken"] == 0
    assert e.predicted() == 0


def test_foreign_sync(experiment):
    """Whose Sync is not believed is counted, and shown."""
    e = experiment(instance="", fields={"senderAddresses": ["10.0.0.1"]})
    e.evlbd.sync(("127.0.0.1", e.port), make_sync(1000))
    wait_for(lambda: get_sync(e)["sync_foreign"] == 1, "count")
    assert get_sync(e)["sync_foreign_address"] == "127.0.0.1"
    assert e.predicted() == 0
    e.root.AddSenders(lbId=e.lb_id, senderAddresses=["127.0.0.1"])
    e.add_sender()
    e.wait(e.predicted, "Sync")


def test_header_of_sync(experiment):
    """Byte by byte, as a sender writes it."""
    e = experiment()
    data = bytes.fromhex("4c43 02 00 00000007 0000000000abcdef 00000001"
                         " 0000000000000000")
    assert len(data) == 28
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(data, ("127.0.0.1", e.port))
    wait_for(e.predicted, "Sync")
    assert 0xabcdef <= e.predicted() < 0xabcdef + 1000


def test_extreme_sync(experiment):
    """Numbers at the end of what there is: evlbd stays, and so does its
    epoch."""
    e = experiment()
    e.join()
    e.wait_for_slots(w1=SLOTS)
    epochs = e.epochs()
    for event in (2**64 - 1, 2**63, 0):
        for rate in (2**32 - 1, 1, 0):
            e.evlbd.sync(("127.0.0.1", e.port), make_sync(event, rate))
    e.join()
    e.wait(lambda: e.issues() or e.slots().get("w2"), "an answer")
    assert e.epochs()[0][1] == epochs[0][1] == 0
    assert e.evlbd.process.poll() is None


def test_sender_that_is_off(experiment):
    """One of three is elsewhere: it is left out, and named."""
    e = experiment()
    for source, begin in ((1, 10**12), (2, 10**12), (3, 10**14)):
        e.add_sender(start=begin, source=source)
    e.join()
    e.wait(lambda: e.slots() == {"w1": SLOTS} and e.predicted(), "Sync")
    e.wait(lambda: get_sync(e)["quarantined"] == 1, "quarantine")
    e.join()
    e.wait_for_slots(w1=256, w2=256)
    assert 10**12 < e.epochs()[-1][1] < 2 * 10**12
    e.wait(lambda: any("3" in i.message for i in e.status().healthIssues),
           "an issue that names it")


def test_many_sources(experiment):
    """More sources than are kept."""
    e = experiment()
    for source in range(2000):
        e.evlbd.sync(("127.0.0.1", e.port),
                     struct.pack(">HBBIQIQ", 0x4c43, 2, 0, source, 10**9, 1000,
                                 0))
    wait_for(lambda: get_sync(e)["sync_too_many"] > 0, "count")
    assert get_sync(e)["senders"] <= 256
    assert e.predicted() >= 10**9
