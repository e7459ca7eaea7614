# SPDX-License-Identifier: Apache-2.0

"""evlbctl's commands of the control API, with a real evlbd: through its socket
and by an EJFAT_URI, what they print, and what they say when they fail."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/api"))
from evlbd import Evlbd, ROOT, free_port, wait_for  # noqa: E402
from test_chains import Balancer  # noqa: E402

EVLBCTL = os.path.join(TOP, "build/bin/evlbctl")
TIMEOUT = 30
END = "2090-01-31T18:00:00Z"


class Ctl:
    """Runs evlbctl for one evlbd."""

    def __init__(self, evlbd):
        self.evlbd = evlbd
        self.root = "ejfat://%s@%s/lb/" % (ROOT, evlbd.address)

    def run(self, *args, uri=None, socket=True):
        """Returns the exit status and what was printed.  'uri' is the
        environment's."""
        environment = {k: v for k, v in os.environ.items()
                       if k != "EJFAT_URI"}
        if uri:
            environment["EJFAT_URI"] = uri
        door = ["-s", self.evlbd.file("ctl.sock")] if socket else []
        done = subprocess.run([EVLBCTL, *door, *args], capture_output=True,
                              text=True, check=False, timeout=TIMEOUT,
                              env=environment)
        return done.returncode, done.stdout, done.stderr

    def ok(self, *args, **how):
        code, out, err = self.run(*args, **how)
        assert (code, err) == (0, "")
        return out

    def json(self, *args, **how):
        return json.loads(self.ok(*args, "--json", **how))

    def refused(self, code, *args, **how):
        actual, out, err = self.run(*args, **how)
        assert (actual, out) == (code, ""), err
        assert err.startswith("evlbctl: ")
        return err

    def reserve(self, name="run7", *args):
        """Returns the URI of a new reservation, and its id."""
        uri = self.ok("reserve", name, *args).strip()
        return uri, re.search(r"/lb/(\d+)", uri).group(1)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    evlbd = Evlbd(tmp_path_factory.mktemp("evlbd"))
    yield evlbd
    code = evlbd.process.poll()
    evlbd.close()
    assert code is None, evlbd.log()


@pytest.fixture
def ctl(daemon):
    """evlbctl; what was reserved is freed again."""
    runner = Ctl(daemon)
    yield runner
    for lb in runner.json("overview")["loadBalancers"]:
        runner.ok("free", lb["reservation"]["lbId"])


# ---------------------------------------------------------------------------
# Reservations.


def test_reserve(ctl):
    """The URI is all that a client needs."""
    uri, lb = ctl.reserve("run7", "--until", END, "--sender", "10.1.2.3",
                          "--sender", "2001:db8::7", "--strategy", "static")
    assert re.fullmatch(
        r"ejfat://[0-9a-f]{32}@%s/lb/%s\?sync=127\.0\.0\.1:%d"
        r"&data=\[2001:db8::1\]:16384-32767&data=192\.0\.2\.1:16384-32767" % (
            re.escape(ctl.evlbd.address), lb, ctl.evlbd.sync_ports[0]), uri)
    public = re.sub(r"//[0-9a-f]+@", "//", uri)
    lines = ctl.ok("uri", uri=uri, socket=False).splitlines()
    assert lines[0] == public
    assert lines[1] == "reservation  %s, on instance 0, static" % lb
    assert "data         192.0.2.1, port 16384-32767" in lines
    assert ctl.ok("senders", "list", lb) == "10.1.2.3\n2001:db8::7\n"
    status = ctl.json("workers", lb)
    assert status["expiresAt"] == END
    assert status["senderAddresses"] == ["10.1.2.3", "2001:db8::7"]


def test_reserve_in_json(ctl):
    reply = ctl.json("reserve", "run8", "--family", "4")
    assert set(reply) == {
        "token", "lbId", "syncIpv4Address", "syncIpv6Address", "syncUdpPort",
        "dataIpv4Address", "dataIpv6Address", "dataMinPort", "dataMaxPort",
        "fpgaLbId", "strategy", "ejfatUri"}
    assert (reply["fpgaLbId"], reply["dataMinPort"]) == (0, 16384)
    assert reply["token"] in reply["ejfatUri"]
    again = ctl.json("uri", reply["lbId"])
    assert again["token"] == "" and reply["token"] not in again["ejfatUri"]


