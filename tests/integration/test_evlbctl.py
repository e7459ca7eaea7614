# SPDX-License-Identifier: Apache-2.0

"""evlbctl and evlbd, without a switch: what can be asked, what is refused and
how, who may ask, and the shell's completion."""

import json
import os
import re
import select
import stat
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
EVLBD = os.path.join(TOP, "build/bin/evlbd")
EVLBCTL = os.path.join(TOP, "build/bin/evlbctl")
TIMEOUT = 30
NOBODY = 65534
LAST = 2**64 - 1

CONFIG = """
openflow = { listen = [ "unix:@/of.sock" ]; };
admin = { socket = "@/admin.sock"; %s };
bridges = ( { name = "br0"; datapath_id = "1"; ports = ( "eth0" ); } );
interfaces = ( { name = "data"; mac = "02:00:00:00:00:01"; } );
instances = (
    { name = "alpha"; id = 0; addresses = [ "10.0.0.1", "fd00::1" ];
      sources = [ "10.0.0.0/24" ];
      members = (
          { id = 1; ip = "10.0.0.11"; mac = "02:00:00:00:01:01"; base = 1000;
            egress = "cn1"; },
          { id = 2; ip = "10.0.0.12"; mac = "02:00:00:00:01:02"; base = 1000;
            bits = 3; keep = true; egress = 7; } );
      epochs = ( { from = 0; members = ( { id = 1; } ); },
                 { from = 1000; members = ( { id = 1; weight = 3; },
                                            { id = 2; } ); } ); },
    { name = "beta"; id = 5; addresses = [ "10.0.0.2" ]; sources = [ "10.0.0.9" ];
      late = "drop"; }
);
"""


class Evlbd:
    """An evlbd with a directory of its own."""

    def __init__(self, directory, admin=""):
        self.directory = directory
        self.socket = os.path.join(directory, "admin.sock")
        self.config = os.path.join(directory, "evlb.conf")
        self.log = os.path.join(directory, "log")
        self.write(CONFIG % admin)
        with open(self.log, "w", encoding="utf-8") as log:
            self.popen = subprocess.Popen([EVLBD, "-c", self.config],
                                          stderr=log)
        self.wait_for_log("admin.sock: listening")

    def write(self, text):
        """Writes the configuration."""
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(text.replace("@", self.directory))

    def wait_for_log(self, text):
        """Waits until evlbd has logged 'text'."""
        for _ in range(1000):
            with open(self.log, encoding="utf-8") as log:
                if text in log.read():
                    return
            assert self.popen.poll() is None
            select.select([], [], [], 0.01)
        raise AssertionError("not logged: " + text)

    def ctl(self, *args, **kwargs):
        """Runs evlbctl; returns its exit code and what it printed."""
        result = subprocess.run([EVLBCTL, "-s", self.socket, *args],
                                capture_output=True, text=True, check=False,
                                timeout=TIMEOUT, **kwargs)
        return result.returncode, result.stdout, result.stderr

    def ok(self, *args):
        """Runs evlbctl, which must succeed; returns what it printed."""
        code, out, err = self.ctl(*args)
        assert (code, err) == (0, "")
        return out

    def json(self, *args):
        """Runs evlbctl with --json; returns what it printed."""
        return json.loads(self.ok(*args, "--json"))

    def refused(self, code, *args):
        """Runs evlbctl, which must fail with 'code'; returns the error."""
        actual, out, err = self.ctl(*args)
        assert (actual, out) == (code, ""), err
        assert err.startswith("evlbctl: ")
        return err

    def stop(self):
        """Ends evlbd."""
        self.popen.terminate()
        assert self.popen.wait(TIMEOUT) == 0


@pytest.fixture
def evlbd(tmp_path):
    """Runs an evlbd."""
    daemon = Evlbd(str(tmp_path))
    yield daemon
    daemon.stop()


