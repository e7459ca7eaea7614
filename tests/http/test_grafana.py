# SPDX-License-Identifier: Apache-2.0
"""Whatever names a metric, and whatever documents one, names one that there
is."""

import json
import os
import re

import pytest

from served import TOP

NAME = r"\b(?:evlb|udplbd|process)_[a-z0-9_]+"


def read(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as stream:
        return stream.read()


def dashboard():
    return json.loads(read("configs/grafana-dashboard.json"))


def targets():
    return [target for panel in dashboard()["panels"]
            for target in panel.get("targets", [])]


@pytest.fixture(name="families")
def fixture_families(evlbd):
    """Names of families, and their types."""
    return dict(re.findall("^# TYPE (\\S+) (\\S+)$",
                           evlbd.get("/metrics").text, re.MULTILINE))


def samples(families):
    """Names that samples have."""
    names = set()
    for name, kind in families.items():
        names |= ({name + "_" + suffix
                   for suffix in ("bucket", "sum", "count")}
                  if kind == "histogram" else {name})
    return names


def test_dashboard_names_what_there_is(families):
    there = samples(families)
    named = [name for target in targets()
             for name in re.findall(NAME, target["expr"])]
    assert len(set(named)) > 30
    assert set(named) - there == set()


def test_counters_are_rated(families):
    """A counter is only good for its rate, and a gauge is not."""
    for target in targets():
        for rate, name in re.findall(r"(rate\()?(%s)" % NAME, target["expr"]):
            family = re.sub("_bucket$", "", name)
            counts = families[family] in ("counter", "histogram")
            assert counts == bool(rate), target["expr"]


def test_expressions_are_balanced():
    for target in targets():
        for pair in ("()", "{}", "[]"):
            assert (target["expr"].count(pair[0])
                    == target["expr"].count(pair[1])), target["expr"]


def test_panels_do_not_overlap():
    taken = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(ids) == len(set(ids))


def test_labels_are_there(evlbd):
    """What legends name is a label of ours, as Prometheus has it when it takes
    our own "instance" for an exported one."""
    labels = set(re.findall(r'[{,]([a-z_]+)="', evlbd.get("/metrics").text))
    labels |= {"exported_instance", "name", "interface", "reason"}
    for target in targets():
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
            assert label in labels, target


def test_each_metric_is_documented(families):
    """docs/http.md lists each family, and nothing else."""
    documented = set(re.findall("`(%s)`" % NAME, read("docs/http.md")))
    assert set(families) - documented == set()
    assert documented - set(families) == set()


def test_the_page_names_what_there_is(families):
    there = samples(families)
    named = set(re.findall('"(%s)"' % NAME, read("web/index.html")))
    assert len(named) > 15
    assert named - there == set()