def test_overview(ctl):
    first = ctl.reserve("alpha")[1]
    second = ctl.reserve("beta")[1]
    rows = [line.split() for line in ctl.ok("overview").splitlines()]
    assert [row[:4] for row in rows[:3]] == [
        ["RESERVATION", "NAME", "INSTANCE", "STRATEGY"],
        [first, "alpha", "0", "dynamic"], [second, "beta", "1", "dynamic"]]
    assert [lb["name"] for lb in ctl.json("overview")["loadBalancers"]] == [
        "alpha", "beta"]
    error = ctl.refused(1, "reserve", "gamma")
    assert "all" in error or "taken" in error or "free" in error


def test_extend(ctl):
    lb = ctl.reserve("run7", "--for", "1h")[1]
    first = ctl.json("workers", lb)["expiresAt"]
    longer = ctl.json("extend", lb, "--for", "2h")["until"]
    assert longer > first
    assert ctl.ok("extend", "--lb", lb, "--until", END) == "until %s\n" % END
    assert ctl.json("workers", lb)["expiresAt"] == END
    assert "is over" in ctl.refused(1, "extend", lb, "--until",
                                    "2001-01-01T00:00:00Z")
    assert ctl.json("workers", lb)["expiresAt"] == END


def test_free(ctl):
    uri, lb = ctl.reserve()
    assert ctl.ok("free", uri=uri, socket=False) == ""
    assert ctl.json("overview") == {"loadBalancers": []}
    assert "reservation" in ctl.refused(1, "free", lb)
    # The token went with it.
    error = ctl.refused(1, "workers", uri=uri, socket=False)
    assert "the token was that of EJFAT_URI" in error
    assert uri.split("@", maxsplit=1)[0].split("//")[1] not in error


def test_senders(ctl):
    uri, lb = ctl.reserve()
    ctl.ok("senders", "add", "10.0.0.9", "10.0.0.3", uri=uri, socket=False)
    ctl.ok("senders", "add", "fd00::1", "--lb", lb)
    ctl.ok("senders", "remove", "10.0.0.3", "10.9.9.9", "--lb", lb)
    assert ctl.ok("senders", "list", uri=uri) == "10.0.0.9\nfd00::1\n"
    assert "10.0.0" in ctl.refused(1, "senders", "add", "10.0.0.5",
                                   "10.0.0.x", "--lb", lb)
    assert ctl.ok("senders", "list", lb) == "10.0.0.9\nfd00::1\n"


def test_reset(ctl):
    lb = ctl.reserve("run7", "--sender", "10.0.0.9")[1]
    assert ctl.ok("reset", "sync", "senders", "--lb", lb) == (
        "reset: sync senders\n")
    assert ctl.ok("senders", "list", lb) == ""
    reply = ctl.json("reset", "epochs", "workers", "--lb", lb)
    assert reply == {"sync": False, "epochs": True, "senders": False,
                     "workers": True}


# ---------------------------------------------------------------------------
# Workers.


def register(ctl, lb, name="w1", *args):
    """Returns the session of a new worker and its token."""
    out = ctl.ok("register", name, "ip=127.0.0.1", "port=4000", "--lb", lb,
                 *args)
    return re.fullmatch(r"session (\d+)\ntoken ([0-9a-f]{32})\n",
                        out).groups()


def test_register(ctl):
    lb = ctl.reserve()[1]
    session, _ = register(ctl, lb, "w1", "ports=16", "weight=2.5", "min=0.5",
                          "max=2", "keep", "slots=0-3,9,any:2")
    worker, = ctl.json("workers", lb)["workers"]
    assert (worker["name"], worker["ipAddress"], worker["udpPort"],
            worker["portRange"], worker["minFactor"], worker["maxFactor"],
            worker["keepLbHeader"], worker["sessionId"]) == (
                "w1", "127.0.0.1", 4000, "PORT_RANGE_16", 0.5, 2, True,
                int(session))
    assert sum(r["length"] for r in worker["slotDemands"]) == 7


