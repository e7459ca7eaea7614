# SPDX-License-Identifier: Apache-2.0
"""The runner of unit tests: programs that die or stop early are failures."""

import subprocess

import pytest


def run(tmp_path, script):
    program = tmp_path / "test-x"
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    done = subprocess.run(["tests/run-units", str(program)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    results = [line for line in done.stdout.splitlines()
               if line.startswith(("ok", "not ok"))]
    return done.returncode, results


def test_passes(tmp_path):
    assert run(tmp_path, "echo 1..2; echo ok 1 - a; echo ok 2 - b") == (
        0, ["ok - test-x: a", "ok - test-x: b"])


def test_fails(tmp_path):
    script = "echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1"
    assert run(tmp_path, script) == (
        1, ["ok - test-x: a", "not ok - test-x: b"])


def test_skips(tmp_path):
    script = "echo 1..2; echo ok 1 - a; echo 'not ok 2 # SKIP b'"
    assert run(tmp_path, script) == (
        0, ["ok - test-x: a", "not ok - test-x: # SKIP b"])


@pytest.mark.parametrize("script", [
    "echo 1..2; echo ok 1 - a; kill -ABRT $$",    # Dies in its second test.
    "echo 1..2; echo ok 1 - a",                   # Leaves without it.
    "echo 1..1; echo ok 1 - a; exit 1",           # A leak, found at exit.
    "true",                                       # Has no tests.
])
def test_counts_what_did_not_run(tmp_path, script):
    status, results = run(tmp_path, script)
    assert status == 1
    assert results[-1].startswith("not ok - test-x: ")
