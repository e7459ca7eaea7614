# SPDX-License-Identifier: Apache-2.0

"""Who may come to our gRPC server (grpc-echo, built with sanitizers), and how
much of it: limits, TLS, HTTP/1, health."""

import http.client
import resource
import select
import socket
import ssl

import pytest

from test_grpc import (TIMEOUT, Server, certificates, check_error, echo,
                       free_address, grpc, modules, path)

# Fixtures are used by name.
__all__ = ["certificates", "echo", "modules", "path"]

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5)


@pytest.fixture
def serve():
    """Returns a function that runs a server of TCP with settings."""
    servers = []

    def start(*tls, **settings):
        address = free_address()
        servers.append(Server(("ssl:" if tls else "tcp:") + address, *tls,
                              **settings))
        return address

    def ticks():
        """Returns how long the latest server has used a processor."""
        with open("/proc/%d/stat" % servers[-1].popen.pid,
                  encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    start.ticks = ticks
    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def stub(echo):
    """Returns a function that makes a client with a connection of its own."""
    channels = []

    def make(address):
        channels.append(grpc.insecure_channel(
            address, [("grpc.use_local_subchannel_pool", 1)]))
        return echo[1].EchoStub(channels[-1])
    yield make
    for channel in channels:
        channel.close()


def connect(address):
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), TIMEOUT)


def receive(s):
    """Returns all that comes until the server closes 's'."""
    data = b""
    try:
        while True:
            piece = s.recv(65536)
            if not piece:
                return data
            data += piece
    except ConnectionResetError:
        return data


def greet(address):
    """Returns a connection on which HTTP/2 is spoken, or None if the server
    closed it."""
    s = connect(address)
    try:
        s.sendall(PREFACE)
        if s.recv(1):
            return s
    except (BrokenPipeError, ConnectionResetError):
        pass
    s.close()
    return None


@pytest.mark.parametrize("setting", ["max_connections",
                                     "max_peer_connections"])
def test_too_many_connections(echo, serve, stub, setting):
    """Others are turned away, those that are there go on, and when they have
    gone there is room again."""
    address = serve(**{setting: 5})
    client = stub(address)
    assert client.Same(echo[0].Text(text="a"), timeout=TIMEOUT).text == "a"
    connections = [greet(address) for _ in range(8)]
    assert [c is not None for c in connections] == [True] * 4 + [False] * 4
    assert client.Same(echo[0].Text(text="b"), timeout=TIMEOUT).text == "b"
    connections[0].shutdown(socket.SHUT_WR)
    receive(connections[0])
    connections.append(greet(address))
    assert connections[-1] is not None
    for s in connections:
        if s:
            s.close()


def test_rate(echo, serve, stub):
    """Calls beyond the rate of an address are refused, on whatever connection,
    and say why; after a while there may be others."""
    address = serve(max_peer_rate=20)
    clients = [stub(address), stub(address)]
    refused = 0
    for i in range(60):
        try:
            clients[i % 2].Same(echo[0].Text(), timeout=TIMEOUT)
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert "more than 20 calls a second" in error.details()
            refused += 1
    assert refused > 0
    for _ in range(1000):
        try:
            clients[0].Same(echo[0].Text(), timeout=TIMEOUT)
            break
        except grpc.RpcError:
            select.select([], [], [], 0.02)
    else:
        pytest.fail("no call is taken any more")


def test_calls_under_way(echo, serve, stub):
    address = serve(max_peer_calls=3)
    first, second = stub(address), stub(address)
    waits = [first.Wait.future(echo[0].WaitRequest(), timeout=TIMEOUT)
             for _ in range(3)]
    for _ in range(1000):  # Until they have arrived.
        try:
            second.Same(echo[0].Text(), timeout=TIMEOUT)
        except grpc.RpcError as error:
            assert "more than 3 calls" in error.details()
            break
        select.select([], [], [], 0.01)
    else:
        pytest.fail("a fourth call is taken")
    for wait in waits:
        wait.cancel()
    for _ in range(1000):
        try:
            second.Same(echo[0].Text(), timeout=TIMEOUT)
            break
        except grpc.RpcError:
            select.select([], [], [], 0.01)
    else:
        pytest.fail("no call is taken any more")


def test_message_size(echo, serve, stub):
    client = stub(serve(max_message=2000))
    text = "x" * 1990
    assert client.Same(echo[0].Text(text=text), timeout=TIMEOUT).text == text
    check_error(lambda: client.Same(echo[0].Text(text="x" * 2000),
                                    timeout=TIMEOUT),
                grpc.StatusCode.RESOURCE_EXHAUSTED, "the message is too long")


def test_idle(serve):
    """A connection without a call is told that it is over, and closed."""
    s = greet(serve(idle=200))
    assert b"\x07\x00\x00\x00\x00\x00" in receive(s)  # GOAWAY.
    s.close()