def test_send_state(ctl):
    uri, lb = ctl.reserve()
    session, token = register(ctl, lb)
    ctl.ok("send-state", session, "fill=0.75", "control=-1.0002", "events=9",
           "reassembled=8", "errors=1", "dequeued=7", "lost=2",
           "bytes=12345678901", "packets=42", "--token", token, uri=uri,
           socket=False)
    worker, = ctl.json("workers", lb)["workers"]
    assert [worker[key] for key in (
        "fillPercent", "controlSignal", "totalEventsRecv",
        "totalEventsReassembled", "totalEventsReassemblyErr",
        "totalEventsDequeued", "totalEventEnqueueErr", "totalBytesRecv",
        "totalPacketsRecv")] == [0.75, -1.0002, 9, 8, 1, 7, 2, 12345678901, 42]
    row = ctl.ok("workers", lb).splitlines()[3].split()
    assert row[:7] == [session, "w1", "127.0.0.1:4000", "1", "75.0", "%",
                       "-1.000"]
    # A reservation's token reports for its workers, too; the reader's not.
    assert "token" in ctl.refused(
        1, "send-state", session, "fill=0", "--token", "0" * 32, uri=uri,
        socket=False)


def test_deregister(ctl):
    lb = ctl.reserve()[1]
    session, token = register(ctl, lb)
    ctl.ok("deregister", session, "--lb", lb)
    assert ctl.json("workers", lb)["workers"] == []
    assert ctl.refused(1, "deregister", session, "--lb", lb)
    assert ctl.refused(1, "send-state", session, "fill=0", "--lb", lb,
                       "--token", token)


def test_demands(ctl):
    lb = ctl.reserve()[1]
    first = register(ctl, lb)[0]
    second = register(ctl, lb, "w2", "port=5000")[0]
    ctl.ok("demands", first + "=0-7", second + "=8", "--lb", lb)
    demands = {w["sessionId"]: w["slotDemands"]
               for w in ctl.json("workers", lb)["workers"]}
    assert demands[int(first)] == [{"index": 0, "length": 8}]
    assert demands[int(second)] == [{"index": 8, "length": 1}]
    assert ctl.json("uri", lb)["strategy"] == "static"
    assert "7" in ctl.refused(1, "demands", second + "=7", "--lb", lb)
    ctl.ok("demands", first + "=", "--lb", lb)
    demands = {w["sessionId"]: w["slotDemands"]
               for w in ctl.json("workers", lb)["workers"]}
    assert demands[int(first)] == []
    assert demands[int(second)] == [{"index": 8, "length": 1}]


def test_watch(ctl):
    """Two looks; the second has rates."""
    lb = ctl.reserve()[1]
    register(ctl, lb)
    looks = ctl.ok("watch", lb, "--count", "2", "--interval",
                   "0.01").split("SESSION")
    assert len(looks) == 3
    assert "\033" not in "".join(looks)
    assert " GB " in looks[1] and "Gb/s" in looks[2]
    out = ctl.ok("watch", lb, "--count", "3", "--interval", "0.01", "--json")
    decoder = json.JSONDecoder()
    for _ in range(3):
        look, end = decoder.raw_decode(out)
        assert look["workers"][0]["name"] == "w1"
        out = out[end:].lstrip()
    assert out == ""


