# SPDX-License-Identifier: Apache-2.0
"""HTTP itself: metrics, doors, limits, TLS, reloads."""

import http.client
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import time

import pytest

from served import TIMEOUT, TOP, Served, free_port, trust

PLAIN = '{ listen = [ "tcp:127.0.0.1:%(port)d" ]; }'


def raw(evlbd, data, timeout=TIMEOUT):
    """Returns all that comes back for 'data'."""
    with socket.create_connection(("127.0.0.1", evlbd.port), timeout) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        received = b""
        while True:
            try:
                more = sock.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                return received
            received += more


def labels(**kwargs):
    return frozenset(kwargs.items())


# ---------------------------------------------------------------------------
# Metrics.


def test_metrics_are_read_by_prometheus(evlbd):
    """The foreign parser takes all of it, and each family once."""
    # pylint: disable-next=import-outside-toplevel
    from prometheus_client.parser import text_string_to_metric_families
    reply = evlbd.get("/metrics")
    assert reply.headers["Content-Type"] == (
        "text/plain; version=0.0.4; charset=utf-8")
    families = list(text_string_to_metric_families(reply.text))
    names = [f.name for f in families]
    assert len(names) == len(set(names))
    assert all(f.documentation for f in families)
    samples = [(s.name, frozenset(s.labels.items()))
               for f in families for s in f.samples]
    assert len(samples) == len(set(samples))


def test_metrics_of_what_there_is(evlbd):
    metrics = evlbd.metrics()
    assert metrics["evlb_switch_connected", labels(switch="br0")] == 0
    assert metrics["evlb_member_slots",
                   labels(instance="fixed", member="1")] == 384
    assert metrics["evlb_member_slots",
                   labels(instance="fixed", member="2")] == 128
    assert metrics["evlb_instance_epochs", labels(instance="fixed")] == 1
    assert metrics["udplbd_lb_is_active", labels(instance="first")] == 0


def test_metrics_of_a_reservation(evlbd):
    reply = evlbd.call("ReserveLoadBalancer", {"name": "exp"})
    lb, token = reply["lbId"], reply["token"]
    instance = ["first", "second"][reply["fpgaLbId"]]
    mine = labels(lb=lb, name="exp", instance=instance)
    for port, fill in ((10000, 0.25), (20000, 0.75)):
        worker = evlbd.call("Register", {
            "lbId": lb, "name": "w", "ipAddress": "127.0.0.5",
            "udpPort": port}, token)
        evlbd.call("SendState", {
            "lbId": lb, "sessionId": worker["sessionId"], "isReady": True,
            "fillPercent": fill}, worker["token"])
    evlbd.wait_for(lambda: evlbd.metrics().get(
        ("udplbd_lb_slots_avg", mine)) == 256)
    metrics = evlbd.metrics()
    assert metrics["udplbd_lb_is_active", labels(instance=instance)] == 1
    assert metrics["udplbd_lb_active_sessions_total", mine] == 2
    assert metrics["udplbd_lb_epoch_boundary", mine] == 0
    assert metrics["udplbd_lb_slots_min", mine] == 256
    assert metrics["udplbd_lb_slots_stddev", mine] == 0
    assert metrics["udplbd_lb_fill_percent_avg", mine] == 0.5
    assert metrics["udplbd_lb_fill_percent_stddev", mine] == 0.25
    assert metrics["udplbd_lb_fill_percent_max", mine] == 0.75
    assert metrics["udplbd_lb_fill_percent_min", mine] == 0.25
    assert metrics["udplbd_epochs_processed_total", labels()] >= 1
    assert metrics["udplbd_lb_tick_duration_seconds_count", labels()] >= 1
    assert metrics["evlb_sessions", labels()] == 2
    evlbd.call("FreeLoadBalancer", {"lbId": lb})
    evlbd.wait_for(lambda: not any(
        ("lb", lb) in key[1] for key in evlbd.metrics()))
    assert evlbd.metrics()["evlb_reservations", labels()] == 0


