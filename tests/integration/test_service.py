# SPDX-License-Identifier: Apache-2.0

"""evlbd as a service: what it tells the service manager, where its messages
go, and the unit that starts it."""

import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
EVLBD = os.path.join(TOP, "build/bin/evlbd")
UNIT = os.path.join(TOP, "build/evlbd.service")
TIMEOUT = 20

sys.path.insert(0, os.path.join(TOP, "tests/ovs"))
import openflow                                         # noqa: E402

CONFIG = """
openflow = { listen = [ "unix:%(dir)s/of.sock" ]; };
%(more)s
bridges = ( { name = "br0"; datapath_id = "1"; } );
interfaces = ( { name = "data"; mac = "02:00:00:00:00:01"; } );
"""


class Datagrams:
    """A Unix datagram socket and what came to it."""

    def __init__(self, path):
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(TIMEOUT)

    def receive(self):
        return self.socket.recv(65536).decode()

    def wait_for(self, what):
        """Returns the first datagram in which the expression 'what' is."""
        seen = []
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            try:
                seen.append(self.receive())
            except TimeoutError:
                break
            if re.search(what, seen[-1]):
                return seen[-1]
        return pytest.fail("no %r in %r" % (what, seen))

    def is_empty(self):
        return not select.select([self.socket], [], [], 0)[0]


class Evlbd:
    """An evlbd with a manager that listens to it."""

    def __init__(self, directory, arguments=(), more="", env=(), wait=True,
                 stderr=subprocess.PIPE):
        self.directory = str(directory)
        self.config = os.path.join(self.directory, "evlb.conf")
        self.configure(more)
        self.manager = Datagrams(directory / "notify")
        environ = {k: v for k, v in os.environ.items()
                   if not k.startswith(("JOURNAL", "NOTIFY", "WATCHDOG"))}
        environ.update({"NOTIFY_SOCKET": self.manager.path}, **dict(env))
        environ = {k: v for k, v in environ.items() if v}
        self.popen = subprocess.Popen([EVLBD, "-c", self.config, *arguments],
                                      stderr=stderr, text=True, env=environ)
        if wait:
            self.manager.wait_for("^READY=1$")

    def configure(self, more):
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(CONFIG % {"dir": self.directory, "more": more})

    def reload(self, more):
        """Returns after evlbd has taken up, or refused, a configuration with
        'more' in it."""
        self.configure(more)
        self.popen.send_signal(signal.SIGHUP)
        self.manager.wait_for("^READY=1$")

    def end(self):
        """Returns all that it wrote to standard error."""
        self.popen.terminate()
        output = self.popen.communicate(timeout=TIMEOUT)[1]
        assert self.popen.returncode == 0
        return output


@pytest.fixture(name="start")
def fixture_start(tmp_path):
    running = []

    def start(*args, **kwargs):
        running.append(Evlbd(tmp_path, *args, **kwargs))
        return running[-1]

    yield start
    for evlbd in running:
        if evlbd.popen.poll() is None:
            evlbd.popen.kill()
        evlbd.popen.communicate()


def connect_switch(directory, datapath_id):
    """Connects to evlbd as a switch does, as far as the features reply."""
    switch = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    switch.settimeout(TIMEOUT)
    switch.connect(os.path.join(directory, "of.sock"))
    switch.sendall(openflow.message(openflow.OF15, openflow.HELLO))
    stream = switch.makefile("rb")
    while True:
        version, kind, length, xid = struct.unpack(">BBHI", stream.read(8))
        stream.read(length - 8)
        if kind == 5:                                   # FEATURES_REQUEST
            body = struct.pack(">QIBBHII", datapath_id, 0, 254, 0, 0, 0xf, 0)
            switch.sendall(openflow.message(version, 6, body, xid))
            return switch


# ---------------------------------------------------------------------------
# Notifications.


def test_ready_when_it_listens(start):
    evlbd = start()
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(os.path.join(evlbd.directory, "of.sock"))
    client.close()
    assert evlbd.manager.receive() == \
        "STATUS=0 of 1 switches connected, 0 instances."


@pytest.mark.parametrize("environment, more, where", [
    ({"EVLB_STATE_DIR": "%s/a"}, "", "a"),
    ({}, 'state_dir = "%s/b";', "b"),
    ({"EVLB_STATE_DIR": "%s/a"}, 'state_dir = "%s/b";', "a"),
    ({"STATE_DIRECTORY": "%s"}, 'state_dir = "%s/b";', "b"),
], ids=["environment", "setting", "both", "systemd"])
def test_state_directory(start, tmp_path, environment, more, where):
    """The directory is made; state and the operator's socket are in it."""
    environment = {name: value % tmp_path
                   for name, value in environment.items()}
    start(more=more.replace("%s", str(tmp_path)), env=environment)
    assert {"evlb.db", "evlbd.sock"} <= set(os.listdir(tmp_path / where))
    assert not os.path.exists(tmp_path / "evlb.db")


