# SPDX-License-Identifier: Apache-2.0

"""Our gRPC client (grpc-ask, built with sanitizers) over TCP and TLS, with our
server, a foreign one, and peers that are none."""

import concurrent.futures
import os
import socket
import ssl
import subprocess
import threading

import pytest

from test_grpc import (TIMEOUT, TOP, Server, certificates, echo,
                       free_address, grpc, modules, openssl, path, read)

# Fixtures are used by name.
__all__ = ["certificates", "echo", "modules", "path"]

CLIENT = os.path.join(TOP, "build/san/bin/grpc-ask")


def ask(*args, method="Same", text="hello", host="127.0.0.1", port="1",
        prefix=()):
    """Makes a call; returns its status and the reply or message."""
    result = subprocess.run([*prefix, CLIENT, *args, host, str(port), method,
                             text],
                            capture_output=True, text=True, check=False,
                            timeout=TIMEOUT, stdin=subprocess.DEVNULL)
    assert (result.returncode, result.stderr) == (0, "")
    status, _, message = result.stdout.rstrip("\n").partition(" ")
    return status, message


def port_of(address):
    return address.rpartition(":")[2]


@pytest.fixture(scope="module", params=["127.0.0.1", "[::1]"])
def plain(request):
    """Runs a server on one family only; returns its host and port."""
    port = port_of(free_address())
    server = Server("tcp:%s:%s" % (request.param, port))
    yield request.param.strip("[]"), port
    server.stop()


@pytest.fixture(scope="module")
def tls(certificates):
    """Runs a server of TLS, whose certificate is for 127.0.0.1; returns its
    port."""
    address = free_address()
    server = Server("ssl:" + address, certificates + "/server.pem",
                    certificates + "/server.key")
    yield port_of(address)
    server.stop()


def test_address(plain):
    host, port = plain
    assert ask(host=host, port=port) == ("OK", "hello")


def test_name(plain, tmp_path):
    """Whichever family the server is of, its name finds it."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 both\n::1 both\n")
    prefix = ("unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && '
              'exec "$@"', str(hosts))
    assert ask(host="both", port=plain[1], prefix=prefix) == ("OK", "hello")


def test_unix(path):
    assert ask("-u", path) == ("OK", "hello")
    status, message = ask("-u", path + ".no")
    assert status == "UNAVAILABLE"
    assert message == "No such file or directory"
    status, message = ask("-u", "/" + "x" * 200)
    assert status == "UNAVAILABLE"
    assert "File name too long" in message


def test_header(plain):
    host, port = plain
    assert ask("-H", "authorization=Bearer 42", method="Header",
               text="authorization", host=host,
               port=port) == ("OK", "Bearer 42")
    authority = "%s:%s" % ("[::1]" if host == "::1" else host, port)
    assert ask(method="Header", text=":authority", host=host,
               port=port) == ("OK", authority)


def test_refused():
    port = port_of(free_address())
    status, message = ask(port=port)
    assert status == "UNAVAILABLE"
    assert message == "Connection refused"
    assert ask(host="::1", port=port)[0] == "UNAVAILABLE"


def test_no_such_name():
    """A name that nobody knows, or whose resolver does not answer."""
    assert ask("-t", "700", host="no-such-host.invalid")[0] in (
        "UNAVAILABLE", "DEADLINE_EXCEEDED")


def test_deadline(tls, certificates):
    """The deadline holds whatever the server does: not answer the call, nor
    the handshake, nor HTTP/2."""
    assert ask("-s", "-c", certificates + "/ca.pem", "-t", "300", port=tls,
               method="Wait", text="")[0] == "DEADLINE_EXCEEDED"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert ask("-t", "300", port=port)[0] == "DEADLINE_EXCEEDED"
        assert ask("-s", "-t", "300", port=port)[0] == "DEADLINE_EXCEEDED"


def test_tls(tls, certificates):
    ca = certificates + "/ca.pem"
    assert ask("-s", "-c", ca, port=tls) == ("OK", "hello")
    text = "x" * 100000
    assert ask("-s", "-c", ca, port=tls, text=text) == ("OK", text)


def check_tls_fails(tls, message, *args, **kwargs):
    status, text = ask("-s", *args, port=tls, **kwargs)
    assert status == "UNAVAILABLE"
    assert message in text


def test_tls_other_authority(tls, certificates):
    """Neither another authority's file nor the system's authorities have
    signed it."""
    check_tls_fails(tls, "certificate is not accepted", "-c",
                    certificates + "/other.pem")
    check_tls_fails(tls, "certificate is not accepted")
    assert ask("-s", "-k", port=tls) == ("OK", "hello")


def test_tls_other_host(tls, certificates):
    """The certificate is for an address, not for the name of the host."""
    ca = certificates + "/ca.pem"
    check_tls_fails(tls, "hostname mismatch", "-c", ca, host="localhost")
    assert ask("-s", "-k", "-c", ca, host="localhost",
               port=tls) == ("OK", "hello")


def test_tls_name(certificates):
    """A certificate for a name, and one that is for another address."""
    name = certificates + "/named"
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x",
            "-addext", "subjectAltName=DNS:localhost", "-days", "2", "-keyout",
            name + ".key", "-out", name + ".pem")
    address = free_address()
    server = Server("ssl:" + address, name + ".pem", name + ".key")
    port = port_of(address)
    assert ask("-s", "-c", name + ".pem", host="localhost",
               port=port) == ("OK", "hello")
    check_tls_fails(port, "IP address mismatch", "-c", name + ".pem")
    server.stop()


def test_tls_no_file(tls, certificates):
    missing = certificates + "/missing.pem"
    check_tls_fails(tls, missing + ": No such file or directory", "-c",
                    missing)
    key = certificates + "/server.key"
    check_tls_fails(tls, key + ": ", "-c", key)


def test_plain_and_tls(tls, plain):
    """Who talks TLS to a plain server, or the other way, is told."""
    assert ask("-s", "-k", host=plain[0], port=plain[1])[0] == "UNAVAILABLE"
    assert ask(port=tls)[0] == "UNAVAILABLE"


def test_tls_without_http2(certificates):
    """A server of TLS that knows nothing of HTTP/2 is none of ours."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates + "/server.pem",
                            certificates + "/server.key")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            peer = listener.accept()[0]
            with context.wrap_socket(peer, server_side=True) as tls:
                tls.recv(1)
        thread = threading.Thread(target=serve)
        thread.start()
        check_tls_fails(listener.getsockname()[1], "does not offer HTTP/2",
                        "-k")
        thread.join(TIMEOUT)


def test_foreign(echo, certificates):
    """Another implementation's server, plain and of TLS."""
    class Servicer(echo[1].EchoServicer):
        def Same(self, request, context):  # pylint: disable=C0103
            return request

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    echo[1].add_EchoServicer_to_server(Servicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    tls = server.add_secure_port(
        "127.0.0.1:0", grpc.ssl_server_credentials(
            [(read(certificates + "/server.key"),
              read(certificates + "/server.pem"))]))
    server.start()
    assert ask(port=port) == ("OK", "hello")
    assert ask("-s", "-c", certificates + "/ca.pem",
               port=tls) == ("OK", "hello")
    assert ask(port=port, method="Header")[0] == "UNIMPLEMENTED"
    server.stop(None).wait()
