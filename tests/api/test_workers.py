# SPDX-License-Identifier: Apache-2.0

"""Workers: what may register, what they report, the slots they demand."""

import math

import pytest

from evlbd import (SLOTS, add_workers, from_now, make_time, read_time, refused,
                   report, wait_for)

GOOD = {"name": "w", "weight": 1.0, "ipAddress": "10.0.0.1",
        "udpPort": 20000, "portRange": 4, "minFactor": 0.5, "maxFactor": 2.0}
INF, NAN = math.inf, math.nan


@pytest.fixture
def lb_id(root):
    return root.ReserveLoadBalancer(name="r").lbId


def get_workers(root, lb_id):
    return list(root.LoadBalancerStatus(lbId=lb_id).workers)


# ---------------------------------------------------------------------------
# Registering.


def test_reply_and_status(root, lb_id):
    """What was registered is shown; what was not reported yet is 0."""
    reply = root.Register(lbId=lb_id, **GOOD, keepLbHeader=True,
                          slotDemands=[{"index": 5, "length": 2},
                                       {"index": -1, "length": 3}])
    assert len(reply.token) == 32
    assert reply.sessionId.isdecimal()
    worker, = get_workers(root, lb_id)
    assert worker.sessionId == int(reply.sessionId)
    assert (worker.name, worker.ipAddress, worker.udpPort) == (
        "w", "10.0.0.1", 20000)
    assert worker.portRange == 4
    assert (worker.minFactor, worker.maxFactor) == (0.5, 2.0)
    assert worker.keepLbHeader
    assert [(d.index, d.length) for d in worker.slotDemands] == [(5, 2),
                                                                 (-1, 3)]
    assert not worker.HasField("lastUpdated")
    assert worker.fillPercent == worker.controlSignal == 0
    assert worker.totalEventsRecv == worker.totalPacketsRecv == 0


@pytest.mark.parametrize("fields", [
    {}, {"name": ""}, {"name": "a.b/c"}, {"ipAddress": "127.0.0.1"},
    {"ipAddress": "fd00::1"}, {"ipAddress": "8.8.8.8"}, {"weight": 0.0},
    {"weight": 1e30}, {"udpPort": 1, "portRange": 0},
    {"udpPort": 65535, "portRange": 0}, {"udpPort": 65520},
    {"udpPort": 49152, "portRange": 14}, {"minFactor": 0, "maxFactor": 0},
    {"minFactor": 1, "maxFactor": 1}, {"minFactor": 5, "maxFactor": 0}])
def test_accepted(root, lb_id, fields):
    root.Register(lbId=lb_id, **{**GOOD, **fields})
    assert len(get_workers(root, lb_id)) == 1


@pytest.mark.parametrize("fields, word", [
    *(({"ipAddress": bad}, "ipAddress") for bad in (
        "", "x", "10.0.0", "10.0.0.1/32", "0.0.0.0", "::", "224.0.0.1",
        "239.255.255.255", "ff02::1", "255.255.255.255", "169.254.1.1",
        "fe80::1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2",
        "::ffff:192.0.2.1", "240.0.0.1", "0.1.2.3", "host.example")),
    ({"udpPort": 0}, "udpPort"),
    ({"udpPort": 65536, "portRange": 0}, "udpPort"),
    ({"udpPort": 65521, "portRange": 4}, "udpPort"),
    ({"udpPort": 49153, "portRange": 14}, "udpPort"),
    ({"udpPort": 4294967295, "portRange": 0}, "udpPort"),
    ({"portRange": 15}, "portRange"), ({"portRange": -1}, "portRange"),
    ({"weight": -1}, "weight"), ({"weight": -1e-30}, "weight"),
    ({"weight": NAN}, "weight"), ({"weight": INF}, "weight"),
    ({"weight": -INF}, "weight"),
    ({"minFactor": -1}, "minFactor"), ({"minFactor": NAN}, "minFactor"),
    ({"minFactor": INF}, "minFactor"), ({"maxFactor": -1}, "maxFactor"),
    ({"maxFactor": NAN}, "maxFactor"), ({"maxFactor": INF}, "maxFactor"),
    ({"minFactor": 2, "maxFactor": 1}, "minFactor"),
    ({"name": "-"}, "name"), ({"name": "a" * 64}, "name"),
    ({"name": "a\nb"}, "name"),
    ({"slotDemands": [{"index": 0, "length": 0}]}, "slotDemands[0].length"),
    ({"slotDemands": [{"index": 0, "length": 1}, {"index": -2, "length": 1}]},
     "slotDemands[1].index"),
    ({"slotDemands": [{"index": 512, "length": 1}]}, "slotDemands[0].index"),
    ({"slotDemands": [{"index": 511, "length": 2}]}, "slotDemands[0].length"),
    ({"slotDemands": [{"index": 1, "length": 4294967295}]},
     "slotDemands[0].length"),
    ({"slotDemands": [{"index": -1, "length": 513}]}, "slotDemands[0].length")])
