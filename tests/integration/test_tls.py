# SPDX-License-Identifier: Apache-2.0
"""OpenFlow over TLS: the real switch, and peers that are none."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "ovs"))

import netns  # noqa: E402
from switch import (TOP, Switch, end_with_parent,  # noqa: E402
                    find_programs)

EVLBD = os.path.join(TOP, "build", "bin", "evlbd")
CONFIG = """
openflow = {
    listen = [ "ssl:127.0.0.1" ];
    tls = {
        certificate = "%(dir)s/evlbd.pem";
        private_key = "%(dir)s/evlbd.key";
        ca = "%(dir)s/ca.pem";
    };
};
admin = { socket = "%(dir)s/admin.sock"; };
bridges = ( { name = "br0"; datapath_id = "42"; } );
interfaces = ( { name = "data"; mac = "02:00:00:00:00:01"; } );
instances = ( { name = "a"; id = 0; addresses = [ "10.0.0.1" ];
                sources = [ "0.0.0.0/0" ]; } );
"""


def openssl(*args):
    """Runs openssl."""
    subprocess.run(("openssl",) + args, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_ca(directory, name):
    """Makes an authority."""
    path = str(directory / name)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=" + name,
            "-days", "30", "-keyout", path + ".key", "-out", path + ".pem")


def make_certificate(directory, name, ca="ca", days="30"):
    """Makes a certificate that 'ca' signed."""
    path, ca = str(directory / name), str(directory / ca)
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=" + name,
            "-keyout", path + ".key", "-out", path + ".csr")
    openssl("x509", "-req", "-in", path + ".csr", "-CA", ca + ".pem",
            "-CAkey", ca + ".key", "-CAcreateserial", "-days", days, "-out",
            path + ".pem")


class World:
    """A directory of certificates, evlbd, a switch."""

    def __init__(self, directory):
        self.directory = directory
        for ca in ("ca", "other-ca"):
            make_ca(directory, ca)
        make_certificate(directory, "evlbd")
        make_certificate(directory, "switch")
        make_certificate(directory, "stranger", "other-ca")
        make_certificate(directory, "expired", days="0")
        self.config = directory / "evlb.conf"
        self.config.write_text(CONFIG % {"dir": directory})
        self.out = directory / "evlbd.out"
        self.evlbd = subprocess.Popen(
            [EVLBD, "-c", str(self.config)], stdin=subprocess.DEVNULL,
            stdout=self.out.open("w"), stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent)
        self.wait_log("listening")
        self.switch = Switch(find_programs(), directory)
        self.switch.start("--enable-dummy=override", "--disable-system")
        self.switch.add_dummy_bridge("br0", ["p1"])
        self.switch.vsctl("set", "bridge", "br0",
                          "other_config:datapath-id=0000000000000042")

    def wait_log(self, text, seen=0):
        """Waits until evlbd has logged 'text' behind 'seen' bytes."""
        deadline = time.monotonic() + 20
        while not re.search(text, self.out.read_text()[seen:]):
            assert self.evlbd.poll() is None, self.out.read_text()
            assert time.monotonic() < deadline, \
                "no %s in %s" % (text, self.out.read_text()[seen:])
            time.sleep(0.02)

    def seen(self):
        """Returns the length of the log."""
        return len(self.out.read_text())

    def connect(self, certificate, ca="ca"):
        """Has the switch connect with 'certificate'."""
        path = str(self.directory)
        self.switch.vsctl("del-controller", "br0")
        self.switch.vsctl("set-ssl", "%s/%s.key" % (path, certificate),
                          "%s/%s.pem" % (path, certificate),
                          "%s/%s.pem" % (path, ca))
        self.switch.vsctl("set-controller", "br0", "ssl:127.0.0.1:6653")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """One world for all tests."""
    netns.enter_private()
    made = World(tmp_path_factory.mktemp("tls"))
    yield made
    made.evlbd.terminate()
    made.evlbd.wait()
    made.switch.stop()


def raw():
    """A connection that no TLS is spoken over yet."""
    connection = socket.create_connection(("127.0.0.1", 6653), 5)
    connection.settimeout(30)
    return connection


def test_switch_connects(world):
    """The switch is known by its certificate, and gets its rules."""
    seen = world.seen()
    world.connect("switch")
    world.wait_log(r"ssl:127\.0\.0\.1:\d+: is /CN=switch", seen)
    world.wait_log("br0: change committed", seen)
    assert "cookie=0x4c42" in world.switch.ofctl("dump-flows", "br0")


@pytest.mark.parametrize("certificate, reason", [
    ("stranger", "unable to get local issuer certificate|unable to verify"),
    ("expired", "certificate has expired")])
def test_certificate_is_refused(world, certificate, reason):
    """A certificate of somebody else, or one that is too old."""
    time.sleep(1.1)             # The expired one is that now.
    seen = world.seen()
    world.connect(certificate)
    world.wait_log("the peer's certificate is not accepted: (%s)" % reason,
                   seen)
    assert "is switch br0" not in world.out.read_text()[seen:]


def test_no_certificate(world):
    """A peer must have one."""
    seen = world.seen()
    subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:6653"],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=20, check=False)
    world.wait_log("TLS: peer did not return a certificate", seen)


def test_old_version(world):
    """TLS 1.1 is too old."""
    seen = world.seen()
    subprocess.run(["openssl", "s_client", "-tls1_1", "-cipher",
                    "ALL:@SECLEVEL=0", "-connect", "127.0.0.1:6653"],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=20, check=False)
    world.wait_log("TLS: (unsupported protocol|no protocols available|"
                   "tlsv1 alert protocol version)", seen)


def test_plain_bytes(world):
    """OpenFlow without TLS."""
    seen = world.seen()
    with raw() as connection:
        connection.sendall(bytes([6, 0, 0, 8, 0, 0, 0, 1]))
        try:
            assert connection.recv(100)[:2] != b"\x06\0"
        except ConnectionResetError:
            pass
    world.wait_log("TLS: (wrong version number|http request|"
                   "unexpected message|packet length too long)", seen)


def test_slow_handshake(world):
    """Who says nothing is given up, and the others are not kept waiting."""
    seen = world.seen()
    with raw() as silent:
        world.connect("switch")
        world.wait_log("is switch br0", seen)
        assert silent.recv(1) == b""
    world.wait_log("takes too long for the handshake|is silent", seen)


@pytest.mark.parametrize("old, new, message", [
    ("evlbd.pem", "nothing.pem", r"conf:5: openflow\.tls\.certificate: .*"
     "nothing.pem: .*[Nn]o such file"),
    ("evlbd.key", "switch.key", r"conf:6: openflow\.tls\.private_key: .*"
     "is not the key"),
    ("ca.pem", "evlb.conf", r"conf:7: openflow\.tls\.ca: .*evlb\.conf: "),
    ("private_key", "privat_key", r"conf:6: openflow\.tls\.privat_key: is no "
     "known setting"),
    ('listen = [ "ssl:127.0.0.1" ];\n    tls', 'x = 1;\n tsl',
     "is no known setting")])
def test_mistakes(world, old, new, message):
    """Each mistake is found by --check, with its line."""
    text = (CONFIG % {"dir": world.directory}).replace(old, new, 1)
    (world.directory / "bad.conf").write_text(text)
    done = subprocess.run([EVLBD, "--check", "-c",
                           str(world.directory / "bad.conf")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    assert done.returncode == 1
    assert re.search(message, done.stdout), done.stdout


def test_needs_settings(world):
    """An address of TLS without the files."""
    (world.directory / "bad.conf").write_text(
        'openflow = { listen = [ "ssl:0.0.0.0" ]; };\n')
    done = subprocess.run([EVLBD, "--check", "-c",
                           str(world.directory / "bad.conf")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    assert "bad.conf:1: openflow.listen[0]: needs the settings of " \
           "openflow.tls" in done.stdout


def test_reload(world):
    """A new certificate is used from the next connection on; one that cannot
    be used is refused."""
    make_certificate(world.directory, "renewed")
    seen = world.seen()
    shutil.copy(world.directory / "renewed.pem",
                world.directory / "evlbd.pem")
    world.evlbd.send_signal(signal.SIGHUP)
    world.wait_log(r"evlb\.conf:6: openflow\.tls\.private_key: .*"
                   "is not the key of the certificate", seen)

    seen = world.seen()
    shutil.copy(world.directory / "renewed.key",
                world.directory / "evlbd.key")
    world.evlbd.send_signal(signal.SIGHUP)
    world.wait_log("reloaded", seen)
    done = subprocess.run(["openssl", "s_client", "-connect",
                           "127.0.0.1:6653"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=20, check=False)
    assert b"CN = renewed" in done.stdout
