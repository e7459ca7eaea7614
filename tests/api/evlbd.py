# SPDX-License-Identifier: Apache-2.0

"""A real evlbd with two instances to reserve, and a foreign client of it."""

import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import time

import grpc
import pytest
from google.protobuf import timestamp_pb2

import tables

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BIN = os.path.join(TOP, "build/bin")
ROOT = "evlb-local"
TIMEOUT = 60
SLOTS = 512

CONFIG = """
openflow = { listen = [ "unix:%(dir)s/of.sock" ]; };
admin = { socket = "%(dir)s/ctl.sock"; };
state_file = "%(dir)s/evlb.db";
bridges = ( { name = "br0"; datapath_id = "1"; } );
interfaces = ( { name = "data"; mac = "02:00:00:00:00:01"; } );
neighbour = { resolve = false; };
api = { listen = [ %(listen)s ]; %(api)s };
reservations = { allow_loopback_workers = true; allow_private_workers = true;
                 %(reservations)s };
%(top)s
instances = (
    { name = "first"; id = 0; reservable = true;
      addresses = [ "192.0.2.1", "2001:db8::1" ];
      sync = "udp:127.0.0.1:%(sync0)d"; %(instance)s },
    { name = "second"; id = 1; reservable = true;
      addresses = [ "192.0.2.2", "2001:db8::2" ];
      sync = "udp:127.0.0.1:%(sync1)d"; %(instance)s }
    %(instances)s
);
"""

DEFAULTS = {"api": 'root_token = "%s";' % ROOT, "reservations": "", "top": "",
            "instance": 'sync_from = "any";', "instances": ""}


def wait_for(condition, what="the condition"):
    """Waits until 'condition()' is true, and returns what it returned."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    return pytest.fail("waited in vain for " + what)


def free_port(kind=socket.SOCK_STREAM):
    """Returns a port of 127.0.0.1 that nobody listens on."""
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Evlbd:
    """evlbd, in a directory of its own, which can be started again."""

    def __init__(self, directory, scheme="tcp", **more):
        self.directory = str(directory)
        self.port = free_port()
        self.address = "127.0.0.1:%d" % self.port
        self.sync_ports = [free_port(socket.SOCK_DGRAM) for _ in range(2)]
        self.scheme = scheme
        self.process = None
        self.channels = []
        self.write(**more)
        self.start()

    def write(self, **more):
        """Writes the configuration."""
        assert more.keys() <= DEFAULTS.keys()
        with open(self.file("evlb.conf"), "w", encoding="utf-8") as out:
            out.write(CONFIG % {
                **DEFAULTS, "dir": self.directory, "sync0": self.sync_ports[0],
                "sync1": self.sync_ports[1],
                "listen": '"%s:%s"' % (self.scheme, self.address), **more})

    def file(self, name):
        return os.path.join(self.directory, name)

    def start(self):
        """Starts evlbd, and waits until it listens."""
        with open(self.file("log"), "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [os.path.join(BIN, "evlbd"), "-c", self.file("evlb.conf")],
                stderr=log)
        wait_for(self.listens, "evlbd")
        for channel in self.channels:
            wait_for(lambda c=channel: self.reaches(c), "a connection")

    def listens(self):
        assert self.process.poll() is None, self.log()
        with contextlib.suppress(OSError):
            with socket.create_connection(("127.0.0.1", self.port)):
                return True
        return False

    @staticmethod
    def reaches(channel):
        """Has 'channel' noticed that evlbd is there again?"""
        with pytest.raises(grpc.RpcError) as error:
            Client(channel, None).Version()
        return error.value.code() is grpc.StatusCode.UNAUTHENTICATED

    def log(self):
        with open(self.file("log"), encoding="utf-8") as log:
            return log.read()

    def stop(self, number=signal.SIGTERM):
        """Ends evlbd; it must not have ended by itself."""
        assert self.process.poll() is None, self.log()
        self.process.send_signal(number)
        code = self.process.wait(TIMEOUT)
        assert code == (0 if number == signal.SIGTERM else -number), self.log()

    def restart(self):
        """Kills evlbd and starts it again."""
        self.stop(signal.SIGKILL)
        self.start()

    def close(self):
        """Ends evlbd, and what was opened to it."""
        for channel in self.channels:
            channel.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def client(self, token=ROOT, address=None, credentials=None):
        """Returns a client with a connection of its own."""
        options = [("grpc.use_local_subchannel_pool", 1),
                   ("grpc.initial_reconnect_backoff_ms", 50),
                   ("grpc.max_reconnect_backoff_ms", 200)]
        address = address or self.address
        self.channels.append(
            grpc.secure_channel(address, credentials, options) if credentials
            else grpc.insecure_channel(address, options))
        return Client(self.channels[-1], token)

    @staticmethod
    def sync(to, data):
        """Sends a datagram."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(data, (str(to[0]), to[1]))

    def memory(self):
        """Returns the greatest size that evlbd had in memory, in kB."""
        with open("/proc/%d/status" % self.process.pid,
                  encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s*(\d+)", status.read()).group(1))

    def ctl(self, *args):
        """Returns what evlbctl says, as JSON."""
        done = subprocess.run(
            [os.path.join(BIN, "evlbctl"), "--socket", self.file("ctl.sock"),
             *args, "--json"], capture_output=True, text=True, check=False,
            timeout=TIMEOUT)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)

    def epochs(self, instance="first"):
        """Returns the epochs of an instance, each its number and first
        tick, the oldest one first."""
        return sorted((int(e["id"]), int(e["first"]))
                      for e in self.ctl("epochs")["epochs"]
                      if e["instance"] == instance)


