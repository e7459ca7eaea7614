# SPDX-License-Identifier: Apache-2.0
"""The runner of "make check": what it counts, and what it lets fail."""

import subprocess
import sys

import pytest

RUNNER = "tests/run-checks"


def run(tmp_path, *suites):
    """Runs suites, given as (name, format, timeout, command)."""
    names = tmp_path / "suites"
    names.write_text("".join("\t".join(suite) + "\n" for suite in suites))
    done = subprocess.run([sys.executable, RUNNER, str(names), str(tmp_path)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    return done.returncode, done.stdout.splitlines()


TAP = r"printf 'ok 1 - a\nok 2 - b\n'"


def test_sums_suites(tmp_path):
    status, lines = run(
        tmp_path, ("a", "tap", "9", TAP),
        ("b", "pytest", "9", "echo '== 3 passed, 2 skipped in 0.12s =='"))
    assert status == 0
    assert lines[-1] == "5 passed, 0 failed, 2 skipped"


def test_last_line_without_skips(tmp_path):
    assert run(tmp_path, ("a", "tap", "9", TAP))[1][-1] == "2 passed, 0 failed"


@pytest.mark.parametrize("format, command, last", [
    # A failure in the middle, though the command says that all is well.
    ("tap", r"printf 'ok - a\nnot ok - b\nok - c\n'", "2 passed, 1 failed"),
    ("pytest", "echo '1 failed, 4 passed in 1.00s'", "4 passed, 1 failed"),
    # Errors outside of tests, and passes where failures are expected.
    ("pytest", "echo '2 passed, 1 error in 1.00s'", "2 passed, 1 failed"),
    ("pytest", "echo '2 passed, 3 xpassed in 1.00s'", "2 passed, 3 failed"),
    # All tests pass and the command fails nevertheless.
    ("tap", TAP + "; exit 3", "2 passed, 1 failed"),
    ("tap", TAP + "; kill -SEGV $$", "2 passed, 1 failed"),
    # Nothing was run.
    ("tap", "true", "0 passed, 1 failed"),
    ("pytest", "echo 'no tests ran in 0.01s'", "0 passed, 1 failed"),
    ("tap", "no-such-command", "0 passed, 1 failed"),
])
def test_failures(tmp_path, format, command, last):
    status, lines = run(tmp_path, ("a", format, "9", command))
    assert status == 1
    assert lines[-1] == last


def test_one_suite_fails_others_run(tmp_path):
    status, lines = run(tmp_path, ("a", "tap", "9", "exit 1"),
                        ("b", "tap", "9", TAP))
    assert status == 1
    assert lines[-1] == "2 passed, 1 failed"


def test_skip_is_no_failure(tmp_path):
    # The way in which cmocka says that a test was skipped.
    command = r"printf 'not ok 1 # SKIP a\nok 2 - b\n'"
    status, lines = run(tmp_path, ("a", "tap", "9", command))
    assert status == 0
    assert lines[-1] == "1 passed, 0 failed, 1 skipped"


def test_takes_too_long(tmp_path):
    status, lines = run(tmp_path, ("a", "tap", "1", TAP + "; sleep 60"))
    assert status == 1
    assert lines[-1] == "2 passed, 1 failed"
    assert any("took longer than 1 s" in line for line in lines)


def test_shows_the_end_of_a_failing_log(tmp_path):
    _, lines = run(tmp_path, ("a", "tap", "9", "echo why; echo not ok - b"))
    assert any(line.endswith("          why") for line in lines)


def test_no_suites(tmp_path):
    assert run(tmp_path)[0] != 0