def test_metrics_of_calls_and_the_store(evlbd):
    """Calls are counted by method and status, however they came, and so is
    what they made the store write."""
    before = evlbd.metrics()

    def counted(method, status):
        key = ("evlb_api_calls_total", labels(method=method, status=status))
        return evlbd.metrics().get(key, 0) - before.get(key, 0)

    evlbd.call("Version")
    evlbd.call("GetLoadBalancer", {"lbId": "99999"}, status=404)
    lb = evlbd.call("ReserveLoadBalancer", {"name": "counted"})["lbId"]
    evlbd.call("FreeLoadBalancer", {"lbId": lb})
    assert counted("Version", "OK") == 1
    assert counted("GetLoadBalancer", "NOT_FOUND") == 1
    assert counted("ReserveLoadBalancer", "OK") == 1
    key = ("evlb_store_transactions_total", labels())
    assert evlbd.metrics()[key] >= before[key] + 2


def test_metrics_of_senders(start):
    """Each sender of Sync: what it told, and whether it is believed."""
    evlbd = start()

    def sync(sender, tick):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(struct.pack(">2sBBIQIQ", b"LC", 2, 0, sender, tick,
                                    1000, time.time_ns()),
                        ("127.0.0.1", evlbd.sync[0]))

    def get(name, sender):
        return evlbd.metrics().get(("evlb_sync_sender_" + name, labels(
            instance="first", sender=str(sender))))

    for sender, tick in ((1, 1000), (2, 1000), (3, 10 ** 9), (1, 500)):
        sync(sender, tick)
    evlbd.wait_for(lambda: get("backwards_total", 1) == 1)
    assert [get("samples_total", i) for i in (1, 2, 3, 4)] == [1, 1, 1, None]
    assert [get("quarantined", i) for i in (1, 2, 3)] == [0, 0, 1]
    assert get("age_seconds", 1) >= 0


def test_metrics_of_a_switch(start):
    """What went over connections of a switch stays when they end."""
    sys.path.insert(0, os.path.join(TOP, "tests/integration"))
    # pylint: disable-next=import-error,import-outside-toplevel
    from test_service import connect_switch
    evlbd = start()
    before = evlbd.metrics()
    switch = connect_switch(evlbd.directory, 0x42)
    br0 = labels(switch="br0")
    evlbd.wait_for(lambda: evlbd.metrics()["evlb_switch_connected", br0] == 1)
    metrics = evlbd.metrics()
    assert before["evlb_switch_connections_total", br0] == 0
    assert metrics["evlb_switch_connections_total", br0] == 1
    assert metrics["evlb_switch_messages_received_total", br0] == 2
    assert metrics["evlb_switch_messages_sent_total", br0] >= 3
    assert metrics["evlb_switch_ready", br0] == 0
    assert ("evlb_switch_silent_seconds", br0) in metrics
    switch.close()
    evlbd.wait_for(lambda: evlbd.metrics()["evlb_switch_connected", br0] == 0)
    metrics = evlbd.metrics()
    assert metrics["evlb_switch_messages_received_total", br0] == 2
    assert ("evlb_switch_silent_seconds", br0) not in metrics
    connect_switch(evlbd.directory, 0x42).close()
    evlbd.wait_for(lambda: evlbd.metrics()[
        "evlb_switch_messages_received_total", br0] == 4)


def test_metrics_need_no_post(evlbd):
    reply = evlbd.get("/metrics", method="POST", body="x")
    assert reply.status == 405
    assert reply.headers["Allow"] == "GET, HEAD"


def test_metrics_with_token(start):
    """With the setting "token", any valid token will do, and nothing else."""
    evlbd = start(PLAIN.replace("}", 'metrics = "token"; }'))
    assert evlbd.get("/metrics").status == 401
    assert evlbd.get("/metrics", {
        "Authorization": "Bearer " + "0" * 32}).status == 403
    reply = evlbd.get("/metrics", {"Authorization": "Bearer " + evlbd.token})
    assert reply.status == 200
    assert "evlb_build_info" in reply.text


# ---------------------------------------------------------------------------
# HTTP.


def test_head(evlbd):
    reply = evlbd.get("/metrics", method="HEAD")
    assert reply.status == 200
    assert reply.body == b""


def test_headers(evlbd):
    for path in ("/metrics", "/api/v1", "/nope"):
        headers = evlbd.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"


