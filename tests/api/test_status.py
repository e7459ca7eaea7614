# SPDX-License-Identifier: Apache-2.0

"""What is in service: status, overview, version, series over time."""

import pytest

from evlbd import (Evlbd, Sender, add_workers, from_now, make_time, read_time,
                   refused, report, wait_for)

METRICS = {"fillPercent": 0.25, "controlSignal": -0.5, "isReady": 1,
           "totalEventsRecv": 11, "totalEventsReassembled": 12,
           "totalEventsReassemblyErr": 13, "totalEventsDequeued": 14,
           "totalEventEnqueueErr": 15, "totalBytesRecv": 16,
           "totalPacketsRecv": 17}


# ---------------------------------------------------------------------------
# Status and overview.


def test_empty(root):
    """What is shown of a reservation that nobody has joined."""
    reply = root.ReserveLoadBalancer(name="r")
    status = root.LoadBalancerStatus(lbId=reply.lbId)
    assert abs(read_time(status.timestamp) - read_time(from_now(0))) < 600
    assert status.currentEpoch == status.currentPredictedEventNumber == 0
    assert not status.workers
    assert not status.senderAddresses
    assert status.slotResolution == 512
    assert read_time(status.expiresAt) > read_time(status.timestamp)


def test_order_of_workers(root):
    reply = root.ReserveLoadBalancer()
    workers = [add_workers(root, reply.lbId, 1, first=i)[0]
               for i in (9, 3, 7)]
    status = root.LoadBalancerStatus(lbId=reply.lbId)
    assert [w.name for w in status.workers] == ["w9", "w3", "w7"]
    assert [str(w.sessionId) for w in status.workers] == [
        session for _, session in workers]


def test_predicted_event(root, shared):
    """What Sync tells is shown, and goes on from there."""
    reply = root.ReserveLoadBalancer()
    sender = Sender(reply.syncUdpPort, start=10**12, rate=1000)

    def predicted():
        return root.LoadBalancerStatus(
            lbId=reply.lbId).currentPredictedEventNumber

    def check():
        sender.sync()
        return predicted()
    first = wait_for(check, "Sync")
    assert 10**12 <= first <= 10**12 + 10**6
    wait_for(lambda: predicted() > first, "events that are predicted")


def test_overview(root):
    """The name, and what Get and Status say."""
    first = root.ReserveLoadBalancer(name="mylb", senderAddresses=["10.0.0.9"])
    add_workers(root, first.lbId, 1, minFactor=0.5, maxFactor=2.0)
    root.ReserveLoadBalancer(name="")
    overviews = root.Overview().loadBalancers
    assert [o.name for o in overviews] == ["mylb", ""]
    assert overviews[0].reservation == root.GetLoadBalancer(lbId=first.lbId)
    status = root.LoadBalancerStatus(lbId=first.lbId)
    shown = overviews[0].status
    for message in (shown, status):
        message.ClearField("timestamp")
        message.ClearField("currentEpoch")
        message.ClearField("healthIssues")
        for worker in message.workers:
            worker.ClearField("slots")
            worker.ClearField("slotsAssigned")
    assert shown == status
    assert (shown.workers[0].minFactor, shown.workers[0].maxFactor) == (0.5,
                                                                        2.0)


def test_version(root):
    reply = root.Version()
    assert reply.commit
    assert reply.build
    assert reply.compatTag == "0.3.1"


# ---------------------------------------------------------------------------
# Health issues.


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """An evlbd whose control period is short, and the root's client."""
    evlbd = Evlbd(tmp_path_factory.mktemp("quick"),
                  reservations="period = 50; unready_after = 500;"
                               "remove_after = 3600000;")
    yield evlbd.client()
    evlbd.close()


@pytest.fixture
def reserve(quick):
    """Returns a function that reserves; all is freed at the end."""
    made = []

    def make(**fields):
        made.append(quick.ReserveLoadBalancer(**fields))
        return made[-1].lbId
    yield make
    for reply in made:
        quick.FreeLoadBalancer(lbId=reply.lbId)


def check_issue(issue, kind):
    assert (issue.type, issue.severity) in ((kind, "warning"), (kind, "error"))
    assert issue.message
    assert abs(read_time(issue.detected_at) - read_time(from_now(0))) < 600


