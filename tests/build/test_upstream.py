# SPDX-License-Identifier: Apache-2.0
"""Comparing a run of Open vSwitch's own tests with the baseline."""

import io
import os
import subprocess
import sys

import pytest

DIR = os.path.abspath("ovs-ext/upstream-tests")
sys.path.insert(0, DIR)

import autotest  # noqa: E402

LIST = """\
openvswitch 3.1.0 test suite test groups:

 NUM: FILE-NAME:LINE     TEST-GROUP-NAME
      KEYWORDS

   1: a.at:10            one
      key
   2: a.at:20            twin
      key
   3: a.at:30            twin
   4: b.at:5             two (with brackets)
      1: not a test
"""

LOG = """\
## openvswitch 3.1.0 test suite. ##
2. twin (a.at:20): ok     (0m0.113s 0m0.072s)
1. one (a.at:10): ok     (0m0.113s 0m0.072s)
#     -3.  a.at:30: this is a line of a test's log
3. a.at:30: 3. twin (a.at:30): FAILED (a.at:31)
4. two (with brackets) (b.at:5): skipped (b.at:6)
"""

TWIN1 = autotest.Identity("a.at", "twin", 1)
TWIN2 = autotest.Identity("a.at", "twin", 2)


def test_parse_list():
    tests = autotest.parse_list(LIST)
    assert tests == {1: ("a.at", "one", 1), 2: TWIN1, 3: TWIN2,
                     4: ("b.at", "two (with brackets)", 1)}


def test_empty_list_is_an_error():
    with pytest.raises(ValueError):
        autotest.parse_list("sh: testsuite: not found\n")


def test_parse_log():
    assert autotest.parse_log(LOG) == {1: "ok", 2: "ok", 3: "FAILED",
                                       4: "skipped"}


@pytest.mark.parametrize("line, result", [
    ("  1: one                       ok", (1, "ok")),
    (" 12: it is not ok              FAILED (x.at:7)", (12, "FAILED")),
    ("  3: x (OpenFlow 1.3) ok", (3, "ok")),
    ("  4: x                         skipped (x.at:7)", (4, "skipped")),
    ("  5: x                         expected failure (x.at:7)", (5, "xfail")),
    ("make[2]: Nothing to be done", None),
    ("  6: something goes on", None),
])
def test_parse_result(line, result):
    assert autotest.parse_result(line) == result


@pytest.fixture
def baseline(tmp_path, monkeypatch):
    name = str(tmp_path / "baseline.txt")
    with open(name, "w") as stream:
        autotest.write_baseline(stream, autotest.parse_list(LIST),
                                autotest.parse_log(LOG), {"Date": "today"})
    return name


def test_baseline_round_trip(baseline):
    results, header = autotest.read_baseline(baseline)
    assert header == {"Date": "today"}
    assert results[TWIN1] == "ok"
    assert results[TWIN2] == "FAILED"
    assert len(results) == 4


def test_baseline_with_a_broken_line(baseline):
    with open(baseline, "a") as stream:
        stream.write("5 maybe c.at three\n")
    with pytest.raises(ValueError, match="baseline.txt:6"):
        autotest.read_baseline(baseline)


@pytest.mark.parametrize("result, trouble", [
    ("ok", None), ("FAILED", "fails now"), (None, "vanished"),
    ("skipped", "skipped now")])
def test_judge_what_passed(baseline, result, trouble):
    judged = autotest.judge(TWIN1, result, autotest.read_baseline(baseline)[0])
    assert judged is None if trouble is None else trouble in judged


@pytest.mark.parametrize("result", ["ok", "FAILED", "skipped", None])
def test_judge_what_failed_before(baseline, result):
    assert autotest.judge(TWIN2, result,
                          autotest.read_baseline(baseline)[0]) is None


@pytest.mark.parametrize("result, good", [
    ("ok", True), ("FAILED", True), (None, False)])
def test_judge_what_is_flaky(result, good):
    assert (autotest.judge(TWIN1, result, {TWIN1: "flaky"}) is None) == good


def test_merge_results():
    assert autotest.merge_results([
        {1: "ok", 2: "FAILED", 3: "FAILED"}, {2: "ok", 3: "FAILED"},
        {2: "FAILED"}]) == {1: "ok", 2: "flaky", 3: "FAILED"}


def test_judge_new_test(baseline):
    new = autotest.Identity("a.at", "ours", 1)
    results = autotest.read_baseline(baseline)[0]
    assert autotest.judge(new, "ok", results) is None
    assert autotest.judge(new, "FAILED", results)


def test_patterns(tmp_path):
    name = str(tmp_path / "quick.txt")
    with open(name, "w") as stream:
        stream.write("# all\na.at tw.n  # both\n\nb.at\nc.at\n")
    patterns = autotest.read_patterns(name)
    tests = set(autotest.parse_list(LIST).values())
    assert autotest.select(tests, patterns) == {
        TWIN1, TWIN2, ("b.at", "two (with brackets)", 1)}
    assert autotest.unmatched(tests, patterns) == ["c.at "]


def compare(tmp_path, listing, log):
    """Runs a copy of the program with a baseline of its own."""
    for name in ("autotest.py", "compare"):
        with open(os.path.join(DIR, name)) as stream:
            (tmp_path / name).write_text(stream.read())
    (tmp_path / "list").write_text(listing)
    (tmp_path / "log").write_text(log)
    done = subprocess.run([sys.executable, "compare", "list", "log"],
                          cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout.splitlines()


def test_compare_same(tmp_path, baseline):
    assert compare(tmp_path, LIST, LOG) == (
        0, ["4 tests, 0 worse than the baseline"])


def test_compare_with_shifted_numbers(tmp_path, baseline):
    """A new test ahead of the others, and one that fails now."""
    listing = LIST.replace("   4:", "   5:").replace("   3:", "   4:")
    listing = listing.replace("   2:", "   3:").replace("   1:", "   2:")
    listing = listing.replace("   2: a", "   1: a.at:1             ours\n"
                                         "   2: a")
    log = LOG.replace("\n4.", "\n5.").replace("3. ", "4. ")
    log = log.replace("\n2.", "\n3.").replace("\n1.", "\n2.")
    log += "1. ours (a.at:1): ok     (0m0.113s 0m0.072s)\n"
    assert compare(tmp_path, listing, log)[0] == 0

    log = log.replace("2. one (a.at:10): ok", "2. one (a.at:10): FAILED")
    status, lines = compare(tmp_path, listing, log)
    assert status == 1
    assert lines == ["a.at: one (1): passes in the baseline, fails now",
                     "5 tests, 1 worse than the baseline"]


def test_compare_vanished(tmp_path, baseline):
    status, lines = compare(tmp_path, LIST,
                            LOG.replace("1. one (a.at:10): ok", ""))
    assert status == 1
    assert lines[0].endswith("passes in the baseline, has vanished")


def test_the_recorded_baseline():
    """The quick list names tests of the baseline, which holds the suite."""
    results, header = autotest.read_baseline(autotest.BASELINE)
    assert header["Open vSwitch"] == "3.1.0"
    assert len(results) > 2500
    patterns = autotest.read_patterns(os.path.join(DIR, "quick.txt"))
    assert autotest.unmatched(results, patterns) == []
    written = io.StringIO()
    autotest.write_baseline(written, {}, {}, header)
    assert written.getvalue().startswith("# Open vSwitch: 3.1.0\n")