def test_systemd_state_directory(start, tmp_path):
    start(env={"STATE_DIRECTORY": str(tmp_path)})
    assert os.path.exists(tmp_path / "evlb.db")
    assert not os.path.exists(tmp_path / "evlbd.sock")


def test_status_counts_switches(start):
    evlbd = start()
    with connect_switch(evlbd.directory, 1):
        evlbd.manager.wait_for("^STATUS=1 of 1 switches connected")
    evlbd.manager.wait_for("^STATUS=0 of 1 switches connected")


def test_reload_is_told(start):
    evlbd = start()
    before = int(subprocess.run(
        [sys.executable, "-c", "import time; print(time.monotonic_ns())"],
        check=True, stdout=subprocess.PIPE, text=True).stdout) // 1000
    evlbd.configure("")
    evlbd.popen.send_signal(signal.SIGHUP)
    reloading = evlbd.manager.wait_for("^RELOADING=1\n")
    assert int(re.search("^MONOTONIC_USEC=([0-9]+)$", reloading,
                         re.MULTILINE)[1]) > before
    assert evlbd.manager.receive() == "READY=1"


def test_reload_that_is_refused_is_over_too(start):
    evlbd = start()
    evlbd.reload("nonsense = 1;")
    assert "nonsense: is no known setting" in evlbd.end()


def test_stopping_is_told(start):
    evlbd = start()
    evlbd.popen.terminate()
    evlbd.manager.wait_for("^STOPPING=1\nSTATUS=")


def test_watchdog_is_fed(start):
    evlbd = start(env={"WATCHDOG_USEC": "100000"})
    for _ in range(3):
        evlbd.manager.wait_for("^WATCHDOG=1$")


def test_watchdog_of_another_process_is_not_fed(start):
    evlbd = start(env={"WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"})
    with connect_switch(evlbd.directory, 1):
        assert "WATCHDOG" not in evlbd.manager.receive()
        assert "STATUS=1" in evlbd.manager.receive()


def test_no_manager_is_no_error(start):
    evlbd = start(env={"NOTIFY_SOCKET": ""}, wait=False)
    for line in evlbd.popen.stderr:
        if "listening" in line:
            break
    evlbd.end()
    assert evlbd.manager.is_empty()


# ---------------------------------------------------------------------------
# The log.


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "
                  r"(EMER|ERR|WARN|INFO|DBG) [a-z_0-9]+ .+")


def test_lines_have_time_level_module(start):
    lines = start().end().splitlines()
    assert lines
    assert [line for line in lines if not LINE.fullmatch(line)] == []


def test_file_of_the_configuration(start, tmp_path):
    name = tmp_path / "evlbd.log"
    output = start(more='log = { file = "%s"; };' % name).end()
    assert "INFO evlbd Terminated: exiting" in read(name)
    assert "INFO evlbd Terminated: exiting" in output


def test_file_of_the_command_line_wins(start, tmp_path):
    configured, given = tmp_path / "configured.log", tmp_path / "given.log"
    start(["--log-file=%s" % given],
          more='log = { file = "%s"; };' % configured).end()
    assert "exiting" in read(given)
    assert not configured.exists()


def test_file_is_reopened(start, tmp_path):
    name, moved = tmp_path / "evlbd.log", tmp_path / "evlbd.log.1"
    evlbd = start(more='log = { file = "%s"; };' % name)
    name.rename(moved)
    evlbd.popen.send_signal(signal.SIGUSR1)
    end = time.monotonic() + TIMEOUT
    while not name.exists() and time.monotonic() < end:
        time.sleep(0.01)
    evlbd.end()
    assert "exiting" in read(name)
    assert "exiting" not in read(moved)


def test_file_that_cannot_be_opened_ends_the_start(start):
    evlbd = start(more='log = { file = "/nowhere/evlbd.log"; };', wait=False)
    error = evlbd.popen.communicate(timeout=TIMEOUT)[1]
    assert evlbd.popen.returncode == 1
    assert ("/nowhere/evlbd.log: cannot be opened to log to: "
            "No such file or directory" in error)


def test_file_that_cannot_be_opened_refuses_a_reload(start, tmp_path):
    name = tmp_path / "evlbd.log"
    evlbd = start(more='log = { file = "%s"; };' % name)
    evlbd.reload('log = { file = "/nowhere/evlbd.log"; level = "off"; };')
    evlbd.end()
    assert ("reload refused, nothing is changed: /nowhere/evlbd.log"
            in read(name))
    assert "exiting" in read(name)


def test_file_is_closed_by_a_reload(start, tmp_path):
    name = tmp_path / "evlbd.log"
    evlbd = start(more='log = { file = "%s"; };' % name)
    evlbd.reload("")
    assert "exiting" in evlbd.end()
    assert "exiting" not in read(name)