def test_watch_on_a_terminal(ctl):
    """There the table takes the place of the one before, and has bars."""
    lb = ctl.reserve()[1]
    session, _ = register(ctl, lb)
    ctl.ok("send-state", session, "fill=0.5", "--lb", lb)
    master, slave = pty.openpty()
    with subprocess.Popen(
            [EVLBCTL, "-s", ctl.evlbd.file("ctl.sock"), "watch", lb,
             "--count", "2", "--interval", "0.01"], stdout=slave) as process:
        os.close(slave)
        out = b""
        try:
            while True:
                piece = os.read(master, 4096)
                if not piece:
                    break
                out += piece
        except OSError:         # The terminal's other side is closed.
            pass
        assert process.wait(TIMEOUT) == 0
    os.close(master)
    assert out.count(b"\033[H\033[J") == 2
    assert b"#####.....  50 %" in out


def test_timeseries(ctl):
    lb = ctl.reserve()[1]
    session, _ = register(ctl, lb)
    selector = "/lb/%s/session/%s/fillPercent" % (lb, session)
    ctl.ok("send-state", session, "fill=0.25", "--lb", lb)
    rows = wait_for(lambda: ctl.ok("timeseries", selector).splitlines()[1:],
                    "a sample")
    assert re.fullmatch(selector + r"\t\d{4}-\d\d-\d\dT[0-9:.]+Z\t0\.25\t.*",
                        rows[-1])
    series, = ctl.json("timeseries", selector, "--since", "1h")["timeseries"]
    assert series["name"] == selector
    assert series["float_samples"]["data"][-1]["value"] == 0.25
    assert ctl.ok("timeseries", selector, "--since", END) == (
        "series\ttime\tvalue\tunit\n")


# ---------------------------------------------------------------------------
# Tokens.


def test_tokens(ctl):
    _, lb = ctl.reserve()
    token, uri = ctl.ok("token", "create", "reader",
                        "read_only@reservation:" + lb).splitlines()
    assert token in uri
    assert ctl.json("workers", uri=uri, socket=False)["workers"] == []
    assert "token" in ctl.refused(1, "free", uri=uri, socket=False)
    shown = ctl.ok("token", "show", uri=uri, socket=False).splitlines()[1]
    number, name, _, permissions = shown.split()
    assert (name, permissions) == ("reader", "READ_ONLY@RESERVATION:" + lb)
    assert ctl.ok("token", "show", token).splitlines()[1] == shown
    assert ctl.ok("token", "show", number).splitlines()[1] == shown
    assert shown in ctl.ok("token", "list").splitlines()
    assert shown in ctl.ok("token", "list", uri=ctl.root,
                           socket=False).splitlines()
    ctl.ok("token", "revoke", number)
    assert shown not in ctl.ok("token", "list").splitlines()
    assert ctl.refused(1, "workers", uri=uri, socket=False)


def test_tokens_in_json(ctl):
    made = ctl.json("token", "create", "maker", "RESERVE@LOAD_BALANCER:1",
                    "REGISTER")
    assert re.fullmatch("[0-9a-f]{32}", made["token"])
    token = ctl.json("token", "show", made["token"])["token"]
    assert token["name"] == "maker"
    assert token["permissions"] == [
        {"resourceType": "LOAD_BALANCER", "resourceId": "1",
         "permission": "RESERVE"},
        {"resourceType": "ALL", "resourceId": "", "permission": "REGISTER"}]
    assert ctl.json("token", "list", made["token"]) == {"tokens": []}
    assert ctl.json("token", "revoke", made["token"]) == {}


# ---------------------------------------------------------------------------
# Chains.


def test_chain(ctl, tmp_path):
    """A reservation becomes a worker of another evlbd's, and stops to be."""
    lower = Balancer(tmp_path, 9, [ctl.evlbd.address])
    try:
        other = Ctl(lower)
        lb = other.reserve("lower")[1]
        uri, top = ctl.reserve("upper")
        chain = other.ok("chain", uri, "weight=2", "min=0.5", "slots=any:8",
                         "--lb", lb).strip()
        worker, = wait_for(lambda: ctl.json("workers", top)["workers"],
                           "a worker")
        assert (worker["ipAddress"], worker["udpPort"], worker["minFactor"],
                worker["keepLbHeader"]) == ("192.0.9.1", 19522, 0.5, True)
        assert sum(r["length"] for r in worker["slotDemands"]) == 8
        edge, = other.json("graph", lb)["edges"]
        assert edge["chainId"] == chain
        rows = other.ok("graph", lb).splitlines()
        assert len(rows) == 2
        assert rows[0].split()[0] == "UPSTREAM"
        assert rows[1].split()[-1] == chain
        other.ok("unchain", chain, "--lb", lb)
        wait_for(lambda: not ctl.json("workers", top)["workers"],
                 "the worker's end")
        assert other.json("graph", lb) == {"edges": [],
                                           "cycleDetected": False}
        assert other.refused(1, "unchain", chain, "--lb", lb)
        token = uri.split("//")[1].split("@", maxsplit=1)[0]
        error = other.refused(1, "chain", uri, "--family", "dual", "--lb", lb)
        assert token not in error
    finally:
        lower.close()


