# SPDX-License-Identifier: Apache-2.0

"""evlbd is killed: what it has acknowledged is there when it is back."""

import contextlib
import random
import signal
import threading
import time

import grpc
import pytest

from evlbd import (METHODS, SLOTS, Sender, add_workers, from_now, refused,
                   report, wait_for)

QUICK = ("period = 50; unready_after = 3000000; remove_after = 3600000;")
ROUNDS = 8
SIGNALS = pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])


def read_all(evlbd, clients):
    """Returns everything that is to last: what each client may see of
    reservations, sessions and tokens, and what instances have in service."""
    found = {}
    for name, client in clients.items():
        overviews = client.Overview().loadBalancers
        for overview in overviews:
            status = overview.status
            for field in ("timestamp", "currentPredictedEventNumber",
                          "healthIssues"):
                status.ClearField(field)
            for worker in status.workers:
                for field in ("lastUpdated", "healthIssues"):
                    worker.ClearField(field)
        tokens = [client.ListTokenPermissions().token,
                  *client.ListChildTokens().tokens]
        found[name] = (list(overviews), tokens)
    for what in ("instances", "epochs", "members"):
        found[what] = evlbd.ctl(what)
    return found


def populate(evlbd):
    """Has something of each kind; returns clients with tokens."""
    root = evlbd.client()
    first = root.ReserveLoadBalancer(
        name="first", until=from_now(5000), senderAddresses=["10.0.0.9"],
        ipFamily="IPV4")
    second = root.ReserveLoadBalancer(name="second", strategy="explicit")
    one = root.with_token(first.token)
    one.AddSenders(lbId=first.lbId, senderAddresses=["10.0.0.5", "10.0.0.7"])
    one.RemoveSenders(lbId=first.lbId, senderAddresses=["10.0.0.9"])
    one.ExtendReservation(lbId=first.lbId, until=from_now(9000))
    workers = add_workers(one, first.lbId, 3, minFactor=0.5, maxFactor=1.5,
                          keepLbHeader=True)
    others = add_workers(root, second.lbId, 2)
    root.SetSlotDemands(lbId=second.lbId, slotConstraints=[
        {"sessionId": others[0][1], "slots": [{"index": 3, "length": 9}]}])
    child = one.CreateToken(name="child", permissions=[
        {"resourceType": "RESERVATION", "resourceId": first.lbId,
         "permission": "REGISTER"}])
    client, session = workers.pop()
    client.Deregister(lbId=first.lbId, sessionId=session)
    return {"root": root, "first": one, "second": root.with_token(
        second.token), "child": root.with_token(child.token),
            "w1": workers[0][0], "w2": workers[1][0], "w3": others[0][0]}


@SIGNALS
def test_everything_is_there(start, number):
    """Reservations, tokens, sessions, senders, demands and epochs."""
    evlbd = start(reservations=QUICK)
    clients = populate(evlbd)

    def is_settled():
        slots = [w.slotsAssigned for o in clients["root"].Overview(
            ).loadBalancers for w in o.status.workers]
        return (slots == [256, 256, 9, SLOTS - 9]
                and len(evlbd.ctl("members")["members"]) == 4)
    wait_for(is_settled, "slots")
    before = read_all(evlbd, clients)
    evlbd.stop(number)
    evlbd.start()
    assert read_all(evlbd, clients) == before
    for _ in range(10):
        time.sleep(0.05)  # Periods change nothing, either.
    assert read_all(evlbd, clients) == before


@SIGNALS
def test_what_has_ended(start, number):
    """It does not come back, and its numbers do not."""
    evlbd = start(reservations=QUICK)
    root = evlbd.client()
    reply = root.ReserveLoadBalancer()
    worker, = add_workers(root, reply.lbId, 1)
    made = root.with_token(root.CreateToken(name="t", permissions=[
        {"resourceType": "ALL", "permission": "UPDATE"}]).token)
    token_id = made.ListTokenPermissions().token.id
    root.FreeLoadBalancer(lbId=reply.lbId)
    root.RevokeToken(target={"token": made.token})
    evlbd.stop(number)
    evlbd.start()
    for client in (root.with_token(reply.token), worker[0], made):
        with refused("PERMISSION_DENIED"):
            client.Version()
    again = root.ReserveLoadBalancer()
    assert int(again.lbId) > int(reply.lbId)
    session = add_workers(root, again.lbId, 1)[0][1]
    assert int(session) > int(worker[1])
    assert root.with_token(
        again.token).ListTokenPermissions().token.id > token_id