def wait_for_issue(client, lb_id, kind, worker=None):
    """Waits until the reservation, or a worker of it, has an issue 'kind'."""
    def check():
        status = client.LoadBalancerStatus(lbId=lb_id)
        issues = (status if worker is None
                  else status.workers[worker]).healthIssues
        return [i for i in issues if i.type == kind]
    check_issue(wait_for(check, kind)[0], kind)


def test_family_without_worker(quick, reserve):
    """Senders of a family that no worker serves are named."""
    lb_id = reserve(senderAddresses=["fd00::9"])
    worker, = add_workers(quick, lb_id, 1)
    report(worker, lb_id)
    wait_for_issue(quick, lb_id, "sender_family")
    quick.RemoveSenders(lbId=lb_id, senderAddresses=["fd00::9"])

    def is_gone():
        report(worker, lb_id)
        return not quick.LoadBalancerStatus(lbId=lb_id).healthIssues
    wait_for(is_gone, "the end of the issue")


def test_silent_worker(quick, reserve):
    """It is named at the worker, not at the others."""
    lb_id = reserve()
    workers = add_workers(quick, lb_id, 3)

    def check():
        for i in (0, 2):
            report(workers[i], lb_id)
        status = quick.LoadBalancerStatus(lbId=lb_id)
        assert not status.workers[0].healthIssues
        return [i for i in status.workers[1].healthIssues
                if i.type == "silent"]
    check_issue(wait_for(check, "an issue")[0], "silent")


def test_forgotten_sync(quick, reserve):
    """Reset forgets how far senders are."""
    lb_id = reserve()
    sender = Sender(quick.GetLoadBalancer(lbId=lb_id).syncUdpPort)

    def predicted():
        return quick.LoadBalancerStatus(
            lbId=lb_id).currentPredictedEventNumber

    def is_told():
        sender.sync()
        return predicted()

    def is_forgotten():
        quick.ResetLoadBalancer(lbId=lb_id, sync=True)
        return not predicted()
    wait_for(is_told, "Sync")
    wait_for(is_forgotten, "nothing")
    wait_for(is_told, "Sync")


# ---------------------------------------------------------------------------
# Series.


class Recorded:
    """Two reservations of which series were recorded."""

    def __init__(self, client):
        self.client = client
        self.began = read_time(from_now(0))
        self.replies = [client.ReserveLoadBalancer(name=n) for n in "ab"]
        self.ids = [r.lbId for r in self.replies]
        self.sessions = []
        for i, lb_id in enumerate(self.ids):
            workers = add_workers(client, lb_id, 2 - i)
            for worker in workers:
                report(worker, lb_id, **METRICS)
            self.sessions.append(workers)
        wait_for(lambda: all(self.get(
            "/lb/%s/session/*/slots" % i) and self.get(
                "/lb/%s/epoch/boundary_event" % i) for i in self.ids),
                 "series")

    def get(self, *selectors, client=None, since=None):
        """Returns the series, by name."""
        reply = (client or self.client).Timeseries(
            seriesSelector=selectors, since=since)
        series = {t.name: t for t in reply.timeseries}
        assert len(series) == len(reply.timeseries)
        return series

    def names(self, i, *metrics):
        """Returns the names of series of all workers of a reservation."""
        return {"/lb/%s/session/%s/%s" % (self.ids[i], session, metric)
                for _, session in self.sessions[i] for metric in metrics}

    def epoch(self, i):
        return {"/lb/%s/epoch/boundary_event" % self.ids[i]}


@pytest.fixture(scope="module")
def recorded(quick):
    made = Recorded(quick)
    yield made
    for lb_id in made.ids:
        quick.FreeLoadBalancer(lbId=lb_id)


def test_values(recorded):
    """Each metric is a series of its own, of integers or real numbers."""
    series = recorded.get("/lb/%s/*" % recorded.ids[0])
    assert series.keys() == recorded.names(
        0, *METRICS, "slots") | recorded.epoch(0)
    for _, session in recorded.sessions[0]:
        for metric, value in METRICS.items():
            found = series["/lb/%s/session/%s/%s" % (recorded.ids[0], session,
                                                     metric)]
            kind = found.WhichOneof("timeseries")
            assert kind == ("float_samples" if isinstance(value, float)
                            else "integer_samples")
            assert value in [s.value for s in getattr(found, kind).data]
    boundary, = recorded.epoch(0)
    assert series[boundary].integer_samples.data[0].value == 0


