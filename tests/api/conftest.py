# SPDX-License-Identifier: Apache-2.0

"""evlbd for each test, or one for those of a module that leave it as it was."""

import pytest

from evlbd import Evlbd


@pytest.fixture
def start(tmp_path):
    """Returns a function that starts evlbd with settings of its own."""
    running = []

    def start_one(**more):
        directory = tmp_path / str(len(running))
        directory.mkdir()
        running.append(Evlbd(directory, **more))
        return running[-1]
    yield start_one
    for evlbd in running:
        evlbd.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """An evlbd that the tests of a module share."""
    evlbd = Evlbd(tmp_path_factory.mktemp("evlbd"))
    yield evlbd
    code = evlbd.process.poll()
    evlbd.close()
    assert code is None, evlbd.log()


@pytest.fixture(scope="module")
def channel(shared):
    """A connection of the root to the shared evlbd."""
    return shared.client()


def free_all(client):
    """Frees what is reserved, and revokes what tokens were made."""
    for overview in client.Overview().loadBalancers:
        client.FreeLoadBalancer(lbId=overview.reservation.lbId)
    for token in client.ListChildTokens().tokens:
        client.RevokeToken(target={"id": token.id})


@pytest.fixture
def root(channel):
    """A client with the root token, and nothing reserved."""
    free_all(channel)
    yield channel
    free_all(channel)
