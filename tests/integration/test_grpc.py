# SPDX-License-Identifier: Apache-2.0

"""The gRPC library and a foreign implementation of gRPC: its client against our
server, built with sanitizers, and its server against our client, evlbctl."""

import concurrent.futures
import json
import os
import random
import select
import socket
import subprocess
import sys
import threading

import pytest

grpc = pytest.importorskip("grpc")
from grpc_tools import protoc  # noqa: E402  pylint: disable=C0413

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SERVER = os.path.join(TOP, "build/san/bin/grpc-echo")
EVLBCTL = os.path.join(TOP, "build/bin/evlbctl")
TIMEOUT = 30
CODES = {code.value[0]: code for code in grpc.StatusCode}


@pytest.fixture(scope="session")
def modules(tmp_path_factory):
    """Returns a function that imports what a .proto is compiled to."""
    directory = str(tmp_path_factory.mktemp("python"))
    sys.path.insert(0, directory)

    def load(proto):
        name = os.path.basename(proto)[:-len(".proto")]
        assert protoc.main(
            ["protoc", "-I" + os.path.dirname(os.path.join(TOP, proto)),
             "--python_out=" + directory, "--grpc_python_out=" + directory,
             os.path.join(TOP, proto)]) == 0
        return (__import__(name + "_pb2"), __import__(name + "_pb2_grpc"))
    return load


@pytest.fixture(scope="module")
def echo(modules):
    """Returns the messages and the client's class of echo.proto."""
    return modules("tests/grpc/echo.proto")