def test_refused(root, lb_id, fields, word):
    """Each by itself, with the field's name; nobody is registered."""
    with refused("INVALID_ARGUMENT", word):
        root.Register(lbId=lb_id, **{**GOOD, **fields})
    assert not get_workers(root, lb_id)


def test_networks(start):
    """Where workers may be is bounded, for administrators, too."""
    root = start(reservations="""
        worker_networks = [ "10.1.0.0/16", "fd00:1::/64", "127.0.0.0/30" ];
        """).client()
    lb_id = root.ReserveLoadBalancer().lbId
    for good in ("10.1.0.1", "fd00:1::5", "127.0.0.1"):
        root.Register(lbId=lb_id, **{**GOOD, "ipAddress": good})
    for bad in ("10.2.0.1", "10.1.255.255", "fd00:2::5", "8.8.8.8",
                "127.0.0.9"):
        with refused("INVALID_ARGUMENT", "ipAddress"):
            root.Register(lbId=lb_id, **{**GOOD, "ipAddress": bad})


def test_loopback_and_private(start):
    """Both can be forbidden."""
    evlbd = start()
    with open(evlbd.file("evlb.conf"), encoding="utf-8") as conf:
        text = conf.read()
    evlbd.stop()
    for name in ("loopback", "private"):
        text = text.replace("allow_%s_workers = true" % name,
                            "allow_%s_workers = false" % name)
    with open(evlbd.file("evlb.conf"), "w", encoding="utf-8") as conf:
        conf.write(text)
    evlbd.start()
    root = evlbd.client()
    lb_id = root.ReserveLoadBalancer().lbId
    for bad in ("127.0.0.1", "127.255.0.1", "::1", "10.0.0.1", "172.31.0.1",
                "192.168.0.1", "fd00::1"):
        with refused("INVALID_ARGUMENT", "ipAddress"):
            root.Register(lbId=lb_id, **{**GOOD, "ipAddress": bad})
    for good in ("172.32.0.1", "8.8.8.8", "2a00::1"):
        root.Register(lbId=lb_id, **{**GOOD, "ipAddress": good})


def test_from_own_address(start):
    """If so configured, a worker registers from where it is."""
    root = start(reservations="registration_from_worker = true;").client()
    lb_id = root.ReserveLoadBalancer().lbId
    with refused("PERMISSION_DENIED", "ipAddress"):
        root.Register(lbId=lb_id, **GOOD)
    root.Register(lbId=lb_id, **{**GOOD, "ipAddress": "127.0.0.1"})


def test_duplicate(root, lb_id):
    """The newer one of an address and port replaces the older one, whose token
    ends; another port is another worker."""
    older, = add_workers(root, lb_id, 1, name="older")
    beside, = add_workers(root, lb_id, 1, udpPort=20001, name="beside")
    newer, = add_workers(root, lb_id, 1, name="newer")
    assert sorted(w.name for w in get_workers(root, lb_id)) == ["beside",
                                                                "newer"]
    report(newer, lb_id)
    report(beside, lb_id)
    with refused("PERMISSION_DENIED"):
        report(older, lb_id)
    with refused("NOT_FOUND", "sessionId"):
        report((root, older[1]), lb_id)


def test_same_worker_twice(root, lb_id):
    """Each reservation has workers of its own."""
    other = root.ReserveLoadBalancer()
    workers = add_workers(root, lb_id, 1) + add_workers(root, other.lbId, 1)
    for reservation in (lb_id, other.lbId):
        assert len(get_workers(root, reservation)) == 1
    for client in (workers[0][0], root, root.with_token(other.token)):
        for method in ("SendState", "Deregister"):
            with refused("NOT_FOUND", "sessionId"):
                getattr(client, method)(lbId=other.lbId,
                                        sessionId=workers[0][1])
    with refused("PERMISSION_DENIED"):
        report((root.with_token(other.token), workers[0][1]), lb_id)
    report(workers[0], lb_id)


