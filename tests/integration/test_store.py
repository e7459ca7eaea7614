# SPDX-License-Identifier: Apache-2.0

"""The store in a process of its own (tests/store/store-writer.c) that is
killed, or whose disk is full, cannot be written, or is gone."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
WRITER = os.path.join(TOP, "build/san/bin/store-writer")
KEPT = 5


class Writer:
    """A store-writer, from when it is ready on."""

    def __init__(self, name, *args):
        # pylint: disable=consider-using-with
        self.popen = subprocess.Popen(
            [WRITER, str(name), *map(str, args)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.records = {}
        for line in self.popen.stdout:
            words = line.split()
            if words[0] == "ready":
                return
            assert words[0] == "record"
            self.records[words[1]] = (int(words[2]), int(words[3]))
        raise RuntimeError(self.popen.stderr.read())

    def say(self, line):
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()

    def put(self, number, length=100):
        """Stores 'number'; returns an error or None."""
        self.say("put %d %d" % (number, length))
        word, answered, *error = self.popen.stdout.readline().split(None, 2)
        assert int(answered) == number
        assert (word == "failed") == bool(error)
        return error[0].strip() if error else None

    def history(self, rows):
        """Appends 'rows' rows; returns how many were written and dropped."""
        self.say("history %d" % rows)
        word, *numbers = self.popen.stdout.readline().split()
        assert word == "history"
        return [int(number) for number in numbers]

    def rest(self):
        """Returns what it still says until it ends, and its status."""
        self.popen.stdin.close()
        out, err = self.popen.stdout.read(), self.popen.stderr.read()
        assert err == ""
        return out, self.popen.wait(60)

    def end(self):
        """Lets it end in peace; returns what it still said."""
        out, status = self.rest()
        assert status == 0
        return out

    def kill(self):
        """Kills it.  Returns the numbers that it said were done."""
        self.popen.kill()
        out, status = self.rest()
        assert status == -signal.SIGKILL
        lines = out.split("\n")[:-1]    # Perhaps a line was cut off.
        lines = [line for line in lines if not line.startswith("history ")]
        assert all(line.startswith("done ") for line in lines)
        return [int(line.split()[1]) for line in lines]


def whole(records, length=100):
    """Checks that 'records' are those of the transactions up to some number,
    and of none in part; returns that number."""
    if not records:
        return 0
    last = records["last"][1]
    numbers = range(max(last - KEPT + 1, 1), last + 1)
    assert records == {
        "last": (length, last),
        **{"session/%d" % n: (length, n) for n in numbers},
        **{"token/%d" % n: (length, n) for n in numbers}}
    return last


def test_killed(tmp_path):
    """Whatever was said to be done is there after SIGKILL, and what was not is
    there as a whole, or not at all."""
    name = tmp_path / "evlb.db"
    rng = random.Random(20)
    n_done = n_beyond = last = 0
    for _ in range(50):
        writer = Writer(name, last + 1)
        assert whole(writer.records) == last
        if rng.random() < 0.5:
            writer.say("history 5000")
        time.sleep(rng.random() * 0.08)
        done = writer.kill()
        assert done == list(range(last + 1, last + 1 + len(done)))
        again = Writer(name)
        last = whole(again.records)
        assert last >= (done[-1] if done else 0)
        n_done += len(done)
        n_beyond += last - (done[-1] if done else 0)
        again.end()
    # The kills came while it was writing.
    assert n_done > 500
    assert n_beyond > 0


def test_killed_while_it_starts(tmp_path):
    """A migration that is killed leaves a file in one format or the other."""
    name = tmp_path / "evlb.db"
    rng = random.Random(3)
    for _ in range(20):
        shutil.copy(os.path.join(TOP, "tests/store/v1.db"), name)
        with subprocess.Popen([WRITER, name], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as popen:
            time.sleep(rng.random() * 0.06)
            popen.kill()
        shown = subprocess.run([WRITER, name], input="", timeout=60,
                               stdout=subprocess.PIPE, text=True, check=True)
        assert [line.split()[1] for line in shown.stdout.splitlines()[:-1]] \
            == ["instance/0", "instance/12"]
        os.unlink(name)


# ---------------------------------------------------------------------------
# Disks.  These tests run themselves once more, in a mount namespace.


def in_mounts(function):
    """Has the test 'function' run where it may mount what it likes."""
    name = function.__name__

    def test(tmp_path):
        done = subprocess.run(
            ["timeout", "-s", "KILL", "100", "unshare", "-m",
             sys.executable, "-B", __file__, name, str(tmp_path)],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)
        assert done.returncode == 0, done.stdout
    test.__doc__ = function.__doc__
    test.inner = function
    return test


def mount(*args):
    subprocess.run(["mount", *args], check=True)


def free(directory):
    stat = os.statvfs(directory)
    return stat.f_bavail * stat.f_frsize


@in_mounts
def test_disk_full(directory):
    """A full disk refuses changes, loses none, and takes them again when there
    is room."""
    mount("-t", "tmpfs", "-o", "size=2m", "tmpfs", directory)
    name, ballast = directory + "/evlb.db", directory + "/ballast"
    writer = Writer(name)
    assert writer.put(1) is None
    with open(ballast, "wb") as out:
        out.write(bytes(free(directory) - 400000))
    n = 2
    while (error := writer.put(n, 20000)) is None:
        n += 1
        assert n < 100
    assert error == ("state_file: %s: database or disk is full; make room "
                     "there, and the next change will be stored" % name)
    assert writer.put(n, 20000) is not None
    assert writer.put(n, 20000) is not None

    os.unlink(ballast)
    assert writer.put(n, 20000) is None
    with open(ballast, "wb") as out:
        out.write(bytes(free(directory)))
    assert writer.put(n + 1, 200000) is not None
    writer.kill()
    os.unlink(ballast)
    again = Writer(name)
    assert again.records["last"] == (20000, n)
    assert "session/%d" % (n + 1) not in again.records
    assert again.records["token/%d" % n] == (20000, n)
    assert again.put(n + 1) is None
    again.end()


@in_mounts
def test_disk_full_of_history(directory):
    """History leaves room for changes, however much of it comes, and goes on
    when there is more room."""
    mount("-t", "tmpfs", "-o", "size=64m", "tmpfs", directory)
    name, ballast = directory + "/evlb.db", directory + "/ballast"
    writer = Writer(name)
    with open(ballast, "wb") as out:
        out.write(bytes(48 << 20))
    while not (counts := writer.history(5000))[1]:
        assert counts[0] < 1000000
    assert counts[0] > 20000
    assert writer.history(5000)[0] == counts[0]
    assert free(directory) > 3 << 20
    assert all(writer.put(n) is None for n in range(1, 20))
    assert writer.end() == ""
    again = Writer(name)
    assert whole(again.records) == 19
    os.unlink(ballast)
    assert again.history(5000) == [5000, 0]
    assert again.put(20) is None
    again.end()


@in_mounts
def test_read_only(directory):
    """A file, or a disk, that cannot be written is refused at the start."""
    name = directory + "/evlb.db"
    writer = Writer(name)
    assert writer.put(1) is None
    writer.end()
    mount("--bind", directory, directory)
    mount("-o", "remount,bind,ro", directory)
    with pytest.raises(RuntimeError,
                       match="evlb.db: cannot be written; evlbd must be "
                       "allowed to write it and its directory"):
        Writer(name)
    with pytest.raises(RuntimeError, match="unable to open database file; "
                       "its directory must exist, and evlbd must be allowed"):
        Writer(directory + "/other.db")
    subprocess.run(["umount", directory], check=True)
    again = Writer(name)
    assert again.records["last"] == (100, 1)
    again.end()


def test_directory_deleted(tmp_path):
    """What is written to files that nobody will find is not done."""
    name = tmp_path / "state" / "evlb.db"
    name.parent.mkdir()
    writer = Writer(name)
    assert writer.put(1) is None
    shutil.rmtree(name.parent)
    error = ("state_file: %s: somebody has removed or replaced it or its "
             "\"-wal\"; put them back, or restart evlbd" % name)
    assert writer.put(2) == error
    name.parent.mkdir()
    assert writer.put(3) == error
    writer.end()
    again = Writer(name)
    assert again.records == {}
    assert again.put(4) is None
    again.end()


if __name__ == "__main__":
    globals()[sys.argv[1]].inner(sys.argv[2])