def test_status(evlbd):
    status = evlbd.json("status")
    assert status["pid"] == evlbd.popen.pid
    assert status["config_file"] == evlbd.config
    assert (status["connected"], status["targets"]) == (0, 1)
    assert [i["instance"] for i in status["instances"]] == ["alpha", "beta"]
    alpha = status["instances"][0]
    assert alpha["members"] == alpha["receiving"] == alpha["epochs"] == 2
    assert (alpha["newest_epoch"], alpha["newest_first"]) == (2, 1000)
    assert status["instances"][1]["epochs"] == 0
    assert alpha["lead_ms"] > 0 and not alpha["lead_measured"]
    assert not alpha["tick_known"] and alpha["sync_age_ms"] == -1
    assert "alpha" in evlbd.ok("status")


def test_instances(evlbd):
    instances = evlbd.json("instances")["instances"]
    assert instances[0]["addresses"] == ["10.0.0.1", "fd00::1"]
    assert instances[0]["sources"] == ["10.0.0.0/24"]
    assert instances[0]["interfaces"] == ["data"]
    assert instances[1]["id"] == 5
    assert [i["late"] for i in instances] == ["newest", "drop"]
    assert evlbd.json("instances", "beta")["instances"] == instances[1:]


def test_epochs(evlbd):
    first, second = evlbd.json("epochs")["epochs"]
    assert (first["first"], first["last"], first["newest"]) == (0, 999, False)
    assert (second["first"], second["last"]) == (1000, LAST)
    assert second["newest"] and second["prefixes"] == [
        "0x0000000000000000/0"]
    assert [(m["member"], m["weight"], m["slots"], m["share"])
            for m in second["members"]] == [(1, 3, 384, 0.75),
                                            (2, 1, 128, 0.25)]
    # The prefixes of the first are its ticks, each once.
    ticks = []
    for prefix in first["prefixes"]:
        value, length = prefix.split("/")
        ticks += range(int(value, 16), int(value, 16) + 2**(64 - int(length)))
    assert ticks == list(range(1000))
    assert evlbd.ok("epochs", "beta") == "no epochs are connected\n"


def test_members(evlbd):
    one, two = evlbd.json("members")["members"]
    assert (one["ip"], one["mac"]) == ("10.0.0.11", "02:00:00:00:01:01")
    assert (one["first_port"], one["ports"], one["keep"]) == (1000, 1, False)
    assert (two["ports"], two["keep"], two["egress"]) == (8, True, "7")
    assert (one["epochs"], two["epochs"]) == ([1, 2], [2])
    assert (one["slots"], two["slots"]) == (384, 128)


def test_targets(evlbd):
    target, = evlbd.json("targets")["targets"]
    rules = target.pop("rules")
    assert rules > 10
    assert target == {
        "name": "br0", "datapath_id": "0000000000000001", "connected": False,
        "ports": ["eth0"], "peer": "", "tls": False, "state": "",
        "connected_ms": 0, "last_error": "", "openflow": "", "calendars": "",
        "secondary": False}


def test_tables_line_up(evlbd):
    """Each cell begins, or ends, where the title of its column does."""
    evlbd.ok("lb", "add", "beta", "id=54321", "ip=10.0.0.13", "base=1")
    for lines in (evlbd.ok("status").splitlines()[3:],
                  evlbd.ok("targets").splitlines(),
                  evlbd.ok("members").splitlines(),
                  evlbd.ok("neighbours").splitlines()):
        titles = list(re.finditer(r"\S+( \S+)*", lines[0]))
        for line in lines[1:]:
            cells = list(re.finditer(r"\S+( \S+)*", line))
            assert len(cells) == len(titles)
            for title, cell in zip(titles, cells):
                assert (title.start() == cell.start()
                        or title.end() == cell.end())


def test_set(evlbd):
    out = evlbd.ok("lb", "set", "alpha", "--force", "--at-event", "0x1388",
                   "1=1", "2=1")
    assert out.startswith("alpha: epoch 3 begins at tick 5000\n")
    assert "br0 is not connected" in out
    epochs = evlbd.json("epochs", "alpha")["epochs"]
    assert [(e["id"], e["first"], e["last"]) for e in epochs] == [
        (1, 0, 999), (2, 1000, 4999), (3, 5000, LAST)]
    assert [m["slots"] for m in epochs[2]["members"]] == [256, 256]
    assert [e["added"] for e in epochs] == [False, False, True]