METHODS = tables.get_methods()


class Client:
    """Calls methods: client.Register(lbId="1", ...) returns the reply."""

    def __init__(self, channel, token):
        self.channel = channel
        self.token = token

    def with_token(self, token):
        """Returns a client with another token on the same connection."""
        return Client(self.channel, token)

    def metadata(self):
        return ([] if self.token is None
                else [("authorization", "Bearer " + self.token)])

    def get_call(self, name):
        """Returns the method 'name' as grpcio has it."""
        path, request, reply = METHODS[name]
        return self.channel.unary_unary(path, request.SerializeToString,
                                        reply.FromString)

    def __getattr__(self, name):
        if name not in METHODS:
            raise AttributeError(name)

        def call(**fields):
            return self.get_call(name)(METHODS[name][1](**fields),
                                       metadata=self.metadata(),
                                       timeout=TIMEOUT, wait_for_ready=True)
        return call


def refused(status, *words):
    """Returns a context in which a call must fail with 'status', and say
    'words'."""
    @contextlib.contextmanager
    def check():
        with pytest.raises(grpc.RpcError) as error:
            yield
        code, text = error.value.code(), error.value.details()
        assert (code.name, text) == (status, text)
        assert text
        for word in words:
            assert word in text
    return check()


def make_time(seconds):
    """Returns 'seconds' since 1970 as a message."""
    whole = int(seconds // 1)
    return timestamp_pb2.Timestamp(seconds=whole,
                                   nanos=int((seconds - whole) * 1e9))


def from_now(seconds):
    return make_time(time.time() + seconds)


def read_time(message):
    return message.seconds + message.nanos / 1e9


def make_sync(event, rate=1000000, source=1, magic=0x4c43, version=2):
    """Returns a datagram that says that a sender is at 'event'."""
    return struct.pack(">HBBIQIQ", magic, version, 0, source, event, rate,
                       time.time_ns())


class Sender:
    """Sends Sync datagrams: a clock of so many events a second."""

    def __init__(self, port, start=1000000, rate=1000000, source=1):
        self.to = ("127.0.0.1", port)
        self.begin = time.monotonic()
        self.start = start
        self.rate = rate
        self.source = source
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def event(self):
        """Returns the event that is sent now."""
        return self.start + int((time.monotonic() - self.begin) * self.rate)

    def sync(self):
        self.socket.sendto(make_sync(self.event(), self.rate, self.source),
                           self.to)


def add_workers(client, reservation, n, first=1, **fields):
    """Registers 'n' workers; returns for each a client and the session."""
    workers = []
    for i in range(first, first + n):
        reply = client.Register(**{
            "lbId": reservation, "name": "w%d" % i, "weight": 1.0,
            "ipAddress": "10.0.0.%d" % i, "udpPort": 20000, "portRange": 2,
            **fields})
        workers.append((client.with_token(reply.token), reply.sessionId))
    return workers


def report(worker, reservation, **fields):
    """Has a worker report, that it is ready if nothing else is said."""
    client, session = worker
    client.SendState(**{"lbId": reservation, "sessionId": session,
                        "timestamp": from_now(0), "fillPercent": 0.5,
                        "isReady": True, **fields})