class Server:
    """A grpc-echo."""

    def __init__(self, address, *tls, **settings):
        environment = dict(os.environ)
        environment.update((n, str(v)) for n, v in settings.items())
        self.popen = subprocess.Popen([SERVER, address, *tls],
                                      env=environment,
                                      stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
        assert self.popen.stdout.readline() == "ready\n"

    def stop(self):
        """Ends the server, which must have made no error."""
        _, errors = self.popen.communicate(timeout=TIMEOUT)
        assert self.popen.returncode == 0, errors
        assert "Sanitizer" not in errors


@pytest.fixture
def path(tmp_path):
    """Runs a server; returns the path of its socket."""
    name = str(tmp_path / "echo.sock")
    server = Server("unix:" + name)
    yield name
    server.stop()


@pytest.fixture
def stub(echo, path):
    """Returns a client with a channel of its own to a server."""
    options = [("grpc.use_local_subchannel_pool", 1),
               ("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel("unix:" + path, options) as channel:
        yield echo[1].EchoStub(channel)


def check_error(call, code, details=None):
    """Checks that 'call' fails with 'code', and with 'details' if given."""
    with pytest.raises(grpc.RpcError) as error:
        call()
    assert error.value.code() is code
    if details is not None:
        assert error.value.details() == details


def test_unary(echo, stub):
    for text in ("", "hello", "\u00fc\u2203\U0001f680", "x" * 100000):
        assert stub.Same(echo[0].Text(text=text), timeout=TIMEOUT).text == text


def free_address():
    """Returns an address of TCP that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return "127.0.0.1:%d" % probe.getsockname()[1]


def openssl(*args):
    """Runs openssl."""
    subprocess.run(["openssl", *args], check=True, capture_output=True,
                   timeout=TIMEOUT)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Makes an authority and what it has signed; returns their directory."""
    path = str(tmp_path_factory.mktemp("tls"))
    for name in ("ca", "other"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj",
                "/CN=" + name, "-days", "2", "-keyout",
                "%s/%s.key" % (path, name), "-out", "%s/%s.pem" % (path, name))
    for name in ("server", "client"):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj",
                "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", "%s/%s.key" % (path, name), "-out",
                "%s/%s.csr" % (path, name))
        openssl("x509", "-req", "-in", "%s/%s.csr" % (path, name), "-CA",
                path + "/ca.pem", "-CAkey", path + "/ca.key", "-days", "2",
                "-CAcreateserial", "-copy_extensions", "copy", "-out",
                "%s/%s.pem" % (path, name))
    return path


def read(path):
    """Returns the bytes of a file."""
    with open(path, "rb") as data:
        return data.read()


def test_tls(echo, certificates):
    """A client that knows the authority talks, one that does not, or that
    does not talk TLS, does not."""
    address = free_address()
    server = Server("ssl:" + address, certificates + "/server.pem",
                    certificates + "/server.key")
    text = "x" * 100000
    with grpc.secure_channel(address, grpc.ssl_channel_credentials(
            read(certificates + "/ca.pem"))) as channel:
        stub = echo[1].EchoStub(channel)
        for _ in range(20):
            assert stub.Same(echo[0].Text(text=text),
                             timeout=TIMEOUT).text == text
        replies = stub.Repeat(echo[0].RepeatRequest(text=text, count=50),
                              timeout=TIMEOUT)
        assert [len(r.text) for r in replies] == [100000] * 50
    for channel in (grpc.insecure_channel(address), grpc.secure_channel(
            address, grpc.ssl_channel_credentials(
                read(certificates + "/other.pem")))):
        with channel:
            check_error(lambda c=channel: echo[1].EchoStub(c).Same(
                echo[0].Text(), timeout=TIMEOUT), grpc.StatusCode.UNAVAILABLE)
    server.stop()


def test_tls_client_certificate(echo, certificates):
    """A server with an authority lets in whom that has signed."""
    address = free_address()
    server = Server("ssl:" + address, certificates + "/server.pem",
                    certificates + "/server.key", certificates + "/ca.pem")
    authority = read(certificates + "/ca.pem")
    for name, allowed in (("client", True), ("other", False), (None, False)):
        credentials = grpc.ssl_channel_credentials(
            authority, name and read("%s/%s.key" % (certificates, name)),
            name and read("%s/%s.pem" % (certificates, name)))
        with grpc.secure_channel(address, credentials) as channel:
            stub = echo[1].EchoStub(channel)
            if allowed:
                assert stub.Same(echo[0].Text(text="in"),
                                 timeout=TIMEOUT).text == "in"
            else:
                check_error(lambda s=stub: s.Same(echo[0].Text(),
                                                  timeout=TIMEOUT),
                            grpc.StatusCode.UNAVAILABLE)
    server.stop()


def test_tls_without_certificate():
    """An address of TLS is never served without it."""
    result = subprocess.run([SERVER, "ssl:" + free_address()],
                            capture_output=True, text=True, check=False,
                            stdin=subprocess.DEVNULL, timeout=TIMEOUT)
    assert result.returncode == 1
    assert "there is no certificate" in result.stderr


def test_tcp(echo):
    address = free_address()
    server = Server("tcp:" + address)
    with grpc.insecure_channel(address) as channel:
        assert echo[1].EchoStub(channel).Same(
            echo[0].Text(text="tcp"), timeout=TIMEOUT).text == "tcp"
    server.stop()


def test_thousand_calls(echo, stub):
    """One after the other, and many at a time, more than may be open."""
    for i in range(1000):
        assert stub.Same(echo[0].Text(text=str(i)),
                         timeout=TIMEOUT).text == str(i)
    futures = [stub.Same.future(echo[0].Text(text=str(i)), timeout=TIMEOUT)
               for i in range(1000)]
    assert [f.result().text for f in futures] == [str(i) for i in range(1000)]


def test_streaming(echo, stub):
    replies = list(stub.Repeat(echo[0].RepeatRequest(text="again", count=500),
                               timeout=TIMEOUT))
    assert [r.text for r in replies] == ["again"] * 500
    assert not list(stub.Repeat(echo[0].RepeatRequest(count=0),
                                timeout=TIMEOUT))


def test_big_replies(echo, stub):
    """8 MB in one stream, in messages of 200 kB."""
    text = "".join(random.Random(5).choices("abcdefgh", k=200000))
    replies = stub.Repeat(echo[0].RepeatRequest(text=text, count=40),
                          timeout=TIMEOUT)
    assert all(reply.text == text for reply in replies)


def test_request_too_big(echo, stub):
    check_error(lambda: stub.Same(echo[0].Text(text="x" * 262144),
                                  timeout=TIMEOUT),
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                "the message is too long")


@pytest.mark.parametrize("code", [c for c in CODES if c])
def test_errors(echo, stub, code):
    for message in ("", "why", "100 %\n\u00e9\u2203"):
        check_error(lambda m=message: stub.Fail(
            echo[0].FailRequest(code=code, message=m), timeout=TIMEOUT),
                    CODES[code], message)


def test_unknown_method(echo, stub):
    check_error(lambda: stub.Missing(echo[0].Nothing(), timeout=TIMEOUT),
                grpc.StatusCode.UNIMPLEMENTED,
                "there is no method /evlb.test.Echo/Missing")


def test_compression(echo, stub):
    check_error(lambda: stub.Same(echo[0].Text(text="x" * 1000),
                                  compression=grpc.Compression.Gzip,
                                  timeout=TIMEOUT),
                grpc.StatusCode.UNIMPLEMENTED)


def test_metadata(echo, stub):
    assert stub.Header(echo[0].Text(text="authorization"),
                       metadata=[("authorization", "Bearer 42")],
                       timeout=TIMEOUT).text == "Bearer 42"
    check_error(lambda: stub.Header(echo[0].Text(text="other"),
                                    timeout=TIMEOUT),
                grpc.StatusCode.NOT_FOUND, "other")


def test_asynchronous(echo, stub):
    """Later calls overtake one that waits."""
    slow = stub.Wait.future(echo[0].WaitRequest(ms=300), timeout=TIMEOUT)
    assert stub.Same(echo[0].Text(text="fast"), timeout=TIMEOUT).text == "fast"
    assert not slow.done()
    assert slow.result().text == "waited"


def wait_for_cancelled(echo, stub, number):
    """Waits until the server knows that 'number' calls were given up."""
    for _ in range(1000):
        if stub.Cancelled(echo[0].Nothing(),
                          timeout=TIMEOUT).number == number:
            return
        select.select([], [], [], 0.01)
    raise AssertionError("the server has not noticed %d" % number)


def test_deadline(echo, stub):
    check_error(lambda: stub.Wait(echo[0].WaitRequest(), timeout=0.2),
                grpc.StatusCode.DEADLINE_EXCEEDED)
    wait_for_cancelled(echo, stub, 1)


def test_cancellation(echo, stub):
    calls = [stub.Wait.future(echo[0].WaitRequest(), timeout=TIMEOUT)
             for _ in range(50)]
    assert stub.Same(echo[0].Text(text="a"), timeout=TIMEOUT).text == "a"
    for call in calls:
        assert call.cancel()
    wait_for_cancelled(echo, stub, 50)


def test_lost_connection(echo, path, stub):
    """A client that goes is noticed, and its calls are ended."""
    with grpc.insecure_channel("unix:" + path, [
            ("grpc.use_local_subchannel_pool", 1)]) as channel:
        other = echo[1].EchoStub(channel)
        assert other.Same(echo[0].Text(), timeout=TIMEOUT).text == ""
        other.Wait.future(echo[0].WaitRequest(), timeout=TIMEOUT)
        assert other.Same(echo[0].Text(), timeout=TIMEOUT).text == ""
    wait_for_cancelled(echo, stub, 1)


def connect(path):
    """Returns a socket that is connected to 'path'."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.settimeout(TIMEOUT)
    return s


def test_garbage(echo, path, stub):
    """Bytes that are no HTTP/2, and HTTP/2 that goes wrong later on."""
    rng = random.Random(7)
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5)
    for i in range(200):
        with connect(path) as s:
            try:
                s.sendall((preface if i % 2 else b"")
                          + rng.randbytes(rng.randrange(1, 5000)))
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
            except (BrokenPipeError, ConnectionResetError):
                pass
    assert stub.Same(echo[0].Text(text="alive"),
                     timeout=TIMEOUT).text == "alive"


# ---------------------------------------------------------------------------
# evlbctl, with a foreign server in evlbd's place.


def ctl(path, *args):
    """Runs evlbctl; returns its exit code and what it printed."""
    result = subprocess.run([EVLBCTL, "--socket", path, *args],
                            capture_output=True, text=True, check=False,
                            timeout=TIMEOUT)
    return result.returncode, result.stdout, result.stderr


@pytest.fixture
def fake(modules, tmp_path):
    """Runs a foreign server of evlbd's service; what it answers is up to the
    test."""
    pb2, pb2_grpc = modules("controller/api/admin.proto")

    class Admin(pb2_grpc.AdminServicer):
        """Answers as told."""
        answer = None

        def Status(self, request, context):
            return self.answer(request, context)

    admin = Admin()
    admin.pb2 = pb2
    admin.path = str(tmp_path / "admin.sock")
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    pb2_grpc.add_AdminServicer_to_server(admin, server)
    server.add_insecure_port("unix:" + admin.path)
    server.start()
    yield admin
    server.stop(None)


def test_client(fake):
    instances = [fake.pb2.InstanceStatus(
        instance="in%d" % i, epochs=1, newest_first=2**64 - 1 - i)
                 for i in range(20000)]
    fake.answer = lambda request, context: fake.pb2.StatusReply(
        version="9", instances=instances)
    code, out, _ = ctl(fake.path, "status", "--json")
    assert code == 0
    status = json.loads(out)
    assert status["version"] == "9"
    assert [i["newest_first"] for i in status["instances"]] == [
        2**64 - 1 - i for i in range(20000)]


def test_client_error(fake):
    def answer(request, context):
        context.abort(grpc.StatusCode.PERMISSION_DENIED, "100 % no\u00e9")
    fake.answer = answer
    assert ctl(fake.path, "status") == (1, "", "evlbctl: 100 % no\u00e9\n")


def test_client_method_missing(fake):
    code, _, err = ctl(fake.path, "epochs")
    assert code == 1 and "another version" in err


def test_client_connection_closed(tmp_path):
    """A server that hangs up, or that speaks something else."""
    path = str(tmp_path / "x.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        for answer in (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"):
            def serve(reply=answer):
                s, _ = listener.accept()
                s.sendall(reply)
                s.close()
            thread = threading.Thread(target=serve)
            thread.start()
            code, out, err = ctl(path, "status")
            thread.join()
            assert code == 1 and not out
            assert "left without an answer" in err