def test_factors(evlbd):
    evlbd.ok("lb", "set", "alpha", "--force", "--at-event", "5000",
             "1=9:0:1.5", "2=1:0.25")
    members = evlbd.json("epochs", "alpha")["epochs"][2]["members"]
    assert [(m["weight"], m["slots"], m["min_factor"], m["max_factor"])
            for m in members] == [(9, 384, 0, 1.5), (1, 128, 0.25, 0)]


def test_log(evlbd):
    """The log says who changed what, and what was refused."""
    evlbd.ok("lb", "set", "alpha", "--force", "--at-event", "5000", "2=1")
    evlbd.wait_for_log("(user %d, process " % os.geteuid())
    evlbd.wait_for_log("shares of instance alpha: epoch 3 from tick 5000")
    evlbd.ctl("lb", "remove", "alpha", "1")
    evlbd.wait_for_log("removal of a member of instance alpha: ")
    evlbd.ok("reload")
    evlbd.wait_for_log("evlb.conf: reloaded")
    evlbd.write(CONFIG % 'group = "daemon";')
    evlbd.ok("reload")
    evlbd.wait_for_log("admin takes effect at the next start")


def test_last_tick(evlbd):
    """Ticks of 64 bits survive the way, in both directions."""
    reply = evlbd.json("lb", "set", "alpha", "--force", "--at-event",
                       str(LAST), "2=1")
    assert reply["boundary"] == LAST and reply["instance"] == "alpha"
    assert evlbd.json("epochs", "alpha")["epochs"][-1]["first"] == LAST


def test_drain_and_remove(evlbd):
    evlbd.ok("lb", "add", "alpha", "id=9", "ip=fd00::9",
             "mac=02:00:00:00:01:09", "base=2000", "bits=2", "keep",
             "egress=in_port")
    nine = evlbd.json("members", "alpha")["members"][2]
    assert (nine["id"], nine["ip"], nine["ports"]) == (9, "fd00::9", 4)
    assert (nine["keep"], nine["egress"]) == (True, "in_port")
    assert [m["added"] for m in evlbd.json("members", "alpha")["members"]] == [
        False, False, True]
    evlbd.ok("lb", "set", "alpha", "--force", "--at-event", "2000", "9=1",
             "1=1")
    assert "9" in evlbd.refused(1, "lb", "remove", "alpha", "9")
    evlbd.ok("lb", "drain", "alpha", "9", "--force", "--at-event", "3000")
    newest = evlbd.json("epochs", "alpha")["epochs"][-1]
    assert [m["member"] for m in newest["members"]] == [1]
    evlbd.refused(1, "lb", "remove", "alpha", "9")
    assert "9" in evlbd.refused(1, "lb", "remove", "beta", "9")


def test_add_and_remove(evlbd):
    before = evlbd.json("members")
    evlbd.ok("lb", "add", "beta", "id=3", "ip=10.0.0.13", "base=1",
             "mac=02:00:00:00:01:03", "egress=cn3")
    assert len(evlbd.json("members", "beta")["members"]) == 1
    evlbd.ok("lb", "remove", "beta", "3")
    assert evlbd.json("members") == before
    assert "no member 3" in evlbd.refused(1, "lb", "remove", "beta", "3")