# ---------------------------------------------------------------------------
# Doors.


def test_where_calls_go(ctl):
    """--socket goes before --uri, and that before the environment."""
    uri, lb = ctl.reserve()
    dead = "ejfat://t@127.0.0.1:%d/lb/%s" % (free_port(), lb)
    assert ctl.json("workers", uri=dead)["workers"] == []
    assert ctl.json("workers", "--uri", uri, uri=dead,
                    socket=False)["workers"] == []
    error = ctl.refused(1, "workers", "--uri", dead, uri=uri, socket=False)
    assert "Connection refused" in error
    assert "does evlbd run there" in error
    # Commands of the operator know but the socket.
    assert ctl.json("status", uri=dead)["pid"] == ctl.evlbd.process.pid


def test_versions_agree(ctl):
    reply = ctl.json("version", uri=ctl.root, socket=False)
    assert reply["compatTag"] == "0.3.1"
    assert all(reply.values())
    assert ctl.ok("version").startswith("evlbd ")


def test_no_server(ctl, tmp_path):
    error = ctl.refused(1, "-s", str(tmp_path / "none"), "overview",
                        socket=False)
    assert "No such file" in error
    assert "systemctl status evlbd" in error


def test_token_is_secret(ctl):
    """What is wrong with a URI is said without its token."""
    for bad in ("ejfat://s3cret@h/lb/1", "ejfat://s3cret@h:1/lb/1?x=1",
                "http://s3cret@h:1/lb/1", "ejfat://s3cret@[h]:1/lb/1"):
        error = ctl.refused(2, "overview", uri=bad, socket=False)
        assert error.startswith("evlbctl: EJFAT_URI: ")
        assert "s3cret" not in error


def run(*command, **how):
    subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT,
                   **how)


def start_with_tls(directory, **more):
    """Returns an evlbd with a certificate for 127.0.0.1, signed by ca.pem
    beside it."""
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj",
        "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem",
        cwd=directory)
    run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj",
        "/CN=server", "-keyout", "server.key", "-out", "server.csr",
        cwd=directory)
    (directory / "san").write_text("subjectAltName = IP:127.0.0.1\n")
    run("openssl", "x509", "-req", "-in", "server.csr", "-CA", "ca.pem",
        "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "san", "-out",
        "server.pem", cwd=directory)
    return Evlbd(directory, scheme="ssl", api=(
        'root_token = "%s"; tls = { certificate = "%s/server.pem"; '
        'private_key = "%s/server.key"; };' % (ROOT, directory, directory)),
        **more)


@pytest.fixture
def tls_daemon(tmp_path):
    evlbd = start_with_tls(tmp_path)
    yield evlbd
    evlbd.close()


def test_tls(tls_daemon):
    ctl = Ctl(tls_daemon)
    ca = tls_daemon.file("ca.pem")
    root = "ejfats://%s@%s/lb/" % (ROOT, tls_daemon.address)
    uri = ctl.ok("reserve", "secure", "--ca", ca, uri=root,
                 socket=False).strip()
    assert uri.startswith("ejfats://")
    for how in (["--ca", ca], ["--insecure"]):
        assert ctl.json("workers", *how, uri=uri, socket=False)[
            "workers"] == []
    error = ctl.refused(1, "workers", uri=uri, socket=False)
    assert "certificate" in error
    error = ctl.refused(1, "workers", uri=uri.replace("ejfats:", "ejfat:"),
                        socket=False)
    assert tls_daemon.address in error


