# SPDX-License-Identifier: Apache-2.0

"""Chains: an evlbd that is a worker of another one."""

import os
import signal
import socket

import pytest

import tables
from evlbd import Evlbd, add_workers, refused, report, wait_for

IPV4, IPV6 = 1, 2


class Balancer(Evlbd):
    """One of several, with addresses of its own."""

    def __init__(self, directory, number, allow=()):
        self.number = number
        super().__init__(directory, top=allow_only(allow))

    def write(self, **more):
        super().write(**more)
        with open(self.file("evlb.conf"), "r+", encoding="utf-8") as stream:
            text = stream.read()
            stream.seek(0)
            stream.write(text.replace("192.0.2.", "192.0.%d." % self.number)
                         .replace("db8::", "db8:%d::" % self.number))

    def allow(self, *addresses):
        """Lets only these control planes be upstream from now on."""
        self.write(top=allow_only(addresses))
        self.ctl("reload")


def allow_only(addresses):
    return ("chain = { allow = [ %s ]; };"
            % ", ".join('"%s"' % address for address in addresses))


class Node:
    """A reservation of an evlbd of its own."""

    def __init__(self, directory, number, allow=()):
        self.evlbd = Balancer(directory, number, allow)
        self.root = self.evlbd.client()
        self.reservation = self.root.ReserveLoadBalancer(name="r")
        self.id = self.reservation.lbId
        self.uri = self.reservation.ejfatUri
        self.name = "%s/%s" % (self.evlbd.address, self.id)

    def restart(self, after=lambda: None):
        """Kills evlbd, does something, and starts it again."""
        self.evlbd.stop(signal.SIGKILL)
        after()
        self.evlbd.start()
        self.root = self.evlbd.client()

    def chain(self, upstream, **fields):
        """Becomes the worker of 'upstream', and returns the chain's id."""
        return self.root.ChainLoadBalancer(
            **{"lbId": self.id, "ejfatUri": upstream.uri, "ipFamily": IPV4,
               **fields}).chainId

    def workers(self):
        return list(self.root.LoadBalancerStatus(lbId=self.id).workers)

    def issues(self):
        """Returns what is wrong with chains, in words."""
        return [i.message for i in self.root.LoadBalancerStatus(
            lbId=self.id).healthIssues if i.type == "chain"]

    def graph(self, **fields):
        return self.root.GetChainGraph(lbId=self.id, **fields)

    def ports(self):
        """Returns the UDP ports that events for the first instance have."""
        return next((i["first_port"], i["last_port"])
                    for i in self.evlbd.ctl("instances")["instances"]
                    if i["name"] == "first")

    def sources(self):
        """Returns who may send to the first instance."""
        return next(sorted(i["sources"])
                    for i in self.evlbd.ctl("instances")["instances"]
                    if i["name"] == "first")


@pytest.fixture
def nodes(tmp_path):
    """Returns a function that makes a number of nodes, each of which may be
    the worker of any."""
    made = []

    def make(n):
        for i in range(n):
            directory = tmp_path / str(i)
            directory.mkdir()
            made.append(Node(directory, 11 + i))
        for node in made:
            node.evlbd.allow(*(other.evlbd.address for other in made))
        return made
    yield make
    for node in made:
        node.evlbd.close()


def test_worker(nodes):
    """One that is chained is registered upstream, with all that was asked
    for, and lets in what comes from there."""
    down, up = nodes(2)
    chain = down.chain(up, weight=0.5, minFactor=0.25, maxFactor=2,
                       slotDemands=[{"index": 5, "length": 2},
                                    {"index": -1, "length": 1}])
    assert chain.isdecimal()
    worker, = up.workers()
    assert worker.name == down.name
    assert (worker.ipAddress, worker.udpPort) == ("192.0.11.1", 19522)
    assert worker.portRange == 14
    assert worker.keepLbHeader
    assert (worker.minFactor, worker.maxFactor) == (0.25, 2)
    assert [(d.index, d.length) for d in worker.slotDemands] == [(5, 2),
                                                                 (-1, 1)]
    assert down.sources() == ["192.0.12.1", "2001:db8:12::1"]
    down.root.AddSenders(lbId=down.id, senderAddresses=["10.0.0.9"])
    assert down.sources() == ["10.0.0.9", "192.0.12.1",
                              "2001:db8:12::1"]
    status = down.root.LoadBalancerStatus(lbId=down.id)
    assert list(status.senderAddresses) == ["10.0.0.9"]


