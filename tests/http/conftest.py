# SPDX-License-Identifier: Apache-2.0
"""Fixtures: see served.py."""

import pytest

from served import Served, compile_protos


@pytest.fixture(name="pb", scope="session")
def fixture_pb(tmp_path_factory):
    return compile_protos(tmp_path_factory.mktemp("protos"))


@pytest.fixture(name="start")
def fixture_start(tmp_path, pb):
    """Starts evlbds, each of which has to end well."""
    running = []

    def start(*args, **kwargs):
        directory = tmp_path / str(len(running))
        directory.mkdir()
        running.append(Served(directory, *args, **kwargs))
        running[-1].token = running[-1].make_token(pb)
        return running[-1]

    yield start
    for served in running:
        served.end()


@pytest.fixture(name="evlbd", scope="module")
def fixture_evlbd(tmp_path_factory, pb):
    """An evlbd for a whole file of tests."""
    served = Served(tmp_path_factory.mktemp("evlbd"))
    served.token = served.make_token(pb)
    yield served
    served.end()