def test_too_many(root, lb_id):
    """No more than there are slots; one that goes makes room, and one that
    comes again needs none."""
    workers = []
    for port in (20000, 30000, 40000, 50000):
        workers += add_workers(root, lb_id, SLOTS // 4, udpPort=port)
    with refused("RESOURCE_EXHAUSTED"):
        add_workers(root, lb_id, 1, first=250, udpPort=30000)
    add_workers(root, lb_id, 1, first=7)
    assert len(get_workers(root, lb_id)) == SLOTS
    workers[0][0].Deregister(lbId=lb_id, sessionId=workers[0][1])
    add_workers(root, lb_id, 1, first=250, udpPort=30000)
    assert len(get_workers(root, lb_id)) == SLOTS


def test_deregistering(root, lb_id):
    """The session is over, and its token."""
    workers = add_workers(root, lb_id, 2)
    client, session = workers[0]
    client.Deregister(lbId=lb_id, sessionId=session)
    assert [w.name for w in get_workers(root, lb_id)] == ["w2"]
    with refused("PERMISSION_DENIED"):
        client.Version()
    with refused("NOT_FOUND", "sessionId"):
        root.Deregister(lbId=lb_id, sessionId=session)
    report(workers[1], lb_id)


@pytest.mark.parametrize("method", ["Deregister", "SendState"])
def test_session_ids(root, lb_id, method):
    for bad in ("", "x", "-1", "1x", "18446744073709551616"):
        with refused("INVALID_ARGUMENT", "sessionId"):
            getattr(root, method)(lbId=lb_id, sessionId=bad)
    for absent in ("0", "999999", "18446744073709551615"):
        with refused("NOT_FOUND", "sessionId"):
            getattr(root, method)(lbId=lb_id, sessionId=absent)


# ---------------------------------------------------------------------------
# Reporting.


COUNTERS = ["totalEventsRecv", "totalEventsReassembled",
            "totalEventsReassemblyErr", "totalEventsDequeued",
            "totalEventEnqueueErr", "totalBytesRecv", "totalPacketsRecv"]


def test_report(root, lb_id):
    """The newest state is shown, each field of it."""
    worker, = add_workers(root, lb_id, 1)
    for base in (2**62, 0, 100):
        counters = {name: base + i for i, name in enumerate(COUNTERS)}
        report(worker, lb_id, fillPercent=0.25, controlSignal=-1.5, **counters)
        shown, = get_workers(root, lb_id)
        assert (shown.fillPercent, shown.controlSignal) == (0.25, -1.5)
        assert {n: getattr(shown, n) for n in COUNTERS} == counters


def test_clock_of_the_worker(root, lb_id):
    """A report counts when it comes, whatever the worker's clock says."""
    worker, = add_workers(root, lb_id, 1)
    for claimed in (make_time(1), make_time(4e9), from_now(-3600)):
        report(worker, lb_id, timestamp=claimed)
        shown, = get_workers(root, lb_id)
        assert abs(read_time(shown.lastUpdated)
                   - read_time(from_now(0))) < 600
        assert not shown.healthIssues


@pytest.mark.parametrize("field", ["fillPercent", "controlSignal"])
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_not_finite(root, lb_id, field, value):
    """It is refused, and the state before it stays."""
    worker, = add_workers(root, lb_id, 1)
    report(worker, lb_id, fillPercent=0.125, controlSignal=2.5)
    with refused("INVALID_ARGUMENT", field):
        report(worker, lb_id, **{field: value, "totalEventsRecv": 7})
    shown, = get_workers(root, lb_id)
    assert (shown.fillPercent, shown.controlSignal,
            shown.totalEventsRecv) == (0.125, 2.5, 0)


# ---------------------------------------------------------------------------
# Slots.


def demand(*ranges):
    return [{"index": index, "length": length} for index, length in ranges]


def read_slots(worker):
    """Returns the set of slots that 'worker' has."""
    slots = {i for s in worker.slots for i in range(s.index,
                                                    s.index + s.length)}
    assert len(slots) == sum(s.length for s in worker.slots)
    assert len(slots) == worker.slotsAssigned
    return slots


def wait_for_slots(root, lb_id, wanted):
    """Waits until the workers have slots that 'wanted()' likes; returns
    them."""
    def check():
        slots = [read_slots(w) for w in get_workers(root, lb_id)]
        return slots if wanted(slots) else None
    return wait_for(check, "slots")


def get_demands(root, lb_id):
    return [[(d.index, d.length) for d in w.slotDemands]
            for w in get_workers(root, lb_id)]


def test_conflict_at_registration(root, lb_id):
    """A demand for slots that another one has is refused, with the range."""
    add_workers(root, lb_id, 1, slotDemands=demand((10, 5)))
    with refused("FAILED_PRECONDITION", "slots 14 to 18"):
        add_workers(root, lb_id, 1, first=2, slotDemands=demand((14, 5)))
    with refused("FAILED_PRECONDITION"):
        add_workers(root, lb_id, 1, first=2, slotDemands=demand((-1, 500)))
    assert len(get_workers(root, lb_id)) == 1
    add_workers(root, lb_id, 1, first=2, slotDemands=demand((15, 5)))
    add_workers(root, lb_id, 1, first=1, slotDemands=demand((10, 5)))
    assert get_demands(root, lb_id) == [[(15, 5)], [(10, 5)]]


def test_setting_demands(root, lb_id):
    """They replace those before, and the strategy becomes "static"."""
    workers = add_workers(root, lb_id, 3, slotDemands=[])
    sessions = [session for _, session in workers]
    root.SetSlotDemands(lbId=lb_id, slotConstraints=[
        {"sessionId": sessions[0], "slots": demand((0, 10))},
        {"sessionId": sessions[2], "slots": demand((20, 10), (40, 1))}])
    assert get_demands(root, lb_id) == [[(0, 10)], [], [(20, 10), (40, 1)]]
    assert root.GetLoadBalancer(lbId=lb_id).strategy == "static"
    root.SetSlotDemands(lbId=lb_id, slotConstraints=[
        {"sessionId": sessions[0], "slots": demand((20, 10))},
        {"sessionId": sessions[2], "slots": []}])
    assert get_demands(root, lb_id) == [[(20, 10)], [], []]


def test_demands_of_all(root, lb_id):
    """Without a session the whole reservation is meant."""
    add_workers(root, lb_id, 3)
    root.SetSlotDemands(lbId=lb_id, slotConstraints=[
        {"slots": demand((-1, 100))}])
    assert get_demands(root, lb_id) == [[(-1, 100)]] * 3
    root.SetSlotDemands(lbId=lb_id, slotConstraints=[{"slots": []}])
    assert get_demands(root, lb_id) == [[]] * 3


def test_demands_that_conflict(root, lb_id):
    """Nothing changes, the strategy neither."""
    workers = add_workers(root, lb_id, 2)
    other = root.ReserveLoadBalancer()
    foreign, = add_workers(root, other.lbId, 1)
    ids = [session for _, session in workers]

    def constrain(*constraints):
        root.SetSlotDemands(lbId=lb_id, slotConstraints=[
            {"sessionId": session, "slots": slots}
            for session, slots in constraints])
    with refused("FAILED_PRECONDITION", "slots 105 to 109"):
        constrain((ids[0], demand((100, 6))), (ids[1], demand((105, 5))))
    with refused("FAILED_PRECONDITION"):
        constrain((ids[0], demand((100, 10), (105, 1))))
    with refused("FAILED_PRECONDITION"):
        constrain(("", demand((0, 10))))
    with refused("FAILED_PRECONDITION"):
        constrain(("", demand((-1, 300))))
    with refused("INVALID_ARGUMENT", "slotConstraints[1].slots[0].index"):
        constrain((ids[0], demand((0, 1))), (ids[1], demand((512, 1))))
    with refused("INVALID_ARGUMENT", "slotConstraints[0].sessionId"):
        constrain(("x", demand((0, 1))))
    with refused("NOT_FOUND", "slotConstraints[1].sessionId"):
        constrain((ids[0], demand((0, 1))), (foreign[1], demand((2, 1))))
    assert get_demands(root, lb_id) == [[], []]
    assert root.GetLoadBalancer(lbId=lb_id).strategy == "dynamic"


def test_slots_as_demanded(root):
    """Demanded slots are given as demanded, the others shared."""
    reply = root.ReserveLoadBalancer(strategy="static")
    lb_id = reply.lbId
    workers = add_workers(root, lb_id, 2)
    for worker in workers:
        report(worker, lb_id)
    root.SetSlotDemands(lbId=lb_id, slotConstraints=[
        {"sessionId": workers[0][1], "slots": demand((0, 100), (200, 100))},
        {"sessionId": workers[1][1], "slots": demand((100, 1))}])
    slots = wait_for_slots(root, lb_id, lambda s: all(s))
    assert slots[0] >= set(range(100)) | set(range(200, 300))
    assert 100 in slots[1]
    assert slots[0] | slots[1] == set(range(SLOTS))
    assert not slots[0] & slots[1]


def test_explicit(root):
    """Slots that nobody demands go to nobody."""
    lb_id = root.ReserveLoadBalancer(strategy="explicit").lbId
    for i, ranges in enumerate(([(0, 100), (-1, 50)], [(100, 20)], [])):
        worker, = add_workers(root, lb_id, 1, first=i + 1,
                              slotDemands=demand(*ranges))
        report(worker, lb_id)
    slots = wait_for_slots(root, lb_id, lambda s: s[0] and s[1])
    assert slots == [set(range(100)) | set(range(120, 170)),
                     set(range(100, 120)), set()]


def test_weights(root):
    """With the strategy "static", slots follow weights and factors."""
    lb_id = root.ReserveLoadBalancer(strategy="static").lbId
    for i, fields in enumerate((
            {"weight": 1.0}, {"weight": 2.0}, {"weight": 0.0},
            {"weight": 1000.0, "maxFactor": 1.0})):
        worker, = add_workers(root, lb_id, 1, first=i + 1, **fields)
        report(worker, lb_id)
    slots = wait_for_slots(root, lb_id, lambda s: all(s))
    assert [len(s) for s in slots] == [96, 192, 96, 128]