def test_levels(start):
    evlbd = start(more='log = { level = "warn"; };')
    evlbd.reload('log = { level = "warn"; modules = { evlbd = "info"; }; };')
    evlbd.reload('log = { level = "warn"; };')
    evlbd.reload("")
    output = evlbd.end()
    assert "listening" not in output
    assert output.count("reloaded") == 2
    assert "exiting" in output


def test_levels_of_the_command_line_win(start):
    evlbd = start(["-v", "off", "--verbose=evlbd:info"],
                  more='log = { level = "dbg"; };')
    evlbd.reload("")
    modules = {line.split()[2] for line in evlbd.end().splitlines()}
    assert modules == {"evlbd"}


@pytest.mark.parametrize("option, reason", [
    ("--verbose=loud", '"loud" is no level, which is off, emer, err'),
    ("--verbose=evlbd:", '"" is no level'),
    ("--verbose=nobody:dbg", 'there is no module "nobody"'),
])
def test_bad_levels_are_refused(option, reason):
    done = subprocess.run([EVLBD, option], stderr=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == 2
    assert reason in done.stderr


def start_with_syslog(start, tmp_path, **kwargs):
    syslog = Datagrams(tmp_path / "syslog")
    env = {"OVS_SYSLOG_METHOD": "unix:" + syslog.path}
    env.update(kwargs.pop("env", {}))
    return syslog, start(env=env, **kwargs)


def check_syslog(syslog):
    """Each message has the priority of its level: NOTICE for INFO."""
    message = syslog.wait_for("evlbd: Terminated: exiting")
    assert int(re.match("<([0-9]+)>", message)[1]) & 7 == 5


@pytest.mark.parametrize("arguments, more", [
    (["--syslog"], ""),
    ([], "log = { syslog = true; };")])
def test_syslog(start, tmp_path, arguments, more):
    syslog, evlbd = start_with_syslog(start, tmp_path, arguments=arguments,
                                      more=more)
    assert "exiting" in evlbd.end()
    check_syslog(syslog)


def test_no_syslog_unless_asked_for(start, tmp_path):
    syslog, evlbd = start_with_syslog(start, tmp_path)
    evlbd.end()
    assert syslog.is_empty()


@pytest.mark.parametrize("inode_off, in_journal", [(0, True), (1, False)])
def test_journal(start, tmp_path, inode_off, in_journal):
    """Where standard error is the journal, which JOURNAL_STREAM tells,
    messages go there through syslog's socket, with their levels."""
    journal, ours = socket.socketpair()
    stat = os.fstat(ours.fileno())
    env = {"JOURNAL_STREAM": "%d:%d" % (stat.st_dev,
                                        stat.st_ino + inode_off)}
    syslog, evlbd = start_with_syslog(start, tmp_path, env=env, stderr=ours)
    ours.close()
    evlbd.end()
    journal.settimeout(TIMEOUT)
    with journal.makefile("r") as stream:
        assert ("exiting" in stream.read()) != in_journal
    if in_journal:
        check_syslog(syslog)
    else:
        assert syslog.is_empty()


# ---------------------------------------------------------------------------
# The unit.


def unit_for(programs, config):
    """Returns the unit with our own program and 'config' in it."""
    text = read(UNIT)
    program, file = re.search("^ExecStart=([^ ]+) --config=([^ ]+)$", text,
                              re.MULTILINE).groups()
    return text.replace(program, programs).replace(file, config)


def commands(unit, name):
    """Returns the commands of the settings 'name' in 'unit'."""
    return [line.split() for line in
            re.findall("^%s=(.*)$" % name, unit, re.MULTILINE)]


def test_unit_is_verified(tmp_path):
    unit = tmp_path / "evlbd.service"
    unit.write_text(unit_for(EVLBD, "/etc/evlb/evlb.conf")
                    .replace("man:evlb.conf(5)", "").replace("man:evlbd(8)",
                                                             ""))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_unit_checks_first(tmp_path):
    """Before the start and before the signal of a reload, the unit runs what
    refuses a bad configuration."""
    config = tmp_path / "evlb.conf"
    unit = unit_for(EVLBD, str(config))
    before_start = commands(unit, "ExecStartPre")[0]
    reload = commands(unit, "ExecReload")
    assert reload == [before_start, ["/bin/kill", "-HUP", "$MAINPID"]]

    config.write_text(CONFIG % {"dir": tmp_path, "more": ""})
    assert subprocess.run(before_start, check=False).returncode == 0
    config.write_text(CONFIG % {"dir": tmp_path, "more": "more = 1;"})
    done = subprocess.run(before_start, stderr=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == 1
    assert "evlb.conf:3: more: is no known setting" in done.stderr