def test_times(recorded):
    """In milliseconds since 1970, ascending."""
    for name, series in recorded.get("*").items():
        times = [s.timestamp for s in getattr(
            series, series.WhichOneof("timeseries")).data]
        assert times, name
        assert times == sorted(times)
        assert (recorded.began - 1) * 1000 <= times[0]
        assert times[-1] <= (read_time(from_now(1))) * 1000


@pytest.mark.parametrize("pattern, wanted", [
    ("/lb/{0}/session/{s}/fillPercent", lambda r: {
        "/lb/%s/session/%s/fillPercent" % (r.ids[0], r.sessions[0][0][1])}),
    ("/lb/{0}/session/*/slots", lambda r: r.names(0, "slots")),
    ("/lb/{0}/session/*/total*Recv", lambda r: r.names(
        0, "totalEventsRecv", "totalBytesRecv", "totalPacketsRecv")),
    ("/lb/*/epoch/boundary_event", lambda r: r.epoch(0) | r.epoch(1)),
    ("/lb/{1}/*", lambda r: r.names(1, *METRICS, "slots") | r.epoch(1)),
    ("*slots", lambda r: r.names(0, "slots") | r.names(1, "slots")),
    ("", lambda r: set()), ("slots", lambda r: set()),
    ("/lb/{0}", lambda r: set()), ("/lb/{0}/", lambda r: set()),
    ("/lb/{0}/session/{s}/fill", lambda r: set()),
    ("/lb/999/*", lambda r: set()), ("/*/*/*/*/*/*", lambda r: set())])
def test_selectors(recorded, pattern, wanted):
    selector = pattern.format(*recorded.ids, s=recorded.sessions[0][0][1])
    assert recorded.get(selector).keys() == wanted(recorded)


def test_several_selectors(recorded):
    """Series that several select are there once."""
    selectors = ["/lb/%s/session/*/%s" % (recorded.ids[0], m)
                 for m in ("slots", "*", "slots", "fillPercent")]
    assert recorded.get(*selectors).keys() == recorded.names(0, *METRICS,
                                                             "slots")


def test_number_of_selectors(recorded):
    for n in (0, 1000):
        with refused("INVALID_ARGUMENT", "seriesSelector"):
            recorded.get(*["/lb/*"] * n)


def test_what_a_token_may_read(recorded):
    """What it may not is left out."""
    client = recorded.client
    everything = {i: recorded.names(i, *METRICS, "slots") | recorded.epoch(i)
                  for i in (0, 1)}
    assert recorded.get("*").keys() == everything[0] | everything[1]
    for i in (0, 1):
        own = client.with_token(recorded.replies[i].token)
        assert recorded.get("*", client=own).keys() == everything[i]
        assert not recorded.get("/lb/%s/*" % recorded.ids[1 - i], client=own)
    worker, session = recorded.sessions[0][0]
    assert recorded.get("*", client=worker).keys() == {
        "/lb/%s/session/%s/%s" % (recorded.ids[0], session, m)
        for m in [*METRICS, "slots"]}


def test_since(recorded):
    """Only what is not older; the answer says since when."""
    later = from_now(3600)
    assert not recorded.get("*", since=later)
    earlier = make_time(recorded.began - 10)
    assert recorded.get("*", since=earlier).keys() == recorded.get("*").keys()
    reply = recorded.client.Timeseries(seriesSelector=["*"], since=earlier)
    assert abs(read_time(reply.since) - read_time(earlier)) < 0.01
    selector = "/lb/%s/session/*/slots" % recorded.ids[0]
    times = [s.timestamp for t in recorded.get(selector).values()
             for s in t.integer_samples.data]
    middle = sorted(times)[len(times) // 2]
    found = [s.timestamp for t in recorded.get(
        selector, since=make_time(middle / 1000)).values()
             for s in t.integer_samples.data]
    assert found
    assert min(found) >= middle - 1
    for bad in ({"nanos": -1}, {"nanos": 10**9}, {"seconds": 2**62}):
        with refused("INVALID_ARGUMENT", "since"):
            recorded.client.Timeseries(seriesSelector=["*"], since=bad)
