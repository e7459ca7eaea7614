# SPDX-License-Identifier: Apache-2.0

"""The API over TLS: who trusts whom."""

import os
import shutil
import signal
import socket
import ssl
import subprocess

import grpc
import h2.connection
import pytest

import ejfat
from evlbd import METHODS, ROOT, TIMEOUT, Evlbd, refused, wait_for


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True,
                   timeout=TIMEOUT)


def make_authority(directory, name):
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-subj", "/CN=" + name, "-keyout", "%s/%s.key" % (directory, name),
            "-out", "%s/%s.pem" % (directory, name))


def make_certificate(directory, name, authority="ca", alt="IP:127.0.0.1",
                     begin=None, end=None):
    """Makes NAME.pem and NAME.key, signed by an authority."""
    path = os.path.join(directory, name)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + name,
            "-addext", "subjectAltName=" + alt, "-keyout", path + ".key",
            "-out", path + ".csr")
    config = os.path.join(directory, "ca.conf")
    with open(config, "w", encoding="ascii") as out:
        out.write("[ca]\ndefault_ca=d\n[d]\nnew_certs_dir=%(d)s\n"
                  "database=%(d)s/index\nserial=%(d)s/serial\n"
                  "default_md=sha256\npolicy=p\ncopy_extensions=copy\n"
                  "unique_subject=no\nrand_serial=yes\n"
                  "[p]\ncommonName=supplied\n" % {"d": directory})
    with open(os.path.join(directory, "index"), "a", encoding="ascii"):
        pass
    times = (["-startdate", begin, "-enddate", end] if begin
             else ["-days", "2"])
    openssl("ca", "-batch", "-notext", "-config", config, "-in", path + ".csr",
            "-cert", "%s/%s.pem" % (directory, authority), "-keyfile",
            "%s/%s.key" % (directory, authority), "-out", path + ".pem",
            *times)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Makes authorities and certificates; returns their directory."""
    directory = str(tmp_path_factory.mktemp("tls"))
    for name in ("ca", "other"):
        make_authority(directory, name)
    make_certificate(directory, "good")
    make_certificate(directory, "renewed")
    make_certificate(directory, "expired", begin="20200101000000Z",
                     end="20200201000000Z")
    make_certificate(directory, "early", begin="20900101000000Z",
                     end="20900201000000Z")
    make_certificate(directory, "misnamed", alt="DNS:elsewhere.example")
    make_certificate(directory, "foreign", authority="other")
    return directory


def read(directory, name):
    with open(os.path.join(directory, name), "rb") as data:
        return data.read()


def install(directory, name):
    """Puts a certificate where evlbd has its own."""
    for suffix in (".key", ".pem"):
        shutil.copy(os.path.join(directory, name + suffix),
                    os.path.join(directory, "server.new"))
        os.replace(os.path.join(directory, "server.new"),
                   os.path.join(directory, "server" + suffix))


def make_evlbd(directory, files, name):
    install(files, name)
    return Evlbd(directory, scheme="ssl", api="""
        root_token = "%s";
        tls = { certificate = "%s/server.pem";
                private_key = "%s/server.key"; };""" % (ROOT, files, files))


def trust(files, name="ca"):
    return grpc.ssl_channel_credentials(read(files, name + ".pem"))


@pytest.fixture(scope="module")
def secure(files, tmp_path_factory):
    evlbd = make_evlbd(tmp_path_factory.mktemp("secure"), files, "good")
    yield evlbd
    evlbd.close()


def call_once(client):
    """Calls without waiting for a better connection."""
    return client.get_call("Version")(METHODS["Version"][1](),
                                      metadata=client.metadata(),
                                      timeout=TIMEOUT)


def test_good(secure, files):
    """All is well, and URIs say that it is TLS."""
    root = secure.client(credentials=trust(files))
    assert root.Version().compatTag == "0.3.1"
    reply = root.ReserveLoadBalancer()
    uri = ejfat.parse(reply.ejfatUri)
    assert (uri.tls, uri.host, uri.port) == (True, "127.0.0.1", secure.port)
    made = root.CreateToken(name="x", permissions=[
        {"resourceType": "RESERVATION", "resourceId": reply.lbId}])
    assert ejfat.parse(made.ejfatUri).tls
    assert ejfat.parse(root.GetLoadBalancer(lbId=reply.lbId).ejfatUri).tls
    root.FreeLoadBalancer(lbId=reply.lbId)


def test_wrong_authority(secure, files):
    with refused("UNAVAILABLE"):
        call_once(secure.client(credentials=trust(files, "other")))


def test_plain(secure):
    """A client that does not speak TLS gets nothing, and sees no token."""
    with refused("UNAVAILABLE"):
        call_once(secure.client())


@pytest.mark.parametrize("name", ["expired", "early", "misnamed", "foreign"])
def test_bad_certificate(files, tmp_path, name):
    """The client refuses it; a client that does not look is served."""
    evlbd = make_evlbd(tmp_path, files, name)
    try:
        with refused("UNAVAILABLE"):
            call_once(evlbd.client(credentials=trust(files)))
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with connect(evlbd, context) as s:
            assert s.version() in ("TLSv1.2", "TLSv1.3")
    finally:
        evlbd.close()
        install(files, "good")


def connect(evlbd, context):
    s = socket.create_connection(("127.0.0.1", evlbd.port), TIMEOUT)
    return context.wrap_socket(s, server_hostname="127.0.0.1")


def make_context(files, alpn=("h2",)):
    context = ssl.create_default_context(
        cafile=os.path.join(files, "ca.pem"))
    context.set_alpn_protocols(list(alpn))
    return context


def test_alpn(secure, files):
    """HTTP/2 is agreed upon, and it is what follows."""
    with connect(secure, make_context(files, ("http/1.1", "h2"))) as s:
        assert s.selected_alpn_protocol() == "h2"
        peer = h2.connection.H2Connection()
        peer.initiate_connection()
        s.sendall(peer.data_to_send())
        assert peer.receive_data(s.recv(65536))


def test_old_versions(secure, files):
    """TLS before 1.2 is refused."""
    context = make_context(files)
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        connect(secure, context)


def get_serial(evlbd, files):
    with connect(evlbd, make_context(files)) as s:
        return s.getpeercert()["serialNumber"]


def test_renewed_certificate(files, tmp_path):
    """It is in use soon after the file has changed; connections go on.  One
    that is broken changes nothing."""
    evlbd = make_evlbd(tmp_path, files, "good")
    try:
        root = evlbd.client(credentials=trust(files))
        root.Version()
        old = get_serial(evlbd, files)
        install(files, "renewed")
        wait_for(lambda: get_serial(evlbd, files) != old, "the new one")
        new = get_serial(evlbd, files)
        root.Version()
        with open(os.path.join(files, "server.pem"), "w",
                  encoding="ascii") as out:
            out.write("nonsense\n")
        evlbd.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "server.pem" in evlbd.log(), "a message")
        assert get_serial(evlbd, files) == new
        root.Version()
    finally:
        evlbd.close()
        install(files, "good")


def test_garbage(secure, files):
    """Half a greeting, a plain preface, and silence do nobody any harm."""
    for data in (b"\x16\x03\x01", b"\x16\x03\x01\xff\xff" + b"\0" * 5000,
                 b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0" * 100000):
        with socket.create_connection(("127.0.0.1", secure.port)) as s:
            s.sendall(data)
    silent = [socket.create_connection(("127.0.0.1", secure.port))
              for _ in range(100)]
    secure.client(credentials=trust(files)).Version()
    for s in silent:
        s.close()
