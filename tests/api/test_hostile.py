# SPDX-License-Identifier: Apache-2.0

"""Peers that are wrong, slow, many or malicious, at the port of the API."""

import contextlib
import os
import random
import socket
import struct
import threading

import grpc
import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings
import pytest

from evlbd import METHODS, ROOT, TIMEOUT, add_workers, refused

VERSION = "/loadbalancer.LoadBalancer/Version"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MEMORY_KB = 200000  # What evlbd may need while all of this happens.


def make_frame(message=b"", compressed=0, length=None):
    """Returns a message with the five bytes that stand before it."""
    return struct.pack(">BI", compressed,
                       len(message) if length is None else length) + message


def make_headers(path=VERSION, token=ROOT, **more):
    """Returns the headers of a call; those of 'more' replace others, and None
    leaves one out."""
    headers = {":method": "POST", ":scheme": "http", ":path": path,
               ":authority": "127.0.0.1:19523", "te": "trailers",
               "content-type": "application/grpc",
               "authorization": "Bearer " + token}
    headers.update({name.replace("_", "-"): value
                    for name, value in more.items()})
    return [(n, v) for n, v in headers.items() if v is not None]


class Peer:
    """A client of HTTP/2 that does what it is told."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(TIMEOUT)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            validate_outbound_headers=False,
            normalize_outbound_headers=False))
        self.h2.initiate_connection()
        self.flush()
        self.headers = {}
        self.ended = set()
        self.reset = {}
        self.goaway = False
        self.settings = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def send(self, headers, body=make_frame(), end=True):
        """Begins a stream, and ends it if 'end'; returns its number."""
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, headers, end_stream=end and not body)
        if body:
            self.h2.send_data(stream, body, end_stream=end)
        self.flush()
        return stream

    def handle(self, event):
        stream = getattr(event, "stream_id", None)
        if isinstance(event, (h2.events.ResponseReceived,
                              h2.events.TrailersReceived)):
            self.headers.setdefault(stream, {}).update(event.headers)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended.add(stream)
        elif isinstance(event, h2.events.StreamReset):
            self.reset[stream] = event.error_code
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.goaway = True
        elif isinstance(event, h2.events.DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length,
                                              stream)

    def receive(self):
        """Takes what comes next; returns False at the end."""
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        for event in self.h2.receive_data(data) if data else []:
            self.handle(event)
        with contextlib.suppress(OSError):
            self.flush()
        return bool(data)

    def finish(self, stream):
        """Waits for the end of 'stream'; returns the headers of the reply."""
        while stream not in self.ended and stream not in self.reset:
            assert self.receive(), "the connection ended"
        return {k.decode() if isinstance(k, bytes) else k:
                v.decode() if isinstance(v, bytes) else v
                for k, v in self.headers.get(stream, {}).items()}

    def drain(self):
        """Reads until evlbd closes the connection."""
        while self.receive():
            pass

    def call(self, *args, **more):
        return self.finish(self.send(*args, **more))


@pytest.fixture
def peer(shared):
    with Peer(shared.port) as made:
        yield made


@pytest.fixture(autouse=True)
def stays(shared, channel):
    """evlbd goes on, and does not grow."""
    yield
    assert channel.Version().compatTag
    assert shared.memory() < MEMORY_KB


def get_status(reply):
    return int(reply["grpc-status"])


# ---------------------------------------------------------------------------
# Calls that are not as they should be.


def test_good_call(peer):
    """What the others here differ from."""
    reply = peer.call(make_headers())
    assert reply[":status"] == "200"
    assert reply["content-type"].startswith("application/grpc")
    assert get_status(reply) == 0


@pytest.mark.parametrize("path", [
    "/loadbalancer.LoadBalancer/Missing", "/loadbalancer.LoadBalancer/",
    "/loadbalancer.LoadBalancer/version", "/loadbalancer.Other/Version",
    "/Version", "/", "/" + "x" * 2000])
def test_unknown_method(peer, path):
    assert get_status(peer.call(make_headers(path))) == 12


@pytest.mark.parametrize("kind", ["application/grpc+proto",
                                  "application/grpc;charset=utf-8"])
def test_content_type(peer, kind):
    assert get_status(peer.call(make_headers(content_type=kind))) == 0


@pytest.mark.parametrize("kind", [None, "", "text/html", "application/json",
                                  "application/grpcx",
                                  "application/grpc+json"])
def test_bad_content_type(peer, kind):
    """An HTTP status, for it is no gRPC, or that of what is not there."""
    reply = peer.call(make_headers(content_type=kind))
    assert reply[":status"] == "415" or get_status(reply) == 12


@pytest.mark.parametrize("method", ["GET", "PUT", "OPTIONS"])
def test_other_http_methods(peer, method):
    reply = peer.call(make_headers(**{":method": method}))
    assert reply[":status"] in ("405", "415", "400") or get_status(reply)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "snappy", "x"])
def test_compression(peer, encoding):
    """It is not there."""
    reply = peer.call(make_headers(grpc_encoding=encoding),
                      make_frame(b"\x1f\x8b", 1))
    assert get_status(reply) == 12


def test_compression_by_grpcio(root):
    with refused("UNIMPLEMENTED"):
        root.get_call("ReserveLoadBalancer")(
            METHODS["ReserveLoadBalancer"][1](name="x" * 200),
            metadata=root.metadata(), timeout=TIMEOUT,
            compression=grpc.Compression.Gzip)
    assert not root.Overview().loadBalancers


@pytest.mark.parametrize("body, status", [
    (make_frame(b"\x1f\x8b", 1), {13, 12}),
    (make_frame(b"", 2), {13, 12}),
    (b"", {13, 3, 12}),
    (b"\0", {13, 3}), (b"\0\0\0\0", {13, 3}),
    (make_frame(b"abc", length=4), {13, 3}),
    (make_frame(b"abc", length=2), {13, 3}),
    (make_frame() + make_frame(), {13, 3, 12}),
    (make_frame(length=0xffffffff), {8}), (make_frame(length=300000), {8}),
    (make_frame(b"\xff" * 100), {13, 3}), (make_frame(b"\x0a\x7f"), {13, 3}),
    (make_frame(b"\x0a"), {13, 3}), (make_frame(b"\x07\x01"), {13, 3})])
def test_bad_body(peer, body, status):
    """An error that gRPC has for it, and the connection goes on."""
    assert get_status(peer.call(make_headers(), body)) in status
    assert get_status(peer.call(make_headers())) == 0


def test_unknown_fields(peer):
    """Fields of later versions are skipped."""
    body = make_frame(b"\xf8\x07\x2a" + b"\xfa\x07\x03abc")
    assert get_status(peer.call(make_headers(), body)) == 0


@pytest.mark.parametrize("timeout", ["", "1", "x", "1x", "-1S", "123456789S",
                                     "1 S", "9999999999999999999H"])
def test_bad_deadline(peer, timeout):
    """It is an error or no deadline."""
    assert get_status(peer.call(make_headers(grpc_timeout=timeout))) in (
        0, 3, 13)


def test_deadline(peer):
    """A call that is too late at once gets that status or its reply."""
    reply = peer.call(make_headers(grpc_timeout="1n"))
    assert get_status(reply) in (0, 4)


def test_long_headers(peer):
    """They are refused, and the connection goes on or ends in order."""
    stream = peer.send(make_headers(x="y" * 15000))
    while stream not in peer.ended and stream not in peer.reset:
        if not peer.receive():
            break
    assert peer.headers.get(stream, {}).get(b"grpc-status") != b"0"


# ---------------------------------------------------------------------------
# Connections that are not as they should be.


def test_half_closed(shared):
    """A client that says all it has to say and closes its side is answered."""
    with Peer(shared.port) as peer:
        streams = [peer.send(make_headers()) for _ in range(5)]
        peer.socket.shutdown(socket.SHUT_WR)
        for stream in streams:
            assert get_status(peer.finish(stream)) == 0
        peer.drain()


def test_closed_after_a_request(shared, root):
    """Nobody is there to be answered; what was asked for is done or not."""
    for i in range(20):
        with Peer(shared.port) as peer:
            message = METHODS["ReserveLoadBalancer"][1](name="n%d" % i)
            peer.send(make_headers(METHODS["ReserveLoadBalancer"][0]),
                      make_frame(message.SerializeToString()))
    assert len(root.Overview().loadBalancers) <= 2


def test_unfinished_requests(shared):
    """Requests without an end, and clients that leave in the middle of one."""
    peers = []
    for i in range(50):
        peer = Peer(shared.port)
        for _ in range(10):
            peer.send(make_headers(), make_frame(b"abc", length=1000)[:i % 9],
                      end=False)
        peers.append(peer)
    with Peer(shared.port) as other:
        assert get_status(other.call(make_headers())) == 0
    for peer in peers:
        peer.socket.close()


def test_streams(peer):
    """More at a time than there may be: h2 itself keeps to what evlbd said."""
    assert get_status(peer.call(make_headers())) == 0
    limit = peer.h2.remote_settings.max_concurrent_streams
    assert 1 <= limit <= 1000
    for _ in range(limit):
        peer.send(make_headers(), b"", end=False)
    with pytest.raises(h2.exceptions.TooManyStreamsError):
        peer.send(make_headers())
    peer.h2.remote_settings[
        h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS] = 2**31 - 1
    peer.h2.remote_settings.acknowledge()
    stream = peer.send(make_headers())
    while (stream not in peer.ended and stream not in peer.reset
           and not peer.goaway):
        assert peer.receive()
    assert stream not in peer.ended


@pytest.mark.parametrize("what", ["ping", "settings", "resets", "empty",
                                  "window", "priority"])
def test_flood(shared, what):
    """Frames that carry nothing, without end: the connection is ended, or
    all of it is taken; others notice nothing."""
    frames = {
        "ping": b"\0\0\x08\x06\0\0\0\0\0" + bytes(8),
        "settings": b"\0\0\0\x04\0\0\0\0\0",
        "window": b"\0\0\x04\x08\0\0\0\0\0\0\0\0\x01",
        "priority": b"\0\0\x05\x02\0\0\0\0\x01" + b"\0\0\0\0\x10",
    }
    with Peer(shared.port) as peer, contextlib.suppress(OSError):
        if what == "empty":
            peer.send(make_headers(), b"", end=False)
            data = b"\0\0\0\0\0\0\0\0\x01"
        elif what == "resets":
            data = b""
            for _ in range(2000):
                stream = peer.h2.get_next_available_stream_id()
                peer.h2.send_headers(stream, make_headers(), end_stream=True)
                peer.h2.reset_stream(stream)
                data += peer.h2.data_to_send()
        else:
            data = frames[what]
        peer.socket.settimeout(1)
        for _ in range(1 if what == "resets" else 20):
            peer.socket.sendall(data * (1 if what == "resets" else 1000))
        with Peer(shared.port) as other:
            assert get_status(other.call(make_headers())) == 0


def say(port, data):
    """Sends bytes and returns what comes back until the end."""
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(TIMEOUT)
        said = b""
        with contextlib.suppress(OSError):
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            while True:
                more = s.recv(65536)
                if not more:
                    break
                said += more
        return said


@pytest.mark.parametrize("data", [
    b"", b"\0", PREFACE[:10], PREFACE, PREFACE + b"\0" * 100,
    PREFACE + b"\xff" * 100, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"SSH-2.0-x\r\n", b"\r\n\r\n", b"\0" * 100000,
    PREFACE + b"\0\0\0\x04\0\0\0\0\0" + b"\xff\xff\xff\x00\0\0\0\0\x01"],
                         ids=lambda data: repr(data[:20]))
def test_garbage(shared, data):
    said = say(shared.port, data)
    assert b"Version" not in said


def throw(port, pieces):
    """Sends each piece of bytes on a connection of its own, and closes all."""
    sockets = []
    for piece in pieces:
        s = socket.create_connection(("127.0.0.1", port))
        s.settimeout(TIMEOUT)
        with contextlib.suppress(OSError):
            s.sendall(piece)
            s.shutdown(socket.SHUT_WR)
        sockets.append(s)
    for s in sockets:
        with contextlib.suppress(OSError):
            s.recv(65536)
        s.close()


def test_random_bytes(shared):
    rng = random.Random(5)
    begin = PREFACE + b"\0\0\0\x04\0\0\0\0\0"
    throw(shared.port, [(begin if i % 2 else b"") + rng.randbytes(
        rng.randrange(1, 3000)) for i in range(300)])


def test_broken_conversations(shared):
    """Good conversations with a byte that is another one."""
    rng = random.Random(7)
    conversation = h2.connection.H2Connection()
    conversation.initiate_connection()
    for _ in range(5):
        stream = conversation.get_next_available_stream_id()
        conversation.send_headers(stream, make_headers())
        conversation.send_data(stream, make_frame(b"\x12\x01x"),
                               end_stream=True)
    good = conversation.data_to_send()
    broken = []
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            bad[rng.randrange(len(PREFACE), len(bad))] = rng.randrange(256)
        broken.append(bytes(bad))
    throw(shared.port, broken)


# ---------------------------------------------------------------------------
# Messages that are not as they should be.


def mutate(rng, data):
    """Returns 'data' with something of it changed."""
    data = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(4)
        at = rng.randrange(len(data) + 1)
        if kind == 0:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 1:
            del data[at:at + rng.randrange(1, 9)]
        elif at < len(data):
            data[at] = rng.randrange(256)
    return bytes(data)


def fill(rng, message, depth=0):
    """Gives the fields of 'message' values, odd ones among them."""
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.3:
            continue
        repeated = field.label == field.LABEL_REPEATED
        for _ in range(rng.randrange(3) if repeated else 1):
            fill_field(rng, message, field, repeated, depth)


TEXTS = ["", "1", "x", "10.0.0.1", "\u00fc", "-1", "9" * 40, "a" * 300,
         "fd00::1", "*", "/lb/1/*", "%n%s", "ejfat://x@h:1/lb/1"]
NUMBERS = {"float": [0, 1, -1, 1e38, float("nan"), float("inf")],
           "int": [0, 1, 2, 511, 512, 2**31 - 1]}


def fill_field(rng, message, field, repeated, depth):
    if field.type == field.TYPE_MESSAGE:
        if depth < 4 and field.message_type.name != "Struct":
            child = getattr(message, field.name)
            fill(rng, child.add() if repeated else child, depth + 1)
        return
    if field.type == field.TYPE_STRING:
        value = rng.choice(TEXTS)
    elif field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        value = rng.choice(NUMBERS["float"])
    else:
        value = rng.choice(NUMBERS["int"])
        if field.type == field.TYPE_BOOL:
            value = bool(value)
    if repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)


@pytest.mark.parametrize("method", METHODS)
def test_fuzzed_messages(root, method):
    """Whatever a message holds, there is a reply or an error in words."""
    rng = random.Random(method)
    reply = root.ReserveLoadBalancer()
    add_workers(root, reply.lbId, 2)
    path, request, _ = METHODS[method]
    call = root.channel.unary_unary(path)
    for i in range(100):
        message = request()
        fill(rng, message)
        if hasattr(message, "lbId") and rng.random() < 0.7:
            message.lbId = reply.lbId
        data = message.SerializeToString()
        try:
            call(mutate(rng, data) if i % 2 else data,
                 metadata=root.metadata(), timeout=TIMEOUT)
        except grpc.RpcError as error:
            assert error.code().name not in (
                "UNAVAILABLE", "DEADLINE_EXCEEDED", "UNKNOWN", "CANCELLED")
            assert error.details()


def test_bytes_that_are_no_text(root):
    """Names in another encoding are refused, and what is said about it is
    text."""
    call = root.channel.unary_unary(METHODS["ReserveLoadBalancer"][0])
    with refused("INVALID_ARGUMENT"):
        call(b"\x12\x03a\xff\xfe", metadata=root.metadata(), timeout=TIMEOUT)
    assert not root.Overview().loadBalancers


def test_big_messages(root):
    """As large as may be, and larger."""
    lb_id = root.ReserveLoadBalancer().lbId
    with refused("RESOURCE_EXHAUSTED"):
        root.AddSenders(lbId=lb_id, senderAddresses=["10.0.0.1"] * 100000)
    with refused("INVALID_ARGUMENT", "name"):
        root.ReserveLoadBalancer(name="x" * 200000)
    with refused("INVALID_ARGUMENT"):
        root.Register(lbId=lb_id, ipAddress="10.0.0.1", udpPort=1,
                      slotDemands=[{"index": -1, "length": 1}] * 10000)


def test_costly_messages(root):
    """Each of their parts would be compared with each of something else."""
    lb_id = root.ReserveLoadBalancer().lbId
    with refused("INVALID_ARGUMENT", "slotConstraints", "514"):
        root.SetSlotDemands(lbId=lb_id, slotConstraints=[{}] * 514)
    with refused("INVALID_ARGUMENT", "seriesSelector[1]"):
        root.Timeseries(seriesSelector=["/lb/*", "*" * 256])
    root.SetSlotDemands(lbId=lb_id, slotConstraints=[{}] * 513)
    root.Timeseries(seriesSelector=["*" * 255])


# ---------------------------------------------------------------------------
# Many.


def test_thousand_clients(shared):
    """All are connected at once, all ask, and all are answered."""
    idle = shared.memory()
    peers = [Peer(shared.port) for _ in range(1000)]
    try:
        streams = [(p, p.send(make_headers())) for p in peers]
        for peer, stream in streams:
            assert get_status(peer.finish(stream)) == 0
        streams = [(p, p.send(make_headers(
            "/loadbalancer.LoadBalancer/Overview"))) for p in peers]
        for peer, stream in streams:
            assert get_status(peer.finish(stream)) == 0
    finally:
        for peer in peers:
            peer.socket.close()
    assert shared.memory() - idle < 100000


def test_thousand_idle_connections(shared, channel):
    """They say nothing, or not enough; others are served."""
    sockets = []
    for i in range(1000):
        s = socket.create_connection(("127.0.0.1", shared.port))
        s.sendall(PREFACE[:i % (len(PREFACE) + 1)])
        sockets.append(s)
    for _ in range(10):
        channel.Version()
    for s in sockets:
        s.close()


def test_thousand_changes_at_once(root):
    """From several threads: nothing is lost, nothing is there twice."""
    lb_id = root.ReserveLoadBalancer().lbId
    errors = []

    def register(thread):
        try:
            for i in range(50):
                root.Register(lbId=lb_id, name="t%d-%d" % (thread, i),
                              ipAddress="10.0.%d.1" % thread, udpPort=1 + i)
        except grpc.RpcError as error:
            errors.append(error)
    threads = [threading.Thread(target=register, args=(i,)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    workers = root.LoadBalancerStatus(lbId=lb_id).workers
    assert {w.name for w in workers} == {"t%d-%d" % (t, i) for t in range(10)
                                         for i in range(50)}
    assert len({w.sessionId for w in workers}) == 500


def test_limit_of_connections(start):
    """Those beyond it are turned away, and those that are there go on."""
    evlbd = start(api='root_token = "%s"; max_connections = 20;' % ROOT)
    root = evlbd.client()
    root.Version()
    sockets = [socket.create_connection(("127.0.0.1", evlbd.port))
               for _ in range(40)]
    for s in sockets[20:]:
        s.settimeout(TIMEOUT)
        with contextlib.suppress(ConnectionResetError):
            while s.recv(65536):
                pass
    root.Version()
    for s in sockets:
        s.close()


def test_limit_of_calls(start):
    """Who calls too often is told, and may call again later."""
    evlbd = start(api='root_token = "%s"; max_peer_rate = 50;' % ROOT)
    root = evlbd.client()
    codes = set()
    for _ in range(1000):
        try:
            root.Version()
            codes.add("OK")
        except grpc.RpcError as error:
            codes.add(error.code().name)
    assert codes == {"OK", "RESOURCE_EXHAUSTED"}


def test_descriptors_are_closed(shared, channel):
    """What was opened for all of these connections is closed again."""
    def count():
        return len(os.listdir("/proc/%d/fd" % shared.process.pid))
    channel.Version()
    before = count()
    for _ in range(200):
        say(shared.port, PREFACE)
    channel.Version()
    assert count() <= before + 10
