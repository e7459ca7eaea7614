# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that let evlbd write the tables."""

import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "ovs"))

import netns  # noqa: E402
from switch import find_programs  # noqa: E402
from world import World  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def private_namespace():
    """Nothing that these tests do is seen by the machine's own network."""
    netns.enter_private()


def make_world(tmp_path_factory, l2_miss):
    world = World(find_programs(), tmp_path_factory.mktemp(l2_miss), l2_miss)
    try:
        world.start()
        yield world
        world.switch.check_health()
    finally:
        world.stop()


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A balancer that drops what is not for it, as the card does."""
    yield from make_world(tmp_path_factory, "drop")


@pytest.fixture(scope="session")
def bridge(tmp_path_factory):
    """A balancer on a bridge that carries other traffic too."""
    yield from make_world(tmp_path_factory, "normal")
