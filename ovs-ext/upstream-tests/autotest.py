# SPDX-License-Identifier: Apache-2.0
"""Reads what an Autotest test suite says about its tests.

Numbers of tests shift when tests are added, so a test is known here by the
file that holds it, its title, and which one it is among those of the same
title in that file (some share a title): its "identity".
"""

import collections
import os
import re

BASELINE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "baseline.txt")

Identity = collections.namedtuple("Identity", "file title nth")

OK = "ok"
FAILED = "FAILED"
SKIPPED = "skipped"
XFAIL = "xfail"
# In a baseline: passed once and failed once, on the very same tree.
FLAKY = "flaky"

# The words of the suite for the results above.
RESULTS = {
    "ok": OK,
    "FAILED": FAILED,
    "skipped": SKIPPED,
    "expected failure": XFAIL,
    "unexpected pass": FAILED,
}
RESULT_RE = "|".join(RESULTS)


def number_identities(tests):
    """'tests' are (number, file, title); returns number -> Identity."""
    seen = collections.Counter()
    identities = {}
    for number, file, title in sorted(tests):
        seen[file, title] += 1
        identities[number] = Identity(file, title, seen[file, title])
    return identities


def parse_list(text):
    """Parses the output of "testsuite --list"; returns number -> Identity."""
    tests = []
    for line in text.splitlines():
        m = re.match(r"\s*(\d+): (\S+\.at):\d+\s+(.*\S)\s*$", line)
        if m:
            tests.append((int(m.group(1)), m.group(2), m.group(3)))
    if not tests:
        raise ValueError("the list of tests is empty")
    return number_identities(tests)


def parse_result(line):
    """Parses a line that a running suite prints when a test has ended.
    Returns (number, result), or None if 'line' is something else."""
    m = re.match(r"\s*(\d+): .*\s(%s)(?: \(\S+\))?\s*$" % RESULT_RE, line)
    return (int(m.group(1)), RESULTS[m.group(2)]) if m else None


def parse_log(text):
    """Parses testsuite.log; returns number -> result."""
    results = {}
    for line in text.splitlines():
        m = re.match(r"(\d+)\. .* \(\S+\.at:\d+\): (%s)\b" % RESULT_RE, line)
        if m:
            results[int(m.group(1))] = RESULTS[m.group(2)]
    return results


def read_baseline(name):
    """Reads a file that write_baseline() wrote.  Returns Identity -> result
    and the dictionary of what the header says."""
    tests = []
    results = {}
    header = {}
    with open(name) as stream:
        for n, line in enumerate(stream, 1):
            m = re.match(r"# ([\w ]+): (.*)$", line)
            if m:
                header[m.group(1)] = m.group(2)
            if line.startswith("#") or not line.strip():
                continue
            m = re.match(r"\s*(\d+) (ok|FAILED|skipped|xfail|flaky) +"
                         r"(\S+) (.*)$", line)
            if not m:
                raise ValueError("%s:%d: not a line of a baseline" % (name, n))
            number = int(m.group(1))
            tests.append((number, m.group(3), m.group(4)))
            results[number] = m.group(2)
    identities = number_identities(tests)
    return {identities[n]: results[n] for n in identities}, header


def write_baseline(stream, identities, results, header):
    """Writes one line for each test in 'results' (number -> result)."""
    for key, value in header.items():
        stream.write("# %s: %s\n" % (key, value))
    for number in sorted(results):
        test = identities[number]
        stream.write("%4d %-7s %s %s\n" % (number, results[number],
                                           test.file, test.title))


def merge_results(logs):
    """Merges what several logs of the same suite say (each number -> result):
    a test about which they differ is flaky."""
    merged = {}
    for log in logs:
        for number, result in log.items():
            if merged.setdefault(number, result) != result:
                merged[number] = FLAKY
    return merged


def judge(identity, result, baseline):
    """Says whether 'result' (None: the test was not run or does not exist)
    is worse than 'baseline' (Identity -> result) has it: returns None if all
    is well, and what is wrong otherwise."""
    before = baseline.get(identity)
    if before is None:
        return "new test fails" if result == FAILED else None
    if result is None and before in (OK, FLAKY):
        return "passes in the baseline, has vanished"
    if before != OK:
        return None
    if result == FAILED:
        return "passes in the baseline, fails now"
    if result == SKIPPED:
        return "passes in the baseline, is skipped now"
    return None


def read_patterns(name):
    """Reads a list of patterns, "FILE.at REGEX" a line, where the regular
    expression has to match somewhere in the title (none: any title)."""
    patterns = []
    with open(name) as stream:
        for n, line in enumerate(stream, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            file, _, regex = line.partition(" ")
            if not file.endswith(".at"):
                raise ValueError("%s:%d: '%s' is not a file of tests"
                                 % (name, n, file))
            patterns.append((file, re.compile(regex.strip())))
    return patterns


def select(identities, patterns):
    """Returns the set of those identities that a pattern matches."""
    return {i for i in identities
            if any(i.file == file and regex.search(i.title)
                   for file, regex in patterns)}


def unmatched(identities, patterns):
    """Returns the patterns that match none of 'identities'."""
    return ["%s %s" % (file, regex.pattern) for file, regex in patterns
            if not any(i.file == file and regex.search(i.title)
                       for i in identities)]
