# SPDX-License-Identifier: Apache-2.0

"""Requests that no client library sends."""

import pytest

from evlbd import METHODS, TIMEOUT, Evlbd, refused


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    evlbd = Evlbd(tmp_path_factory.mktemp("evlbd"))
    yield evlbd.client()
    assert evlbd.process.poll() is None, evlbd.log()
    evlbd.close()


def call(root, name, data):
    path, _, reply = METHODS[name]
    return root.channel.unary_unary(path, lambda b: b, reply.FromString)(
        data, metadata=root.metadata(), timeout=TIMEOUT)


@pytest.mark.parametrize("name", ["ReserveLoadBalancer", "CreateToken"])
def test_field_zero(root, name):
    """A field with number 0, in more bytes than it takes, was once the end of
    evlbd: it was read, but not again when it had been copied."""
    with refused("INVALID_ARGUMENT", "malformed"):
        call(root, name, b"\x80\x00\x00")


def test_unknown_fields(root):
    """Fields that we do not know are those of a newer client."""
    reply = call(root, "ReserveLoadBalancer", b"\xf8\x07\x01\x12\x01a")
    assert root.GetLoadBalancer(lbId=reply.lbId).lbId == reply.lbId
    assert root.Overview().loadBalancers[0].name == "a"


def test_twice(root):
    """The last one of a field counts."""
    call(root, "ReserveLoadBalancer", b"\x12\x01x\x12\x01b")
    assert [o.name for o in root.Overview().loadBalancers] == ["a", "b"]
