# SPDX-License-Identifier: Apache-2.0

"""Configurations with mistakes.  Each file in tests/config-mistakes has one;
its first line, "# LINE: MESSAGE", is what evlbd has to say of it, word for
word."""

import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from test_service import EVLBD, TOP, fixture_start      # noqa: F401

FILES = sorted(glob.glob(os.path.join(TOP, "tests/config-mistakes/*.conf")))
GOOD = os.path.join(TOP, "configs/demo.conf")


def read(name):
    with open(name, encoding="utf-8") as stream:
        return stream.read()


def expected(name):
    """Returns the line and the message that 'name' asks for."""
    line, message = re.match("# ([0-9]+): (.*)\n", read(name)).groups()
    return int(line), message


def check(name, command=(EVLBD,), **kwargs):
    """Returns the status and the words of "evlbd --check" of 'name'."""
    done = subprocess.run([*command, "--check", "-c", name],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, cwd=TOP, timeout=20,
                          **kwargs)
    return done.returncode, done.stderr


def test_there_are_enough():
    assert len(FILES) >= 100
    assert len({read(name).split("\n", 1)[1] for name in FILES}) == len(FILES)


@pytest.mark.parametrize("name", FILES, ids=os.path.basename)
def test_refused(name):
    relative = os.path.relpath(name, TOP)
    assert check(relative) == (1, "evlbd: %s:%d: %s\n"
                               % (relative, *expected(name)))


def known_settings():
    """Returns the names of settings in the sources that read them."""
    names = set()
    for source in glob.glob(os.path.join(TOP, "controller/config*.c")):
        for block in re.findall(r"names\[\] = \{(.*?)\}", read(source),
                                re.DOTALL):
            names |= set(re.findall('"([a-z0-9_]+)"', block))
    assert len(names) > 30
    return names


def test_each_setting_has_mistakes():
    """Of each setting at least a value of a wrong type, or out of its range,
    is among the mistakes."""
    blamed = set()
    for name in FILES:
        path = expected(name)[1].split(": ")[0]
        blamed |= set(re.findall("[a-z0-9_]+", path))
    assert known_settings() - blamed == set()


def test_each_setting_is_documented():
    text = read(os.path.join(TOP, "docs/configuration.md"))
    documented = {word for code in re.findall("`([^`]+)`", text)
                  for word in re.findall("[a-z0-9_]+", code)}
    assert known_settings() - documented == set()


@pytest.mark.parametrize("name", ["demo.conf", "dpdk.conf", "evlb.conf",
                                  "local.conf"])
def test_what_is_shipped_is_correct(name):
    assert check(os.path.join(TOP, "configs", name)) == (0, "")


# ---------------------------------------------------------------------------
# Files that are wrong as files.


def test_no_file():
    assert check("/nowhere/evlb.conf") == (
        1, "evlbd: /nowhere/evlb.conf: cannot be read: "
        "No such file or directory\n")


def test_directory(tmp_path):
    assert check(str(tmp_path)) == (
        1, "evlbd: %s: cannot be read: is no regular file\n" % tmp_path)


def test_fifo(tmp_path):
    name = tmp_path / "fifo"
    os.mkfifo(name)
    assert check(str(name)) == (
        1, "evlbd: %s: cannot be read: is no regular file\n" % name)


def test_unreadable():
    directory = tempfile.mkdtemp()
    try:
        os.chmod(directory, 0o755)
        evlbd = shutil.copy(EVLBD, directory)
        name = shutil.copy(GOOD, directory)
        os.chmod(name, 0)
        assert check(name, [evlbd], user="nobody") == (
            1, "evlbd: %s: cannot be read: Permission denied\n" % name)
    finally:
        shutil.rmtree(directory)


@pytest.mark.parametrize("data, words", [
    (b"", "1: no bridges are configured"),
    (b"\n\n\n", "1: no bridges are configured"),
    (b"\0" * 100, "1: syntax error"),
    (bytes(range(256)) * 16, ": syntax error"),
    (b"\x7fELF\2\1\1" + b"\xff" * 5000, "1: syntax error"),
    (b"(" * 100000, "1: syntax error"),
    (b"a = " + b"(" * 100000, "1: "),
    (b"a = \"" + b"x" * 1000000, ": syntax error"),
    (b"a = \"" + b"x" * 1000000 + b"\";", "1: a: is no known setting"),
], ids=["empty", "lines", "zeros", "bytes", "program", "brackets", "lists",
        "quote", "long"])
def test_garbage(tmp_path, data, words):
    name = tmp_path / "evlb.conf"
    name.write_bytes(data)
    status, error = check(str(name))
    assert status == 1
    assert words in error


def test_huge(tmp_path):
    name = tmp_path / "evlb.conf"
    with open(name, "wb") as out:
        out.truncate(1 << 40)
    assert check(str(name)) == (1, "evlbd: %s: is larger than 16 MB\n" % name)


def test_mistake_in_an_included_file(tmp_path):
    """The message names the file and the line in it."""
    part, name = tmp_path / "part.inc", tmp_path / "evlb.conf"
    part.write_text(read(GOOD).replace("id = 0;", "id = 222;"))
    name.write_text("# Another file has it all.\n@include \"%s\"\n" % part)
    line = read(part).splitlines().index("        id = 222;") + 1
    assert check(str(name)) == (
        1, "evlbd: %s:%d: instances[0].id: must be a number from 0 to 221\n"
        % (part, line))


def test_includes_without_end(tmp_path):
    """Files that include each other, several times."""
    first, second = tmp_path / "first.conf", tmp_path / "second.conf"
    first.write_text("@include \"%s\"\n" % second * 50)
    second.write_text("@include \"%s\"\n" % first * 50)
    status, error = check(str(first))
    assert status == 1
    assert ":1: more than 10 files include each other" in error


def test_included_fifo(tmp_path):
    fifo, name = tmp_path / "fifo", tmp_path / "evlb.conf"
    os.mkfifo(fifo)
    name.write_text("@include \"%s\"\n" % fifo)
    assert check(str(name)) == (
        1, "evlbd: %s:1: \"%s\" is no regular file\n" % (name, fifo))


# ---------------------------------------------------------------------------
# In service.


def test_reloads_are_refused(start, tmp_path):
    """evlbd in service refuses each of the mistakes with the same words, and
    lives on.  What it says of all of them is more than a pipe holds."""
    log = tmp_path / "log"
    with open(log, "wb") as stream:
        evlbd = start(stderr=stream)
    for name in FILES:
        with open(evlbd.config, "w", encoding="utf-8") as out:
            out.write(read(name).replace(os.path.relpath(name, TOP),
                                         evlbd.config))
        evlbd.popen.send_signal(signal.SIGHUP)
        evlbd.manager.wait_for("^READY=1$")
    evlbd.reload("")
    evlbd.end()
    errors = re.findall("reload refused, nothing is changed: .*?:[0-9]+: (.*)",
                        read(log))
    assert errors == [expected(name)[1] for name in FILES]
