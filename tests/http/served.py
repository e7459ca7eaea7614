# SPDX-License-Identifier: Apache-2.0
"""An evlbd that serves HTTP, and clients of it that are not ours: http.client,
grpcio and protobuf's own JSON."""

import http.client
import importlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time

import grpc
import pytest
from grpc_tools import protoc

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
EVLBD = os.environ.get("EVLBD", os.path.join(TOP, "build/bin/evlbd"))
TIMEOUT = 20

CONFIG = """
state_dir = "%(dir)s/state";
openflow = { listen = [ "unix:%(dir)s/of.sock" ]; };
http = %(http)s;
bridges = ( { name = "br0"; datapath_id = "42"; } );
interfaces = ( { name = "data"; mac = "02:00:00:00:00:01"; } );
neighbour = { resolve = false; };
reservations = { allow_loopback_workers = true; period = %(period)d;
                 remove_after = 600000; unready_after = 500000; };
instances = (
    { name = "first"; id = 0; reservable = true;
      addresses = [ "192.0.2.1", "2001:db8::1" ];
      sync = "udp:127.0.0.1:%(sync0)d"; sync_from = "any"; },
    { name = "second"; id = 1; reservable = true;
      addresses = [ "192.0.2.2", "2001:db8::2" ];
      sync = "udp:127.0.0.1:%(sync1)d"; sync_from = "any"; },
    { name = "fixed"; id = 2; addresses = [ "192.0.2.3" ];
      sources = [ "192.0.2.16/28" ];
      members = (
          { id = 1; ip = "192.0.2.101"; mac = "02:00:00:00:01:01";
            base = 20000; egress = "in_port"; },
          { id = 2; ip = "192.0.2.102"; mac = "02:00:00:00:01:02";
            base = 20000; egress = "in_port"; } );
      epochs = ( { id = 1; from = 0;
                   members = ( { id = 1; weight = 3; }, { id = 2; } ); } ); }
);
"""


def free_port(kind=socket.SOCK_STREAM):
    """Returns a port of 127.0.0.1 that nobody has."""
    with socket.socket(socket.AF_INET, kind) as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def compile_protos(directory):
    """Returns the module of the control API's messages, made by protoc."""
    name = "loadbalancer_pb2"
    if name not in sys.modules:
        include = os.path.join(os.path.dirname(protoc.__file__), "_proto")
        source = os.path.join(TOP, "controller/api")
        assert protoc.main(["", "-I" + source, "-I" + include,
                            "--python_out=%s" % directory,
                            os.path.join(source, "loadbalancer.proto")]) == 0
        sys.path.insert(0, str(directory))
        importlib.import_module(name)
    return sys.modules[name]


class Reply:
    """What came back."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode()


class Served:
    """An evlbd in service."""

    def __init__(self, directory, http_settings=None, period=100):
        self.directory = str(directory)
        self.port = free_port()
        self.sync = [free_port(socket.SOCK_DGRAM) for _ in range(2)]
        self.period = period
        self.config = os.path.join(self.directory, "evlb.conf")
        self.socket = os.path.join(self.directory, "state", "evlbd.sock")
        self.log = os.path.join(self.directory, "evlbd.log")
        self.token = None
        self.configure(http_settings)
        os.makedirs(os.path.dirname(self.socket), exist_ok=True)
        with open(self.log, "a", encoding="utf-8") as log:
            self.popen = subprocess.Popen([EVLBD, "-c", self.config],
                                          stderr=log, stdin=subprocess.DEVNULL)
        self.wait_for(lambda: "evlb_http_server" in self.read_log())

    def configure(self, http_settings=None):
        """Writes the configuration."""
        http_settings = (http_settings
                         or '{ listen = [ "tcp:127.0.0.1:%(port)d" ]; }')
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(CONFIG % {
                "dir": self.directory, "period": self.period,
                "sync0": self.sync[0], "sync1": self.sync[1],
                "http": http_settings % {"port": self.port,
                                         "dir": self.directory}})

    def reload(self, http_settings):
        """Returns what evlbd says when it has read the configuration."""
        old = len(self.read_log())
        self.configure(http_settings)
        self.popen.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "reload" in self.read_log()[old:])
        return self.read_log()[old:]

    def read_log(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def wait_for(self, condition):
        """Waits until 'condition' holds."""
        end = time.monotonic() + TIMEOUT
        while not condition():
            if self.popen.poll() is not None or time.monotonic() > end:
                pytest.fail(self.read_log())
            time.sleep(0.01)

    def end(self):
        """Ends evlbd, which must be in good health."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
        assert self.popen.wait(TIMEOUT) == 0, self.read_log()

    # HTTP.

    def connect(self, context=None, port=None):
        if context:
            return http.client.HTTPSConnection(
                "127.0.0.1", port or self.port, timeout=TIMEOUT,
                context=context)
        return http.client.HTTPConnection("127.0.0.1", port or self.port,
                                          timeout=TIMEOUT)

    def get(self, path, headers=(), context=None, method="GET", body=None):
        """Returns the reply to one request."""
        connection = self.connect(context)
        try:
            connection.request(method, path, body, dict(headers))
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def call(self, rpc, request=None, token="", status=200, **headers):
        """Returns the reply to a call of the control API."""
        everything = {"Content-Type": "application/json"}
        token = self.token if token == "" else token
        if token:
            everything["Authorization"] = "Bearer " + token
        everything.update({k.replace("_", "-"): v
                           for k, v in headers.items()})
        body = (request if isinstance(request, (bytes, str))
                else json.dumps(request or {}))
        reply = self.get("/api/v1/" + rpc, everything, method="POST",
                         body=body)
        assert reply.status == status, reply.text
        return reply.json

    def metrics(self):
        """Returns samples by name and labels."""
        # pylint: disable-next=import-outside-toplevel
        from prometheus_client.parser import text_string_to_metric_families
        reply = self.get("/metrics")
        assert reply.status == 200
        return {(s.name, frozenset(s.labels.items())): s.value
                for family in text_string_to_metric_families(reply.text)
                for s in family.samples}

    # The operator's door.

    def make_token(self, pb, resource="ALL", resource_id="",
                   permission="UPDATE"):
        """Returns a token that is made by gRPC at the operator's socket."""
        with grpc.insecure_channel("unix:" + self.socket) as channel:
            create = channel.unary_unary(
                "/loadbalancer.LoadBalancer/CreateToken",
                pb.CreateTokenRequest.SerializeToString,
                pb.CreateTokenReply.FromString)
            permission = pb.TokenPermission(
                resourceType=resource, resourceId=resource_id,
                permission=permission)
            return create(pb.CreateTokenRequest(
                name="test", permissions=[permission]), timeout=TIMEOUT).token


def trust(certificate):
    """Returns what trusts 'certificate'."""
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    return context
