# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that run the patched Open vSwitch."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import netns  # noqa: E402  (found through the path above)
from switch import Switch, find_programs  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def private_namespace():
    """Nothing that these tests do is seen by the machine's own network."""
    netns.enter_private()


@pytest.fixture(scope="session")
def programs():
    """Directories that hold Open vSwitch's programs."""
    return find_programs()


@pytest.fixture(scope="module")
def ovs(programs, tmp_path_factory):
    """A switch on the dummy datapath with bridge br0, ports p1 to p4.

    At the end of the module it must still run, and must not have complained
    of anything that is a fault of its own."""
    switch = Switch(programs, tmp_path_factory.mktemp("ovs"))
    try:
        switch.start("--enable-dummy=override", "--disable-system")
        switch.add_dummy_bridge("br0", ["p1", "p2", "p3", "p4"])
        yield switch
        switch.check_health()
    finally:
        switch.stop()


@pytest.fixture
def br0(ovs):
    """The switch with no flows and no groups in br0."""
    ovs.clear("br0")
    return ovs