# ---------------------------------------------------------------------------
# The command line.


@pytest.mark.parametrize("words,error", [
    (["reserve"], "usage: evlbctl reserve NAME"),
    (["reserve", "x", "--for", "1h", "--until", END], "exclude each other"),
    (["reserve", "x", "--for", "1"], '--for: "1" is no time as 90s'),
    (["reserve", "x", "--for", "0s"], "--for:"),
    (["reserve", "x", "--for", "99999999d"], "--for:"),
    (["reserve", "x", "--until", "tomorrow"], "--until:"),
    (["reserve", "x", "--family", "5"], "--family:"),
    (["extend", "1"], "--for or --until is missing"),
    (["free"], "which reservation?"),
    (["free", "1", "--sender", "::1"], '"free" takes no --sender'),
    (["reset", "all"], '"all" is not known here'),
    (["senders", "add"], "usage: evlbctl senders add ADDRESS..."),
    (["senders"], 'no command "senders"'),
    (["register", "n", "ip=1.2.3.4", "x"], '"x" is not known here'),
    (["register", "n", "ip=1.2.3.4", "keep"], "port= is missing"),
    (["register", "n", "ip=1.2.3.4", "port=1", "ports=3"], "power of two"),
    (["register", "n", "ip=1.2.3.4", "port=1", "slots=5-2"], '"5-2" is not'),
    (["register", "n", "ip=1.2.3.4", "port=1", "weight=x"], "needs a number"),
    (["register", "n", "ip=1.2.3.4", "port=1", "weight=inf"],
     "needs a number"),
    (["send-state", "1", "control=1"], "fill= is missing"),
    (["send-state", "1", "fill=1", "events=-1"], "needs a number"),
    (["demands", "1", "--lb", "1"], "not SESSION=RANGES"),
    (["demands", "1=1,", "--lb", "1"], '"1," is not slots'),
    (["token", "create", "n"], "usage: evlbctl token create"),
    (["token", "create", "n", "WRITE"], '"WRITE" is not PERMISSION'),
    (["token", "create", "n", "UPDATE@SESSION"], "is not PERMISSION"),
    (["token", "create", "n", "UPDATE@ALL:1"], "is not PERMISSION"),
    (["token", "revoke"], "usage: evlbctl token revoke"),
    (["watch", "1", "--interval", "0"], "--interval:"),
    (["watch", "1", "--count", "0"], "--count:"),
    (["timeseries"], "usage: evlbctl timeseries"),
    (["timeseries", "/lb/*", "--since", "x"], "--since:"),
    (["overview", "--ca", "x"], "--ca is of use with a URI of ejfats:"),
    (["overview", "--insecure"], "--insecure is of use"),
])
def test_usage(ctl, words, error):
    assert error in ctl.refused(2, *words)


def test_completion(ctl):
    first, second = ctl.reserve("a")[1], ctl.reserve("b")[1]

    def complete(line):
        words = line.split(" ")
        script = ("source %s; COMP_WORDS=(%s); COMP_CWORD=%d; _evlbctl; "
                  "printf '%%s\\n' \"${COMPREPLY[@]}\"" % (
                      os.path.join(TOP, "build/completion/evlbctl"),
                      " ".join("'%s'" % w for w in [
                          EVLBCTL, "-s", ctl.evlbd.file("ctl.sock")] + words),
                      2 + len(words)))
        return subprocess.run(["bash", "-c", script], capture_output=True,
                              text=True, check=True,
                              timeout=TIMEOUT).stdout.split()

    assert complete("free ") == [first, second]
    assert complete("senders list ") == [first, second]
    assert complete("token ") == ["create", "show", "list", "revoke"]
    assert complete("extend --for 1h ") == [first, second]
    assert complete("reserve --str") == ["--strategy"]
