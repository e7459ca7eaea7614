# SPDX-License-Identifier: Apache-2.0

"""Calls at random: some are good, some are not, some are given up.  Whatever
comes, each call ends, what is refused changes nothing, and what is there at
the end makes sense and survives."""

import random

import grpc
import pytest

from evlbd import METHODS, ROOT, TIMEOUT, from_now, make_sync

ANSWERS = {"OK", "INVALID_ARGUMENT", "NOT_FOUND", "PERMISSION_DENIED",
           "UNAUTHENTICATED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"}
GIVEN_UP = {"DEADLINE_EXCEEDED", "CANCELLED"}

# What goes on by itself.
PASSING = {"timestamp", "slots", "slotsAssigned", "healthIssues",
           "currentEpoch", "currentPredictedEventNumber", "ejfatUri"}

ODD_TEXTS = ["", "0", "-1", "01", " 1", "1 ", "+1", "9" * 19, "9" * 30, "x",
             "\u00fc" * 60, "%n%s", "*" * 200, "a.b", "::ffff:10.0.0.1"]
ODD_NUMBERS = [-1e38, -1, 0, 1e-38, 1, 3e38, float("nan"), float("inf")]
TIMES = [-62135596801, -1, 0, 1, 253402300799, 253402300800, 2**63 - 1,
         -2**63]


def strip(message):
    """Returns what 'message' says that only calls change."""
    fields = []
    for field, value in message.ListFields():
        if field.name in PASSING:
            continue
        if field.label == field.LABEL_REPEATED:
            value = [strip(v) if field.message_type else v for v in value]
        elif field.message_type:
            value = strip(value)
        fields.append((field.name, value))
    return fields


class Attacker:
    """Makes up calls, and remembers what to call with."""

    def __init__(self, evlbd, seed, shortest):
        self.shortest = shortest  # Reservation, in seconds.
        self.rng = random.Random(seed)
        self.clients = [evlbd.client(None) for _ in range(3)]
        self.root = evlbd.client()
        self.tokens = [ROOT]
        self.reservations = ["1"]
        self.sessions = [("1", "1", ROOT)]
        self.count = {}

    def see(self):
        """Returns what only calls change."""
        return (strip(self.root.Overview()),
                strip(self.root.ListChildTokens()))

    # What calls are made of.

    def odd(self, value, others, chance=0.05):
        return self.rng.choice(others) if self.rng.random() < chance else value

    def lb_id(self):
        return self.odd(self.rng.choice(self.reservations[-3:]), ODD_TEXTS)

    def name(self):
        return self.odd("n%d" % self.rng.randrange(100), ODD_TEXTS)

    def address(self):
        return self.odd("10.%d.0.%d" % (self.rng.randrange(3),
                                        self.rng.randrange(1, 9)),
                        ODD_TEXTS + ["fd00::1", "192.0.2.1", "0.0.0.0",
                                     "255.255.255.255", "fe80::1"])

    def addresses(self):
        return [self.address() for _ in range(self.rng.randrange(4))]

    def number(self):
        return self.odd(self.rng.choice([0, 0.5, 1, 2]), ODD_NUMBERS)

    def until(self):
        message = from_now(self.rng.choice([self.shortest, 600, 3600]))
        if self.rng.random() < 0.1:
            message.seconds = self.rng.choice(TIMES)
        message.nanos = self.odd(message.nanos, [-1, 10**9, 2**31 - 1], 0.03)
        return message

    def ranges(self):
        return [{"index": self.odd(self.rng.randrange(-1, 512), [-2, 2**31 - 1,
                                                                 -2**31]),
                 "length": self.odd(self.rng.randrange(1, 9), [0, 512,
                                                               2**32 - 1])}
                for _ in range(self.rng.choice([0, 0, 0, 1, 3]))]

    def target(self):
        return self.rng.choice([
            {}, {"id": 0}, {"id": 1}, {"id": self.rng.randrange(60)},
            {"id": 2**32 - 1}, {"token": self.rng.choice(self.tokens)},
            {"token": self.rng.choice(ODD_TEXTS)}])

    def permissions(self):
        return [{"resourceType": self.odd(self.rng.randrange(4), [4, -1]),
                 "resourceId": self.odd(str(self.rng.randrange(9)), ODD_TEXTS,
                                        0.3),
                 "permission": self.odd(self.rng.randrange(4), [-1, 2**31 - 1])}
                for _ in range(self.odd(1, [0, 2, 64, 1000]))]

    def make(self, method):
        """Returns the fields of a call of 'method', and its token."""
        rng = self.rng
        fields = {}
        token = self.odd(ROOT, self.tokens, 0.3)
        names = METHODS[method][1].DESCRIPTOR.fields_by_name
        for field in names:
            fields[field] = {
                "lbId": self.lb_id, "name": self.name, "until": self.until,
                "since": self.until, "timestamp": self.until,
                "senderAddresses": self.addresses,
                "ipAddress": self.address, "target": self.target,
                "ipFamily": lambda: self.odd(rng.randrange(3), [3, -1]),
                "strategy": lambda: self.odd(
                    rng.choice(["", "dynamic", "static", "explicit"]),
                    ODD_TEXTS),
                "udpPort": lambda: self.odd(rng.randrange(1, 60000),
                                            [0, 65535, 65536, 2**32 - 1]),
                "portRange": lambda: self.odd(rng.randrange(5),
                                              [14, 15, 256, -1, 2**31 - 1]),
                "slotDemands": self.ranges, "permissions": self.permissions,
                "slotConstraints": lambda: [
                    {"sessionId": self.odd("", ["1", "2", "3"], 0.5),
                     "slots": self.ranges()} for _ in range(rng.randrange(4))],
                "seriesSelector": lambda: [
                    rng.choice(["/lb/*", "*", "/lb/1/session/*/fillPercent"]
                               + ODD_TEXTS) for _ in range(
                                   self.odd(1, [0, 64, 65]))],
                "visited": lambda: ODD_TEXTS[:rng.randrange(3)],
                "ejfatUri": lambda: rng.choice(
                    ODD_TEXTS + ["ejfat://%s@127.0.0.1:1/lb/1" % ROOT]),
                "chainId": lambda: rng.choice(ODD_TEXTS),
                "sessionId": lambda: rng.choice(ODD_TEXTS),
            }.get(field, self.number if names[field].cpp_type ==
                  names[field].CPPTYPE_FLOAT else lambda: self.odd(
                      rng.randrange(2), [0, 1]))()
        if method in ("SendState", "Deregister") and rng.random() < 0.9:
            fields["lbId"], fields["sessionId"], token = rng.choice(
                self.sessions[-9:])
        if method == "ReserveLoadBalancer" and rng.random() < 0.3:
            del fields["until"]
        return fields, token

    def start(self, patient):
        """Starts a call of anything."""
        rng = self.rng
        method = rng.choice(
            list(METHODS) + ["Register"] * 8 + ["SendState"] * 8
            + ["ReserveLoadBalancer", "AddSenders", "CreateToken"] * 2)
        fields, token = self.make(method)
        given_up = not patient and rng.random() < 0.2
        client = rng.choice(self.clients).with_token(
            self.odd(token, [None, "z", "0" * 32], 0.02))
        call = client.get_call(method).future(
            METHODS[method][1](**fields), metadata=client.metadata(),
            timeout=rng.choice([0.001, 0.003]) if given_up else TIMEOUT)
        if given_up and rng.random() < 0.5:
            call.cancel()
        return method, fields, given_up, call

    def finish(self, started):
        """Waits until a call that was started ends, and returns how."""
        method, fields, given_up, call = started
        try:
            reply = call.result()
            code = "OK"
            self.learn(method, fields, reply)
        except grpc.FutureCancelledError:
            code = "CANCELLED"
        except grpc.RpcError as error:
            code = error.code().name
            assert error.details(), (method, fields)
        assert code in ANSWERS | (GIVEN_UP if given_up else set()), (
            method, fields, call)
        self.count[method, code] = self.count.get((method, code), 0) + 1
        return code

    def learn(self, method, fields, reply):
        """Takes note of what came into being."""
        if method == "ReserveLoadBalancer":
            self.reservations.append(reply.lbId)
            self.tokens.append(reply.token)
        elif method == "Register":
            self.sessions.append((fields["lbId"], reply.sessionId,
                                  reply.token))
        elif method == "CreateToken":
            self.tokens.append(reply.token)


