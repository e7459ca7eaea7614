# SPDX-License-Identifier: Apache-2.0

"""Doors that open and close while evlbd runs."""

import signal
import socket

import pytest

from evlbd import ROOT, free_port, wait_for


def reload(evlbd, port):
    """Has 'evlbd' listen at 'port' from now on."""
    before = evlbd.log().count("reload")
    evlbd.port = port
    evlbd.address = "127.0.0.1:%d" % port
    evlbd.write()
    evlbd.process.send_signal(signal.SIGHUP)
    wait_for(lambda: evlbd.log().count("reload") > before, "the reload")


def is_open(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def test_moved(start):
    """Who is connected stays so; others find the new door only."""
    evlbd = start()
    old, new = evlbd.port, free_port()
    client = evlbd.client(ROOT)
    client.Version()
    reload(evlbd, new)
    wait_for(lambda: not is_open(old), "the old door to be closed")
    assert client.Version().compatTag
    assert evlbd.client(ROOT).Version().compatTag


def test_refused(start):
    """A door that cannot be opened leaves all others as they are."""
    evlbd = start()
    old = evlbd.port
    client = evlbd.client(ROOT)
    client.Version()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        reload(evlbd, taken.getsockname()[1])
        assert "reload refused" in evlbd.log()
    assert is_open(old)
    assert client.Version().compatTag


@pytest.mark.parametrize("times", [50])
def test_back_and_forth(start, times):
    """Nothing is left over."""
    evlbd = start()
    ports = [evlbd.port, free_port()]
    for i in range(times):
        reload(evlbd, ports[(i + 1) % 2])
    assert is_open(ports[0]) and not is_open(ports[1])
    assert evlbd.client(ROOT).Version().compatTag