def test_expired_meanwhile(start):
    evlbd = start(reservations=QUICK)
    root = evlbd.client()
    reply = root.ReserveLoadBalancer(until=from_now(0.5))
    evlbd.stop(signal.SIGKILL)
    time.sleep(0.6)
    evlbd.start()
    wait_for(lambda: not root.Overview().loadBalancers, "expiry")
    with refused("PERMISSION_DENIED"):
        root.with_token(reply.token).Version()


def test_epochs_go_on(start):
    """With a sender that goes on, the next epoch comes behind those that were
    there."""
    evlbd = start(reservations=QUICK, top="epochs_kept = 64;")
    root = evlbd.client()
    reply = root.ReserveLoadBalancer()
    sender = Sender(reply.syncUdpPort, start=10**12)
    workers = []

    def wait_for_workers(n):
        workers.extend(add_workers(root, reply.lbId, n - len(workers),
                                   first=len(workers) + 1))

        def check():
            sender.sync()
            for worker in workers:
                report(worker, reply.lbId)
            slots = [w.slotsAssigned for w in root.LoadBalancerStatus(
                lbId=reply.lbId).workers]
            return min(slots) >= SLOTS // n
        wait_for(check, "slots")
    wait_for_workers(2)
    wait_for_workers(3)
    for n in (4, 5):
        before = evlbd.epochs()
        evlbd.restart()
        assert evlbd.epochs() == before
        wait_for_workers(n)
        assert evlbd.epochs()[:len(before)] == before
        assert evlbd.epochs()[-1][1] > before[-1][1]


class Worker(threading.Thread):
    """Makes calls until the connection breaks, and notes what was
    acknowledged."""

    def __init__(self, client, seed):
        super().__init__()
        self.client = client
        self.random = random.Random(seed)
        self.lb_id = client.ReserveLoadBalancer(
            name="r%d" % seed).lbId
        self.senders = []
        self.sessions = {}
        self.tokens = {}
        self.doubt = None  # What was asked for last.

    def call(self, method, **fields):
        """Calls once: a call that broke off is not made again."""
        self.doubt = (method, fields)
        reply = self.client.get_call(method)(
            METHODS[method][1](**fields), metadata=self.client.metadata(),
            timeout=60)
        self.doubt = None
        return reply

    def step(self, i):
        kind = self.random.randrange(4)
        if kind == 0:
            sender = "10.1.%d.%d" % (i >> 8, i & 255)
            self.call("AddSenders", lbId=self.lb_id, senderAddresses=[sender])
            self.senders.append(sender)
        elif kind == 1:
            name = "w%d" % i
            self.sessions[name] = self.call(
                "Register", lbId=self.lb_id, name=name, udpPort=1000 + i,
                ipAddress="10.0.0.1").sessionId
        elif kind == 2 and self.sessions:
            name = self.random.choice(sorted(self.sessions))
            self.call("Deregister", lbId=self.lb_id,
                      sessionId=self.sessions[name])
            del self.sessions[name]
        else:
            name = "t%d" % i
            self.tokens[name] = self.call("CreateToken", name=name, permissions=[
                {"resourceType": "RESERVATION", "resourceId": self.lb_id,
                 "permission": "UPDATE"}]).token

    def run(self):
        with contextlib.suppress(grpc.RpcError):
            for i in range(100000):
                self.step(i)

    def check(self):
        """Checks that all is as it was acknowledged, but for what is in
        doubt."""
        method, fields = self.doubt
        status = self.client.LoadBalancerStatus(lbId=self.lb_id)
        senders = list(status.senderAddresses)
        if method == "AddSenders" and senders != self.senders:
            self.senders += fields["senderAddresses"]
        assert senders == self.senders
        sessions = {w.name: str(w.sessionId) for w in status.workers}
        changed = dict(set(sessions.items()) ^ set(self.sessions.items()))
        if method == "Register":
            assert changed.keys() <= {fields["name"]}
        elif method == "Deregister":
            assert set(changed.values()) <= {fields["sessionId"]}
        else:
            assert not changed
        for token in self.tokens.values():
            self.client.with_token(token).GetLoadBalancer(lbId=self.lb_id)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_at_any_moment(start, seed):
    """Under calls, at a random moment."""
    evlbd = start(reservations=QUICK)
    worker = Worker(evlbd.client(), seed)
    worker.start()
    time.sleep(random.Random(seed).uniform(0.05, 0.5))
    evlbd.stop(signal.SIGKILL)
    worker.join()
    assert worker.doubt
    evlbd.start()
    worker.check()