@pytest.mark.parametrize("words, expected", [
    (["set", "gamma", "1=1"], 'no instance "gamma"; there are: alpha, beta'),
    (["set", "alpha", "--at-event", "1000", "--force", "1=1"],
     "not beyond epoch 2 from tick 1000"),
    (["set", "alpha", "1=1"], "nothing tells how far its ticks are"),
    (["set", "alpha", "--at-event", "9000", "--force", "8=1"], "8"),
    (["set", "alpha", "--at-event", "9000", "--force", "65535=1"],
     "member 65535: numbers of members are 0 to 65534"),
    (["set", "alpha", "--at-event", "9000", "--force", "1=0"], ""),
    (["set", "alpha", "--at-event", "9000", "--force", "1=1", "1=2"], "1"),
    (["set", "alpha", "--at-event", "9000", "--force", "1=1:3:2", "2=1"],
     "factor"),
    (["set", "alpha", "--at-event", "9000", "--force", "1=1:0:99999999"],
     "factor"),
    (["drain", "gamma", "1"], "no instance"),
    (["drain", "alpha", "7", "--at-event", "9000", "--force"], "7"),
    (["remove", "alpha", "1"], "configuration"),
    (["remove", "gamma", "1"], "no instance"),
    (["add", "gamma", "id=7", "ip=10.0.0.9", "base=1"], "no instance"),
    (["add", "alpha", "id=1", "ip=10.0.0.9", "base=1",
      "mac=02:00:00:00:01:07", "egress=a"], "1"),
    (["add", "alpha", "id=7", "ip=10.0.0", "base=1"],
     'ip "10.0.0" is no IPv4 or IPv6 address'),
    (["add", "alpha", "id=7", "ip=10.0.0.9", "base=1", "mac=x"],
     'mac "x" is no MAC address'),
    (["add", "alpha", "id=7", "ip=10.0.0.9", "base=1",
      "mac=01:00:00:00:00:01"], "not the address of one station"),
    (["add", "alpha", "id=7", "ip=10.0.0.9", "base=70000",
      "mac=02:00:00:00:01:07"], "base 70000 is above 65535"),
    (["add", "alpha", "id=7", "ip=10.0.0.9", "base=1", "bits=15",
      "mac=02:00:00:00:01:07"], "bits 15 is above 14"),
    (["add", "alpha", "id=7", "ip=10.0.0.9", "base=65535", "bits=1",
      "mac=02:00:00:00:01:07", "egress=a"], "65535"),
    (["add", "alpha", "id=7", "ip=10.0.0.9", "base=1",
      "mac=02:00:00:00:01:07", "egress=70000"], 'egress "70000"'),
    (["add", "alpha", "id=7", "ip=10.0.0.9", "base=1",
      "mac=02:00:00:00:01:07", "egress=much-too-long-for-it"], "egress"),
])
def test_refused(evlbd, words, expected):
    """What is refused says why and changes nothing."""
    before = evlbd.json("epochs"), evlbd.json("members")
    assert expected in evlbd.refused(1, "lb", *words)
    assert before == (evlbd.json("epochs"), evlbd.json("members"))


@pytest.mark.parametrize("words, expected", [
    (["gamma"], 'no instance "gamma"'),
    (["alpha", "target=br9"], 'no switch "br9"; there are: br0'),
    (["alpha", "source=10.0.0"], 'source "10.0.0" is no IPv4'),
    (["alpha", "destination=x"], 'destination "x" is no IPv4'),
    (["alpha", "version=256"], "version 256 is above 255"),
    (["alpha", "port=65536"], "port 65536 is above 65535"),
    (["alpha", "packet=0x"], "packet"),
    (["alpha"], "br0: its ports are not known"),
])
def test_trace_refused(evlbd, words, expected):
    assert expected in evlbd.refused(1, "trace", *words)


@pytest.mark.parametrize("words, expected", [
    ([], "a command is missing"),
    (["stauts"], 'no command "stauts"'),
    (["lb"], 'no command "lb"'),
    (["lb", "up", "alpha"], 'no command "lb up"'),
    (["status", "alpha"], "usage: evlbctl status"),
    (["epochs", "alpha", "beta"], "usage: evlbctl epochs [INSTANCE]"),
    (["epochs", "--force"], '"epochs" takes no --force'),
    (["epochs", "--lb", "1"], '"epochs" takes no --lb'),
    (["reserve", "x", "--at-event", "1"], '"reserve" takes no --at-event'),
    (["lb", "set", "alpha"], "usage: evlbctl lb set"),
    (["lb", "set", "alpha", "1"], '"1" is not MEMBER=WEIGHT'),
    (["lb", "set", "alpha", "1=x"], '"1=x" is not MEMBER=WEIGHT'),
    (["lb", "set", "alpha", "1=4294967296"], "is not MEMBER=WEIGHT"),
    (["lb", "set", "alpha", "1= 1"], "is not MEMBER=WEIGHT"),
    (["lb", "set", "alpha", "1=1:x"], "is not MEMBER=WEIGHT"),
    (["lb", "set", "alpha", "1=1:-1"], "is not MEMBER=WEIGHT"),
    (["lb", "set", "alpha", "1=1:inf"], "is not MEMBER=WEIGHT"),
    (["lb", "set", "alpha", "1=1:1:1:1"], "is not MEMBER=WEIGHT"),
    (["lb", "set", "alpha", "1=1:"], "is not MEMBER=WEIGHT"),
    (["lb", "set", "alpha", "1=1", "--at-event", "soon"],
     '--at-event: "soon" is no tick'),
    (["lb", "set", "alpha", "1=1", "--at-event", str(2**64)], "is no tick"),
    (["lb", "drain", "alpha", "one"], '"one" is no number of a member'),
    (["lb", "add", "alpha", "id=3"], "ip= is missing"),
    (["lb", "add", "alpha", "colour=red"], "is not known here"),
    (["lb", "add", "alpha", "id=red"], "needs a number"),
    (["lb", "add", "alpha", "ip"], "needs a value"),
    (["lb", "add", "alpha", "keep=1"], "takes no value"),
    (["trace", "alpha", "tick=-1"], "needs a number"),
    (["trace", "alpha", "tock=1"], "is not known here"),
    (["trace"], "usage: evlbctl trace INSTANCE"),
    (["completion", "fish"], "completion for bash"),
    (["help", "me"], "no help of the kind"),
])
def test_usage(evlbd, words, expected):
    assert expected in evlbd.refused(2, *words)