def test_many_requests_of_one_connection(evlbd):
    connection = evlbd.connect()
    for _ in range(200):
        connection.request("GET", "/api/v1")
        response = connection.getresponse()
        assert response.status == 200
        response.read()
    connection.close()


def test_uri_names_the_door_of_grpc(start):
    """What is reserved by HTTP tells how gRPC is reached: at the same host, at
    its own port; or nothing, if it is not."""
    evlbd = start()
    assert evlbd.call("ReserveLoadBalancer", {})["ejfatUri"] == ""
    port = free_port()
    log = evlbd.reload(PLAIN + ';\napi = { listen = [ "tcp:127.0.0.1:%d" ]; }'
                       % port)
    assert "reloaded" in log
    uri = evlbd.call("ReserveLoadBalancer", {})["ejfatUri"]
    assert "@127.0.0.1:%d/" % port in uri


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE",
                                    "CONNECT", "PATCH", "NOPE"])
def test_methods_that_are_none(evlbd, method):
    """Among them what browsers ask before pages of other origins may call."""
    answer = raw(evlbd, b"%s /api/v1/Version HTTP/1.1\r\nHost: a\r\n"
                 b"Connection: close\r\n\r\n" % method.encode())
    assert answer == b"" or re.match(b"HTTP/1.1 (400|405|501) ", answer)
    assert b"Access-Control" not in answer


@pytest.mark.parametrize("data", [
    b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 5000,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /nope HTTP/1.1\r\n: x\r\n\r\n",
    b"POST /api/v1/Version HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    b"POST /api/v1/Version HTTP/1.1\r\n"
    b"Content-Length: 99999999999999999999\r\n\r\n",
    b"POST /api/v1/Version HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"zz\r\n",
    b"GET http:// HTTP/1.1\r\n\r\n", b"GET /%zz HTTP/1.1\r\n\r\n"],
    ids=[
        "empty", "word", "version", "zeros", "tls", "http2", "header",
        "negative", "huge", "chunk", "address", "percent"])
def test_garbage(evlbd, data):
    """What is no HTTP is answered with an error, or not at all."""
    with socket.create_connection(("127.0.0.1", evlbd.port),
                                  TIMEOUT) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while more := sock.recv(65536):
                answer += more
        except ConnectionResetError:
            pass
    assert not re.match(rb"HTTP/1\.[01] [235]0[0-4]", answer) or (
        b"501" in answer[:20])
    assert evlbd.get("/api/v1").status == 200


def test_body_too_large(start):
    evlbd = start(PLAIN.replace("}", "max_body = 2000; }"))
    evlbd.call("Version", " " * 1990 + "{}", status=200)
    connection = evlbd.connect()
    try:
        connection.request("POST", "/api/v1/Version", " " * 2001 + "{}", {
            "Content-Type": "application/json",
            "Authorization": "Bearer " + evlbd.token})
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass
    connection.close()


def test_headers_too_large(start):
    evlbd = start(PLAIN.replace("}", "max_headers = 2000; }"))
    assert evlbd.get("/api/v1", {"X": "x" * 1000}).status == 200
    answer = raw(evlbd, b"GET /api/v1 HTTP/1.1\r\nX: " + b"x" * 3000
                 + b"\r\n\r\n")
    assert not answer.startswith(b"HTTP/1.1 200")


# ---------------------------------------------------------------------------
# Limits of connections.


def is_open(sock):
    """Is the request that is sent on 'sock' answered?"""
    try:
        sock.sendall(b"GET /nope HTTP/1.1\r\nHost: a\r\n\r\n")
        return sock.recv(5000).startswith(b"HTTP/1.1 404")
    except OSError:
        return False