def test_ports(nodes):
    """A chain's events come to more ports than senders are told of."""
    down, up = nodes(2)
    assert down.ports() == (16384, 32767)
    chain = down.chain(up)
    assert down.ports() == (16384, 19522 + 16384 - 1)
    down.restart()
    assert down.ports() == (16384, 35905)
    reply = down.root.GetLoadBalancer(lbId=down.id)
    assert (reply.dataMinPort, reply.dataMaxPort) == (16384, 32767)
    assert "192.0.11.1:16384-32767" in reply.ejfatUri
    down.root.UnchainLoadBalancer(lbId=down.id, chainId=chain)
    assert down.ports() == (16384, 32767)


def test_ipv6(nodes):
    down, up = nodes(2)
    down.chain(up, ipFamily=IPV6)
    assert up.workers()[0].ipAddress == "2001:db8:11::1"


def test_reports(nodes):
    """What the workers report is reported upstream as of one.  (Their shares,
    by which they count, hardly change.)"""
    down, up = nodes(2)
    workers = add_workers(down.root, down.id, 2)
    down.chain(up)

    def reports(**expected):
        report(workers[0], down.id, fillPercent=0.25, controlSignal=2,
               totalEventsRecv=10, totalBytesRecv=1 << 62)
        report(workers[1], down.id, fillPercent=0.75, controlSignal=-1,
               totalEventsRecv=5, totalBytesRecv=1 << 62)
        worker, = up.workers()
        return all(getattr(worker, name) == value
                   for name, value in expected.items())
    wait_for(lambda: reports(fillPercent=pytest.approx(0.5, abs=0.05),
                             controlSignal=0.5, totalEventsRecv=15,
                             totalBytesRecv=2**63 - 1))
    wait_for(lambda: reports(slotsAssigned=512))


def test_not_ready(nodes):
    """It is not ready as long as none of its workers is."""
    down, up = nodes(2)
    down.chain(up)
    wait_for(lambda: up.workers()[0].HasField("lastUpdated"))
    worker, = add_workers(down.root, down.id, 1)
    report(worker, down.id, isReady=False)
    wait_for(lambda: up.root.LoadBalancerStatus(lbId=up.id).healthIssues)
    assert up.workers()[0].slotsAssigned == 0

    def is_ready():
        report(worker, down.id)
        return up.workers()[0].slotsAssigned == 512
    wait_for(is_ready)


def test_unchain(nodes):
    down, up = nodes(2)
    chain = down.chain(up)
    down.root.UnchainLoadBalancer(lbId=down.id, chainId=chain)
    wait_for(lambda: not up.workers(), "the worker to go")
    assert not down.sources()
    assert not down.graph().edges
    with refused("NOT_FOUND", "chainId", "chain " + chain):
        down.root.UnchainLoadBalancer(lbId=down.id, chainId=chain)
    with refused("INVALID_ARGUMENT", "chainId", '"x"'):
        down.root.UnchainLoadBalancer(lbId=down.id, chainId="x")
    assert int(down.chain(up)) > int(chain)


def test_free(nodes):
    """A reservation that ends is nobody's worker any more."""
    down, up = nodes(2)
    down.chain(up)
    down.root.FreeLoadBalancer(lbId=down.id)
    wait_for(lambda: not up.workers(), "the worker to go")


def test_foreign_chain(nodes):
    """A chain is one reservation's, whoever else knows its number."""
    down, up = nodes(2)
    chain = down.chain(up)
    other = down.root.ReserveLoadBalancer(name="other")
    with refused("NOT_FOUND", "chainId"):
        down.root.UnchainLoadBalancer(lbId=other.lbId, chainId=chain)
    assert len(down.graph().edges) == 1


def test_restart(nodes):
    """A chain goes on after a crash; what it needs for that is not stored in
    the clear, and is of no use without its key."""
    down, up = nodes(2)
    chain = down.chain(up)
    session = up.workers()[0].sessionId
    down.restart()
    wait_for(lambda: [w.sessionId for w in up.workers()] == [session + 1])
    assert [e.chainId for e in down.graph().edges] == [chain]
    for name in os.listdir(down.evlbd.directory):
        if name.startswith("evlb.db"):
            with open(down.evlbd.file(name), "rb") as stream:
                data = stream.read()
            assert up.reservation.token.encode() not in data

    down.restart(lambda: os.unlink(down.evlbd.file("evlb.db-key")))
    with refused("UNAVAILABLE", "sealed with another key"):
        down.graph()
    assert "sealed with another key" in down.issues()[0]
    down.root.UnchainLoadBalancer(lbId=down.id, chainId=chain)
    assert int(down.chain(up)) > int(chain)


