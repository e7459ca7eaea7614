# SPDX-License-Identifier: Apache-2.0

"""What the widely used client library's own tests do with a live control
plane, in their order and with their numbers."""

import pytest

import ejfat
from evlbd import ROOT, Client, from_now, make_sync, refused, wait_for

PORT_RANGES = [2 ** i for i in range(15)]
SENDERS = ["192.168.20.1", "192.168.20.2"]


def get_port_range(n_sources):
    """Returns the smallest range of ports that has one for each source."""
    return next(i for i, n in enumerate(PORT_RANGES) if n >= n_sources)


class Library:
    """The library's objects: one URI that each reply adds to."""

    def __init__(self, evlbd):
        self.evlbd = evlbd
        self.admin = evlbd.client(ROOT)
        self.instance = None
        self.session = None
        self.worker = None
        self.uri = None

    def reserve(self, name, senders):
        reply = self.admin.ReserveLoadBalancer(
            name=name, until=from_now(3600), senderAddresses=senders)
        self.uri = ejfat.parse(reply.ejfatUri)
        assert reply.token == self.uri.token
        assert reply.syncIpv4Address
        assert reply.syncUdpPort
        assert reply.dataIpv4Address or reply.dataIpv6Address
        assert reply.lbId == self.uri.lb_id
        self.instance = self.admin.with_token(reply.token)
        return reply

    def register(self):
        reply = self.instance.Register(
            lbId=self.uri.lb_id, name="my_node", weight=0.5,
            ipAddress="192.168.101.5", udpPort=10000,
            portRange=get_port_range(10), minFactor=1.0, maxFactor=1.0)
        assert reply.token
        assert reply.sessionId
        self.worker = self.admin.with_token(reply.token)
        self.session = reply.sessionId

    def send_state(self, fill=0.8, control=1.0, ready=True):
        self.worker.SendState(
            lbId=self.uri.lb_id, sessionId=self.session,
            timestamp=from_now(0), fillPercent=fill, controlSignal=control,
            isReady=ready)

    def deregister(self):
        self.worker.Deregister(lbId=self.uri.lb_id, sessionId=self.session)

    def free(self):
        self.admin.FreeLoadBalancer(lbId=self.uri.lb_id)


@pytest.fixture
def library(shared, root):
    assert isinstance(root, Client)
    return Library(shared)


def test_reserve_and_free(library):
    library.reserve("mylb", SENDERS)
    library.free()


def test_get(library):
    """Get with the reservation's token gives the same address of Sync."""
    reserved = library.reserve("mylb", SENDERS)
    got = library.instance.GetLoadBalancer(lbId=reserved.lbId)
    for field in ("syncIpv4Address", "syncUdpPort", "dataIpv4Address",
                  "dataIpv6Address"):
        assert getattr(got, field) == getattr(reserved, field)
    library.free()


def test_senders(library):
    """Reserved without senders, which are added and removed."""
    library.reserve("mylb", [])
    library.instance.AddSenders(lbId=library.uri.lb_id,
                                senderAddresses=SENDERS)
    status = library.admin.LoadBalancerStatus(lbId=library.uri.lb_id)
    assert list(status.senderAddresses) == SENDERS
    library.instance.RemoveSenders(lbId=library.uri.lb_id,
                                   senderAddresses=SENDERS)
    status = library.admin.LoadBalancerStatus(lbId=library.uri.lb_id)
    assert not status.senderAddresses
    library.free()


def test_worker(library):
    """Registration of an address that nobody answers for does not fail."""
    assert get_port_range(10) == 4
    library.reserve("mylb", SENDERS)
    library.register()
    library.send_state()
    library.deregister()
    library.free()


def test_status(library):
    """Senders in order; one worker, with what it reported at last."""
    library.reserve("mylb", SENDERS)
    library.register()
    for i in range(5):
        library.send_state(fill=0.1 * i)
    library.send_state()
    status = library.admin.LoadBalancerStatus(lbId=library.uri.lb_id)
    assert list(status.senderAddresses) == SENDERS
    assert len(status.workers) == 1
    worker = status.workers[0]
    assert worker.name == "my_node"
    assert worker.fillPercent == pytest.approx(0.8)
    assert worker.controlSignal == pytest.approx(1.0)
    library.deregister()
    library.free()


def test_version(library):
    version = library.admin.Version()
    assert all((version.commit, version.build, version.compatTag))


def test_overview(library):
    """The first entry is the reservation, and echoes its worker's factors."""
    library.reserve("mylb", SENDERS)
    library.register()
    library.send_state()
    overviews = library.admin.Overview().loadBalancers
    assert overviews[0].name == "mylb"
    assert overviews[0].reservation.lbId == library.uri.lb_id
    worker = overviews[0].status.workers[0]
    assert (worker.minFactor, worker.maxFactor) == (1.0, 1.0)
    library.deregister()
    library.free()


def test_everything(library):
    """One after the other, with Sync; and the slots that come of it."""
    library.reserve("mylb", SENDERS)
    library.register()

    def has_slots():
        library.send_state()
        library.evlbd.sync(library.uri.sync, make_sync(1000))
        status = library.admin.LoadBalancerStatus(lbId=library.uri.lb_id)
        return (status.workers[0].slotsAssigned == 512
                and status.currentEpoch > 0
                and status.currentPredictedEventNumber >= 1000)
    wait_for(has_slots, "slots")
    library.deregister()
    library.free()
    with refused("PERMISSION_DENIED"):
        library.instance.GetLoadBalancer(lbId=library.uri.lb_id)
    with refused("NOT_FOUND"):
        library.admin.GetLoadBalancer(lbId=library.uri.lb_id)