def test_too_many_files(serve):
    """More clients than files may be open: they wait, without keeping the
    server busy, and when some have gone others are served."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, limits[1]))
    try:
        address = serve()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    waiting = [connect(address) for _ in range(100)]
    before = serve.ticks()
    select.select([], [], [], 1)
    assert serve.ticks() - before < 30  # Of 100.
    for s in waiting:
        s.close()
    s = greet(address)
    assert s is not None
    s.close()


# HTTP/1, and what is neither.


def get(address, path, **headers):
    """Returns the status, the address that is named, and the body."""
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, response.getheader("Location"), body


def test_redirect(serve):
    address = serve(http_port=12345)
    assert get(address, "/metrics?a=b") == (
        308, "http://127.0.0.1:12345/metrics?a=b", b"")
    assert get(address, "/", Host="lb.example:9") == (
        308, "http://lb.example:12345/", b"")


def test_no_redirect(serve):
    address = serve()
    status, location, body = get(address, "/metrics")
    assert (status, location) == (400, None)
    assert b"gRPC" in body


@pytest.mark.parametrize("data", [
    b"\0", b"\x16\x03\x01\x02\x00\x01", b"SSH-2.0-OpenSSH\r\n", b"\xff" * 9000,
    b"GET /" + b"x" * 9000, b"pri * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
def test_garbage(echo, serve, stub, data):
    """It is closed at once, without a word."""
    address = serve()
    with connect(address) as s:
        s.sendall(data)
        assert receive(s) == b""
    assert stub(address).Same(echo[0].Text(text="alive"),
                              timeout=TIMEOUT).text == "alive"


# TLS.


def tls_connect(address, **settings):
    """Returns a connection of TLS, or None if there is none to be had."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    for name, value in settings.items():
        if name == "alpn":
            context.set_alpn_protocols(value)
        else:
            setattr(context, name, value)
    s = connect(address)
    try:
        return context.wrap_socket(s)
    except (ssl.SSLError, ConnectionResetError):
        s.close()
        return None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tls_versions(certificates, serve):
    address = serve(certificates + "/server.pem", certificates + "/server.key")
    for version, allowed in ((ssl.TLSVersion.TLSv1_1, False),
                             (ssl.TLSVersion.TLSv1_2, True),
                             (ssl.TLSVersion.TLSv1_3, True)):
        s = tls_connect(address, minimum_version=ssl.TLSVersion.TLSv1,
                        maximum_version=version, alpn=["h2"])
        assert (s is not None) == allowed
        if s:
            assert s.selected_alpn_protocol() == "h2"
            s.sendall(PREFACE)
            assert s.recv(1)
            s.close()


def test_tls_alpn(certificates, serve):
    """Who does not ask for HTTP/2 is not let in."""
    address = serve(certificates + "/server.pem", certificates + "/server.key")
    s = tls_connect(address, alpn=["http/1.1", "h2"])
    assert s.selected_alpn_protocol() == "h2"
    s.close()
    version = {"maximum_version": ssl.TLSVersion.TLSv1_2}
    assert tls_connect(address, alpn=["http/1.1"], **version) is None
    s = tls_connect(address, **version)
    s.sendall(PREFACE)
    assert receive(s) == b""
    s.close()


# Health.


@pytest.fixture(scope="module")
def health(modules):
    """Returns the messages and the client's class of health.proto."""
    return modules("controller/api/health.proto")


def test_health(health, path):
    with grpc.insecure_channel("unix:" + path) as channel:
        client = health[1].HealthStub(channel)
        for name in ("", "evlb.test.Echo", "grpc.health.v1.Health"):
            request = health[0].HealthCheckRequest(service=name)
            reply = client.Check(request, timeout=TIMEOUT)
            assert reply.status == health[0].HealthCheckResponse.SERVING
        check_error(lambda: client.Check(
            health[0].HealthCheckRequest(service="other"), timeout=TIMEOUT),
            grpc.StatusCode.NOT_FOUND, 'there is no service "other"')


def test_health_watch(health, path):
    """A stream that says so and stays, until the caller gives up."""
    with grpc.insecure_channel("unix:" + path) as channel:
        client = health[1].HealthStub(channel)
        for name, status in (("", "SERVING"), ("other", "SERVICE_UNKNOWN")):
            watch = client.Watch(health[0].HealthCheckRequest(service=name),
                                 timeout=TIMEOUT)
            assert next(watch).status == getattr(
                health[0].HealthCheckResponse, status)
            assert watch.is_active()
            watch.cancel()
        watch = client.Watch(health[0].HealthCheckRequest(), timeout=0.3)
        assert next(watch).status == health[0].HealthCheckResponse.SERVING
        check_error(lambda: next(watch), grpc.StatusCode.DEADLINE_EXCEEDED)