def test_upstream_forgets(nodes):
    """A session that is gone upstream is made anew."""
    down, up = nodes(2)
    down.chain(up)
    session = up.workers()[0].sessionId
    up.root.Deregister(lbId=up.id, sessionId=str(session))
    wait_for(lambda: [w.sessionId for w in up.workers()] == [session + 1])


def test_upstream_restarts(nodes):
    """Nothing changes when the other one comes back with what it had."""
    down, up = nodes(2)
    down.chain(up)
    session = up.workers()[0].sessionId
    up.restart()
    wait_for(lambda: up.workers()[0].HasField("lastUpdated"))
    assert [w.sessionId for w in up.workers()] == [session]


def test_disallowed_later(nodes):
    """Who is taken out of the list is told nothing any more."""
    down, up = nodes(2)
    down.chain(up)
    wait_for(lambda: up.workers()[0].HasField("lastUpdated"))
    assert not down.issues()
    down.evlbd.allow()
    wait_for(lambda: [i for i in down.issues() if "does not name" in i])
    down.evlbd.allow(up.evlbd.address)
    wait_for(lambda: not down.issues())


# ---------------------------------------------------------------------------
# Who is whose worker.


def test_graph(nodes):
    """The graph is that of all that are upstream."""
    a, b, c = nodes(3)
    b.chain(c)
    a.chain(b)
    edges = a.graph().edges
    assert [(e.downstreamLbId, e.upstreamLbId) for e in edges] == [
        (a.name, b.name), (b.name, c.name)]
    assert [(e.downstreamDataIpv4, e.downstreamDataIpv6, e.upstreamDataIpv4,
             e.upstreamDataIpv6) for e in edges] == [
                 ("192.0.11.1", "2001:db8:11::1",
                  "192.0.12.1", "2001:db8:12::1"),
                 ("192.0.12.1", "2001:db8:12::1",
                  "192.0.13.1", "2001:db8:13::1")]
    assert not a.graph().cycleDetected
    assert not c.graph().edges


def test_circle(nodes):
    a, b, c = nodes(3)
    a.chain(b)
    b.chain(c)
    for upstream in (a, b):
        with refused("FAILED_PRECONDITION", "ejfatUri", "circles"):
            c.chain(upstream)
    assert not a.workers()
    assert not c.graph().edges
    with refused("FAILED_PRECONDITION", "ejfatUri", "circles"):
        a.chain(a)


def test_visited(nodes):
    node, = nodes(1)
    assert node.graph(visited=["x", node.name.upper()]).cycleDetected
    assert not node.graph(visited=["x"] * 15).cycleDetected
    with refused("FAILED_PRECONDITION", "visited", "16"):
        node.graph(visited=["x"] * 16)
    with refused("INVALID_ARGUMENT", "visited[1]"):
        node.graph(visited=["x", "x" * 400])


def test_circle_of_aliases(nodes):
    """A circle whose nodes do not know each other's names ends, too."""
    a, b = nodes(2)
    for node, other in ((a, b), (b, a)):
        node.evlbd.allow("localhost:%d" % other.evlbd.port)

    def alias(node):
        return node.uri.replace("127.0.0.1:%d/" % node.evlbd.port,
                                "localhost:%d/" % node.evlbd.port)
    a.chain(b, ejfatUri=alias(b))
    with refused("FAILED_PRECONDITION"):
        b.chain(a, ejfatUri=alias(a))
    assert not b.graph().edges


def test_upstream_is_away(nodes):
    """A graph that is not known as a whole is not shown in part."""
    a, b = nodes(2)
    a.chain(b)
    b.evlbd.stop()
    with refused("UNAVAILABLE", "GetChainGraph upstream"):
        a.graph()


def test_end_meanwhile(nodes):
    """evlbd ends while the other side lets it wait, and so does the call."""
    down, = nodes(1)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = "127.0.0.1:%d" % listener.getsockname()[1]
        down.evlbd.allow(address)
        call = down.root.get_call("ChainLoadBalancer").future(
            tables.get_methods()["ChainLoadBalancer"][1](
                lbId=down.id, ipFamily=IPV4,
                ejfatUri=down.uri.replace(down.evlbd.address, address)),
            metadata=down.root.metadata())
        connection, _ = listener.accept()
        connection.recv(1)
        down.evlbd.stop()
        assert call.code().name == "UNAVAILABLE"
        connection.close()
    down.evlbd.start()
    down.root = down.evlbd.client()
    assert not down.graph().edges