@pytest.mark.parametrize("limit", ["max_connections", "max_peer_connections"])
def test_too_many_connections(start, limit):
    evlbd = start(PLAIN.replace("}", limit + " = 5; }"))
    socks = [socket.create_connection(("127.0.0.1", evlbd.port), TIMEOUT)
             for _ in range(5)]
    assert all(is_open(sock) for sock in socks)
    more = [socket.create_connection(("127.0.0.1", evlbd.port), TIMEOUT)
            for _ in range(20)]
    assert not any(is_open(sock) for sock in more)
    assert all(is_open(sock) for sock in socks)
    assert "there are 5 " in evlbd.read_log()
    socks.pop().close()

    def one_more():
        with socket.create_connection(("127.0.0.1", evlbd.port),
                                      TIMEOUT) as sock:
            return is_open(sock)

    evlbd.wait_for(one_more)
    for sock in socks[1:] + more:
        sock.close()
    metrics = evlbd.metrics()
    assert metrics["evlb_http_connections_total",
                   labels(result="refused")] >= 20


def test_short_connections_are_not_in_the_way(start):
    """Connections that are over do not count, however fast they come."""
    evlbd = start(PLAIN.replace("}", "max_connections = 2; }"))
    for _ in range(300):
        assert evlbd.get("/api/v1").status == 200


def test_slow_peers_are_dropped(start):
    """Who takes too long for a request, or sends nothing, is in nobody's way
    for long, even if a byte comes now and then."""
    evlbd = start(PLAIN.replace("}", "timeout = 1; }"))
    silent = socket.create_connection(("127.0.0.1", evlbd.port), TIMEOUT)
    slow = socket.create_connection(("127.0.0.1", evlbd.port), TIMEOUT)
    slow.sendall(b"GET /api/v1 HTTP/1.1\r\n")
    slow.settimeout(0.1)
    closed = False
    end = time.monotonic() + TIMEOUT
    while not closed and time.monotonic() < end:
        try:
            slow.sendall(b"X")
            closed = slow.recv(1000) == b""
        except TimeoutError:
            pass
        except OSError:
            closed = True
    assert closed
    assert silent.recv(1000) == b""
    silent.close()
    slow.close()
    assert evlbd.metrics()["evlb_http_connections_total",
                           labels(result="timed_out")] >= 2


def test_peers_that_leave(evlbd):
    """A peer that goes while its call is carried out is no harm."""
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", evlbd.port),
                                      TIMEOUT) as sock:
            body = b'{"name": "-"}'
            sock.sendall(b"POST /api/v1/ReserveLoadBalancer HTTP/1.1\r\n"
                         b"Content-Type: application/json\r\n"
                         b"Authorization: Bearer %s\r\n"
                         b"Content-Length: %d\r\n\r\n%s"
                         % (evlbd.token.encode(), len(body), body))
    assert evlbd.get("/api/v1").status == 200


def test_end_with_a_call_under_way(start):
    """evlbd ends well although a call was not answered yet."""
    evlbd = start()
    body = b"{}"
    socks = []
    for _ in range(20):
        sock = socket.create_connection(("127.0.0.1", evlbd.port), TIMEOUT)
        sock.sendall(b"POST /api/v1/ReserveLoadBalancer HTTP/1.1\r\n"
                     b"Content-Type: application/json\r\n"
                     b"Authorization: Bearer %s\r\n"
                     b"Content-Length: %d\r\n\r\n%s"
                     % (evlbd.token.encode(), len(body), body))
        socks.append(sock)
    evlbd.end()
    for sock in socks:
        sock.close()


# ---------------------------------------------------------------------------
# Doors.


def make_certificate(directory, name):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=" + name,
         "-days", "30", "-keyout", "%s/%s.key" % (directory, name), "-out",
         "%s/%s.pem" % (directory, name)], check=True, capture_output=True)
    return "%s/%s.pem" % (directory, name)


TLS = """{ listen = [ "ssl:127.0.0.1:%%(port)d" ];
           tls = { certificate = "%(dir)s/%(name)s.pem";
                   private_key = "%(dir)s/%(name)s.key"; }; }"""