def test_wrong_option(evlbd):
    code, out, err = evlbd.ctl("--colour", "status")
    assert (code, out) == (2, "") and "evlbctl --help" in err


def test_reload(evlbd):
    evlbd.write((CONFIG % "").replace('"beta"', '"gamma"'))
    assert evlbd.ok("reload") == evlbd.config + ": reloaded\n"
    assert [i["name"] for i in evlbd.json("instances")["instances"]] == [
        "alpha", "gamma"]
    evlbd.write((CONFIG % "").replace("from = 1000", "from = 2000"))
    assert re.search(r"evlb\.conf:\d+: .*epoch",
                     evlbd.refused(1, "reload"))
    assert evlbd.json("epochs", "alpha")["epochs"][1]["first"] == 1000


def test_not_running(tmp_path):
    result = subprocess.run([EVLBCTL, "-s", str(tmp_path / "none"), "status"],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "evlbd is not running" in result.stderr


def test_socket_is_removed(tmp_path):
    evlbd = Evlbd(str(tmp_path))
    assert stat.S_IMODE(os.stat(evlbd.socket).st_mode) == 0o660
    evlbd.stop()
    assert not os.path.exists(evlbd.socket)


def open_directory(path):
    """Lets others into the directory and what it is in."""
    while path != "/":
        os.chmod(path, os.stat(path).st_mode | 0o555)
        path = os.path.dirname(path)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@needs_root
def test_permission(tmp_path):
    """Others may not open the socket; and if they could, they are known."""
    evlbd = Evlbd(str(tmp_path))
    open_directory(str(tmp_path))
    code, _, err = evlbd.ctl("status", user=NOBODY, group=NOBODY,
                             extra_groups=[])
    assert code == 1 and "admin.group" in err
    os.chmod(evlbd.socket, 0o666)
    code, _, err = evlbd.ctl("status", user=NOBODY, group=NOBODY,
                             extra_groups=[])
    assert code == 1 and "left without an answer" in err
    evlbd.wait_for_log("user 65534 (process ")
    evlbd.ok("status")
    evlbd.stop()


@needs_root
def test_group(tmp_path):
    """Members of the group that is configured may ask, by their first group
    or another."""
    evlbd = Evlbd(str(tmp_path), 'group = "daemon";')
    open_directory(str(tmp_path))
    assert os.stat(evlbd.socket).st_gid == 1
    for group, extra in ((1, []), (NOBODY, [1])):
        assert evlbd.ctl("status", user=NOBODY, group=group,
                         extra_groups=extra)[0] == 0
    assert evlbd.ctl("status", user=NOBODY, group=NOBODY,
                     extra_groups=[])[0] == 1
    evlbd.stop()


def test_nothing_is_found_out(tmp_path):
    """Where nobody asks, a member has to say where it is."""
    evlbd = Evlbd(str(tmp_path), "}; neighbour = { resolve = false;")
    assert "neighbour.resolve" in evlbd.refused(
        1, "lb", "add", "alpha", "id=7", "ip=10.0.0.9", "base=1", "egress=a")
    assert "neighbour.resolve" in evlbd.refused(
        1, "lb", "add", "alpha", "id=7", "ip=10.0.0.9", "base=1",
        "mac=02:00:00:00:01:07")
    evlbd.ok("lb", "add", "alpha", "id=7", "ip=10.0.0.9", "base=1",
             "mac=02:00:00:00:01:07", "egress=a")
    assert evlbd.json("neighbours")["neighbours"] == []
    evlbd.stop()


@pytest.mark.parametrize("admin, expected", [
    ('socket = "relative";', "admin.socket"),
    ('socket = 5;', "admin.socket"),
    ('group = "no-such-group";', 'no group "no-such-group"'),
    ('colour = "red";', "admin.colour"),
])
def test_wrong_settings(tmp_path, admin, expected):
    path = tmp_path / "evlb.conf"
    path.write_text(re.sub(r"admin = .*", "admin = { %s };" % admin,
                           CONFIG % "").replace("@", str(tmp_path)))
    result = subprocess.run([EVLBD, "-c", str(path), "--check"],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert re.search(r"evlb\.conf:3: .*", result.stderr), result.stderr
    assert expected in result.stderr


def test_socket_in_use(evlbd, tmp_path):
    """A socket that was asked for and cannot be had is an error."""
    path = tmp_path / "second.conf"
    path.write_text((CONFIG % "").replace("@/of", str(tmp_path) + "/of2")
                    .replace("@", str(tmp_path)))
    result = subprocess.run([EVLBD, "-c", str(path)], capture_output=True,
                            text=True, check=False, timeout=TIMEOUT)
    assert result.returncode == 1
    assert "admin.sock: cannot listen" in result.stderr
    evlbd.ok("status")


def complete(evlbd, line):
    """Returns what bash would complete 'line' with."""
    words = line.split(" ")
    script = ("source %s; COMP_WORDS=(%s); COMP_CWORD=%d; _evlbctl; "
              "printf '%%s\\n' \"${COMPREPLY[@]}\"" % (
                  os.path.join(TOP, "build/completion/evlbctl"),
                  " ".join("'%s'" % w for w in
                           [EVLBCTL, "-s", evlbd.socket] + words),
                  2 + len(words)))
    result = subprocess.run(["bash", "-c", script], capture_output=True,
                            text=True, check=True, timeout=TIMEOUT)
    return result.stdout.split()


def test_completion(evlbd):
    assert complete(evlbd, "me") == ["members"]
    assert complete(evlbd, "lb ") == ["set", "drain", "add", "remove"]
    assert complete(evlbd, "lb dr") == ["drain"]
    assert complete(evlbd, "epochs ") == ["alpha", "beta"]
    assert complete(evlbd, "lb set b") == ["beta"]
    assert complete(evlbd, "lb drain alpha ") == ["1", "2"]
    assert complete(evlbd, "lb drain --at-event 5 alpha ") == ["1", "2"]
    assert complete(evlbd, "status --js") == ["--json"]


def test_help_and_manual_agree(evlbd):
    """Each command of the manual page is in the help, and completed."""
    with open(os.path.join(TOP, "build/man/evlbctl.8"),
              encoding="utf-8") as page:
        text = page.read().replace("\\-", "-")
    commands = re.findall(r"^\.TP\n\.B ([a-z][a-z -]+)$", text, re.M)
    options = re.findall(r"^\.BR (?:-. \", \" )?(--[a-z-]+)", text, re.M)
    assert {"--socket", "--at-event", "--until", "--help"} <= set(options)
    assert set(complete(evlbd, "status --")) == set(options)
    assert set(re.findall(r"^ {2}.{4}(--[a-z-]+)", evlbd.ok("help"),
                          re.M)) == set(options)
    assert {"status", "lb set", "completion", "reload"} <= set(commands)
    entries = re.findall(r"^  ([a-z].*)$", evlbd.ok("help"), re.M)
    assert len(entries) == len(commands)
    for command, entry in zip(commands, entries):
        assert (entry + " ").startswith(command + " ")
        assert command.split()[-1] in complete(
            evlbd, command.rsplit(" ", 1)[0] + " " if " " in command else "")