def test_silent_upstream(nodes):
    """Who does not answer is given up."""
    down, = nodes(1)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = "127.0.0.1:%d" % listener.getsockname()[1]
        down.evlbd.allow(address)
        with refused("DEADLINE_EXCEEDED", "GetLoadBalancer upstream"):
            down.root.ChainLoadBalancer(
                lbId=down.id, ipFamily=IPV4,
                ejfatUri=down.uri.replace(down.evlbd.address, address))
    assert not down.graph().edges


# ---------------------------------------------------------------------------
# What is refused.


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A node that may be the worker of another one."""
    up = Node(tmp_path_factory.mktemp("up"), 11)
    down = Node(tmp_path_factory.mktemp("down"), 12, [up.evlbd.address])
    yield down, up
    down.evlbd.close()
    up.evlbd.close()


@pytest.mark.parametrize("fields, words", [
    ({"ipFamily": 0}, ["ipFamily", "neither IPV4 nor IPV6"]),
    ({"ipFamily": 3}, ["ipFamily: 3"]),
    ({"ejfatUri": ""}, ["ejfatUri"]),
    ({"ejfatUri": "http://x"}, ["ejfatUri"]),
    ({"weight": -1}, ["weight: -1"]),
    ({"weight": float("nan")}, ["weight: "]),
    ({"minFactor": 2, "maxFactor": 1}, ["minFactor: 2"]),
    ({"slotDemands": [{"index": 512, "length": 1}]}, ["slotDemands[0].index"]),
])
def test_bad(pair, fields, words):
    down, up = pair
    with refused("INVALID_ARGUMENT", *words):
        down.chain(up, **fields)
    assert not up.workers()


def test_bad_uri(pair):
    down, up = pair
    with refused("INVALID_ARGUMENT", "ejfatUri", "no token"):
        down.chain(up, ejfatUri=up.uri.replace(up.reservation.token + "@", ""))
    with refused("INVALID_ARGUMENT", "ejfatUri", "no reservation"):
        down.chain(up, ejfatUri=up.uri.split("/lb/")[0] + "/lb/")


def test_not_allowed(pair):
    """Nobody is upstream whom the configuration does not name."""
    down, up = pair
    for address in ("127.0.0.1:1024", "localhost:%d" % up.evlbd.port,
                    "169.254.169.254:8080"):
        with refused("PERMISSION_DENIED", "chain.allow", address):
            down.chain(up, ejfatUri=up.uri.replace(up.evlbd.address, address))
    with refused("PERMISSION_DENIED", "chain.allow", down.evlbd.address):
        up.chain(down)


def test_refused_upstream(pair):
    """What is said upstream is passed on, and nothing is half done."""
    down, up = pair
    with refused("FAILED_PRECONDITION", "upstream", "token"):
        down.chain(up, ejfatUri=up.uri.replace(up.reservation.token, "0" * 32))
    reader = up.root.CreateToken(
        name="reader", permissions=[{"resourceType": 2, "resourceId": up.id,
                                     "permission": 0}])
    with refused("FAILED_PRECONDITION", "refused upstream", "REGISTER"):
        down.chain(up, ejfatUri=reader.ejfatUri)
    assert not up.workers()
    assert not down.graph().edges
    assert not down.sources()


def test_twice(nodes):
    down, up = nodes(2)
    chain = down.chain(up)
    with refused("ALREADY_EXISTS", "ejfatUri", "chain " + chain):
        down.chain(up)
    assert len(up.workers()) == 1


def test_rights(nodes):
    """To be a worker takes UPDATE on the reservation, to look at the graph
    takes READ_ONLY."""
    down, up = nodes(2)
    holder = down.root.with_token(down.root.CreateToken(
        name="t", permissions=[{"resourceType": 2, "resourceId": down.id,
                                "permission": 1}]).token)
    with refused("PERMISSION_DENIED", "UPDATE"):
        holder.ChainLoadBalancer(lbId=down.id, ejfatUri=up.uri, ipFamily=IPV4)
    assert not holder.GetChainGraph(lbId=down.id).edges
    with refused("PERMISSION_DENIED", "UPDATE"):
        holder.UnchainLoadBalancer(lbId=down.id, chainId="1")