def test_tls(start, tmp_path):
    """Over TLS, with a certificate that another one replaces at SIGHUP."""
    one, two = (make_certificate(tmp_path, name) for name in ("one", "two"))
    evlbd = start(TLS % {"dir": tmp_path, "name": "one"})
    assert evlbd.get("/metrics", context=trust(one)).status == 200
    reply = evlbd.get("/api/v1/Version", {
        "Authorization": "Bearer " + evlbd.token,
        "Origin": "https://127.0.0.1:%d" % evlbd.port}, context=trust(one))
    assert reply.status == 200
    with pytest.raises(ssl.SSLCertVerificationError):
        evlbd.get("/metrics", context=trust(two))
    with pytest.raises((http.client.HTTPException, OSError)):
        evlbd.get("/metrics")
    kept = evlbd.connect(trust(one))
    kept.request("GET", "/api/v1")
    kept.getresponse().read()
    assert "reloaded" in evlbd.reload(
        TLS % {"dir": tmp_path, "name": "two"})
    assert evlbd.get("/metrics", context=trust(two)).status == 200
    with pytest.raises(ssl.SSLCertVerificationError):
        evlbd.get("/metrics", context=trust(one))
    kept.request("GET", "/api/v1")
    assert kept.getresponse().status == 200
    kept.close()


def test_certificate_is_renewed(start, tmp_path):
    """Files that are replaced are taken without anybody's doing."""
    one = make_certificate(tmp_path, "one")
    evlbd = start(TLS % {"dir": tmp_path, "name": "one"})
    old = trust(one)
    assert evlbd.get("/api/v1", context=old).status == 200
    make_certificate(tmp_path, "one")

    def is_new():
        try:
            return evlbd.get("/api/v1", context=trust(one)).status == 200
        except ssl.SSLCertVerificationError:
            return False

    evlbd.wait_for(is_new)
    with pytest.raises(ssl.SSLCertVerificationError):
        evlbd.get("/api/v1", context=old)


def test_old_tls_is_refused(start, tmp_path):
    one = make_certificate(tmp_path, "one")
    evlbd = start(TLS % {"dir": tmp_path, "name": "one"})
    context = trust(one)
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, OSError)):
        evlbd.get("/metrics", context=context)


def test_reload_opens_and_closes(start):
    """A door that stays keeps its connections; others come and go."""
    evlbd = start()
    other = free_port()
    both = ('{ listen = [ "tcp:127.0.0.1:%%(port)d", "tcp:127.0.0.1:%d" ]; }'
            % other)
    kept = evlbd.connect()
    kept.request("GET", "/api/v1")
    kept.getresponse().read()
    assert "reloaded" in evlbd.reload(both)
    second = evlbd.connect(port=other)
    second.request("GET", "/api/v1")
    assert second.getresponse().read()
    assert "reloaded" in evlbd.reload(PLAIN)
    with pytest.raises(ConnectionRefusedError):
        evlbd.connect(port=other).connect()
    with pytest.raises((http.client.HTTPException, OSError)):
        second.request("GET", "/api/v1")
        second.getresponse()
    kept.request("GET", "/api/v1")
    assert kept.getresponse().status == 200
    kept.close()
    second.close()


def test_reload_is_all_or_nothing(start):
    """An address that is taken refuses the whole reload, with its name."""
    evlbd = start()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        other = free_port()
        log = evlbd.reload(
            '{ listen = [ "tcp:127.0.0.1:%d", "tcp:127.0.0.1:%d" ]; '
            'metrics = "token"; }' % (other, port))
        assert ("reload refused, nothing is changed: tcp:127.0.0.1:%d: "
                "cannot listen: Address already in use" % port) in log
    assert evlbd.get("/metrics").status == 200
    with pytest.raises(ConnectionRefusedError):
        evlbd.connect(port=other).connect()


def test_limits_change_at_reload(start):
    evlbd = start()
    evlbd.call("Version", " " * 5000 + "{}")
    evlbd.reload(PLAIN.replace("}", 'max_body = 1024; metrics = "token"; }'))
    assert evlbd.get("/metrics").status == 401
    connection = evlbd.connect()
    try:
        connection.request("POST", "/api/v1/Version", " " * 5000 + "{}", {
            "Content-Type": "application/json",
            "Authorization": "Bearer " + evlbd.token})
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass
    connection.close()


def test_address_that_is_taken_at_the_start(tmp_path):
    """evlbd does not start without a door that it is asked for."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(pytest.fail.Exception, match="cannot listen"):
            Served(tmp_path, '{ listen = [ "tcp:127.0.0.1:%d" ]; }'
                   % taken.getsockname()[1])