def check(overview):
    """Checks that what is reserved and registered makes sense."""
    reservations = [o.reservation for o in overview]
    assert len({r.lbId for r in reservations}) == len(reservations) <= 2
    assert len({r.fpgaLbId for r in reservations}) == len(reservations)
    sessions = [w.sessionId for o in overview for w in o.status.workers]
    assert len(set(sessions)) == len(sessions)
    for entry in overview:
        workers = entry.status.workers
        assert len({(w.ipAddress, w.udpPort) for w in workers}) == len(workers)
        assert sum(w.slotsAssigned for w in workers) <= 512
        senders = entry.status.senderAddresses
        assert len(set(senders)) == len(senders)


@pytest.mark.parametrize("seed", range(3))
def test_refused_calls(start, seed):
    """One after the other: what is refused changes nothing."""
    evlbd = start()
    attacker = Attacker(evlbd, seed, 300)
    seen = attacker.see()
    for _ in range(400):
        method, fields, _, call = started = attacker.start(True)
        code = attacker.finish(started)
        now = attacker.see()
        assert code == "OK" or now == seen, (method, fields, call)
        seen = now
        check(attacker.root.Overview().loadBalancers)
    assert len({m for m, code in attacker.count if code == "OK"}) > 15
    evlbd.stop()


@pytest.mark.parametrize("seed", range(3))
def test_calls_at_the_same_time(start, seed):
    """Many at a time, some given up: the others are answered, and what came
    of it makes sense."""
    evlbd = start()
    attacker = Attacker(evlbd, 100 + seed, 0.3)
    for _ in range(15):
        evlbd.sync(("127.0.0.1", evlbd.sync_ports[0]),
                   make_sync(attacker.rng.randrange(2**64),
                             attacker.rng.randrange(2**32)))
        calls = [attacker.start(False) for _ in range(100)]
        for call in calls:
            attacker.finish(call)
        check(attacker.root.Overview().loadBalancers)
    evlbd.stop()
