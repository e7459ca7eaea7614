# SPDX-License-Identifier: Apache-2.0

"""Who may do what: tokens, what they allow, their tree."""

import os
import re

import grpc
import pytest

import ejfat
from evlbd import METHODS, ROOT, TIMEOUT, add_workers, from_now, refused

UNKNOWN = "0123456789abcdef" * 2
MALFORMED = ["", "Bearer", "Bearer ", "Bearer " + UNKNOWN[1:],
             "Bearer " + UNKNOWN + "0", "Bearer " + UNKNOWN[1:] + "g",
             "Bearer  " + UNKNOWN[1:], "Basic " + UNKNOWN, UNKNOWN]

RESOURCES = {"ALL": 0, "LOAD_BALANCER": 1, "RESERVATION": 2, "SESSION": 3}
RIGHTS = {"READ_ONLY": 0, "REGISTER": 1, "RESERVE": 2, "UPDATE": 3}
IMPLIED = {"READ_ONLY": {"READ_ONLY"},
           "REGISTER": {"REGISTER", "READ_ONLY"},
           "RESERVE": {"RESERVE", "READ_ONLY"},
           "UPDATE": set(RIGHTS)}

# What calls that are about a reservation or a session need.
NEEDED = {
    "GetLoadBalancer": ("RESERVATION", "READ_ONLY"),
    "LoadBalancerStatus": ("RESERVATION", "READ_ONLY"),
    "GetChainGraph": ("RESERVATION", "READ_ONLY"),
    "FreeLoadBalancer": ("RESERVATION", "UPDATE"),
    "AddSenders": ("RESERVATION", "UPDATE"),
    "RemoveSenders": ("RESERVATION", "UPDATE"),
    "ResetLoadBalancer": ("RESERVATION", "UPDATE"),
    "ExtendReservation": ("RESERVATION", "UPDATE"),
    "SetSlotDemands": ("RESERVATION", "UPDATE"),
    "ChainLoadBalancer": ("RESERVATION", "UPDATE"),
    "UnchainLoadBalancer": ("RESERVATION", "UPDATE"),
    "Register": ("RESERVATION", "REGISTER"),
    "Deregister": ("SESSION", "UPDATE"),
    "SendState": ("SESSION", "UPDATE"),
}


def permit(resource, right, number=""):
    """Returns a permission as a message."""
    return {"resourceType": RESOURCES[resource], "permission": RIGHTS[right],
            "resourceId": str(number)}


def create(client, *permissions, name="child"):
    """Makes a token; returns a client that has it."""
    reply = client.CreateToken(name=name, permissions=permissions)
    assert re.fullmatch("[0-9a-f]{32}", reply.token)
    return client.with_token(reply.token)


def get_id(client):
    return client.ListTokenPermissions(target={"id": 0}).token.id


# ---------------------------------------------------------------------------
# Who calls.


@pytest.mark.parametrize("method", METHODS)
def test_no_token(root, method):
    with refused("UNAUTHENTICATED", "authorization"):
        getattr(root.with_token(None), method)()


@pytest.mark.parametrize("method", METHODS)
def test_unknown_token(root, method):
    with refused("PERMISSION_DENIED", "token"):
        getattr(root.with_token(UNKNOWN), method)()


@pytest.mark.parametrize("value", MALFORMED)
def test_malformed_token(root, value):
    for method in ("Version", "ReserveLoadBalancer", "SendState"):
        call = root.get_call(method)
        with refused("INVALID_ARGUMENT"):
            call(METHODS[method][1](), metadata=[("authorization", value)],
                 timeout=TIMEOUT)


def test_scheme_in_any_case(root):
    """HTTP's schemes are the same in small letters and in capitals."""
    reply = root.get_call("Version")(
        METHODS["Version"][1](), timeout=TIMEOUT,
        metadata=[("authorization", "bearer " + ROOT)])
    assert reply.compatTag


# ---------------------------------------------------------------------------
# What a token allows.


class World:
    """Two reservations with a worker each, and what calls say of the first."""

    def __init__(self, root):
        self.root = root
        self.reservations = []
        self.sessions = []
        self.build()

    def build(self):
        self.clear()
        for _ in range(2):
            lb_id = self.root.ReserveLoadBalancer(name="r").lbId
            self.reservations.append(lb_id)
            self.sessions.append(add_workers(self.root, lb_id, 1)[0][1])

    def clear(self):
        for overview in self.root.Overview().loadBalancers:
            self.root.FreeLoadBalancer(lbId=overview.reservation.lbId)
        self.reservations, self.sessions = [], []

    def is_there(self):
        """Are the first reservation and its worker still there?"""
        return any(str(w.sessionId) == self.sessions[0]
                   for o in self.root.Overview().loadBalancers
                   for w in o.status.workers)

    def get_resources(self):
        """Returns resources, and whether each has the first reservation in
        it, and the first session."""
        return [("ALL", "", True, True),
                ("LOAD_BALANCER", 0, True, True),
                ("LOAD_BALANCER", 1, False, False),
                ("RESERVATION", self.reservations[0], True, True),
                ("RESERVATION", self.reservations[1], False, False),
                ("SESSION", self.sessions[0], False, True),
                ("SESSION", self.sessions[1], False, False)]

    def get_fields(self, method):
        fields = {"lbId": self.reservations[0]}
        if NEEDED[method][0] == "SESSION":
            fields["sessionId"] = self.sessions[0]
        if method == "Register":
            fields.update(ipAddress="10.0.0.9", udpPort=1)
        if method == "ExtendReservation":
            fields["until"] = from_now(1000)
        return fields


@pytest.fixture(scope="module")
def world(channel):
    world = World(channel)
    yield world
    world.clear()


@pytest.mark.parametrize("right", RIGHTS)
@pytest.mark.parametrize("method", NEEDED)
def test_rights(world, method, right):
    """Each right on each resource: is the call let in, or refused?  One that is
    let in may fail for another reason."""
    subject, needed = NEEDED[method]
    for i in range(7):
        if not world.is_there():
            world.build()
        resource, number, reservation, session = world.get_resources()[i]
        client = create(world.root, permit(resource, right, number))
        inside = session if subject == "SESSION" else reservation
        try:
            getattr(client, method)(**world.get_fields(method))
            allowed = True
        except grpc.RpcError as error:
            assert error.code().name not in ("UNIMPLEMENTED", "NOT_FOUND",
                                             "UNAUTHENTICATED", "UNKNOWN")
            allowed = error.code().name != "PERMISSION_DENIED"
        assert allowed == (inside and needed in IMPLIED[right]), (
            resource, number)


@pytest.mark.parametrize("right", RIGHTS)
def test_reserving(root, right):
    """The first free instance that the token may reserve."""
    for number in (1, 0):
        client = create(root, permit("LOAD_BALANCER", right, number))
        if "RESERVE" in IMPLIED[right]:
            assert client.ReserveLoadBalancer().fpgaLbId == number
            with refused("RESOURCE_EXHAUSTED"):
                client.ReserveLoadBalancer()
        else:
            with refused("PERMISSION_DENIED", "RESERVE"):
                client.ReserveLoadBalancer()


def test_reserving_without_an_instance(root):
    """A right on a reservation is none on instances."""
    reply = root.ReserveLoadBalancer()
    with refused("PERMISSION_DENIED"):
        root.with_token(reply.token).ReserveLoadBalancer()


@pytest.mark.parametrize("right", RIGHTS)
def test_any_token_will_do(root, right):
    """Version and Overview take every token; the latter shows what that may
    read."""
    reply = root.ReserveLoadBalancer(name="shown")
    root.ReserveLoadBalancer(name="hidden")
    (_, session), = add_workers(root, reply.lbId, 1)
    for permission, names in (
            (permit("ALL", right), ["shown", "hidden"]),
            (permit("RESERVATION", right, reply.lbId), ["shown"]),
            (permit("LOAD_BALANCER", right, 1), ["hidden"]),
            (permit("SESSION", right, session), [])):
        client = create(root, permission)
        assert client.Version().compatTag == "0.3.1"
        assert [o.name for o in client.Overview().loadBalancers] == names


def test_tokens_that_calls_return(root):
    """A reservation's token is UPDATE on it, a worker's on its session."""
    reply = root.ReserveLoadBalancer(name="r")
    worker = add_workers(root.with_token(reply.token), reply.lbId, 1)[0]
    for client, permission in (
            (root.with_token(reply.token),
             permit("RESERVATION", "UPDATE", reply.lbId)),
            (worker[0], permit("SESSION", "UPDATE", worker[1]))):
        permissions = client.ListTokenPermissions().token.permissions
        assert [(p.resourceType, p.resourceId, p.permission)
                for p in permissions] == [
                    (permission["resourceType"], permission["resourceId"],
                     permission["permission"])]


# ---------------------------------------------------------------------------
# The tree.


def test_child_within_parent(root):
    """A token gives away what it holds itself, and nothing else."""
    reply = root.ReserveLoadBalancer()
    other = root.ReserveLoadBalancer()
    (_, session), = add_workers(root, reply.lbId, 1)
    (_, foreign), = add_workers(root, other.lbId, 1)
    client = root.with_token(reply.token)
    for right in RIGHTS:
        create(client, permit("RESERVATION", right, reply.lbId))
        create(client, permit("SESSION", right, session))
        for beyond in (permit("ALL", right), permit("LOAD_BALANCER", right, 0),
                       permit("RESERVATION", right, other.lbId),
                       permit("SESSION", right, foreign)):
            with refused("PERMISSION_DENIED", "permissions[0]"):
                create(client, beyond)
            with refused("PERMISSION_DENIED", "permissions[1]"):
                create(client, permit("SESSION", right, session), beyond)


@pytest.mark.parametrize("held", RIGHTS)
def test_child_with_weaker_right(root, held):
    client = create(root, permit("LOAD_BALANCER", held, 0))
    for right in RIGHTS:
        if right in IMPLIED[held]:
            create(client, permit("LOAD_BALANCER", right, 0))
        else:
            with refused("PERMISSION_DENIED", "permissions[0]"):
                create(client, permit("LOAD_BALANCER", right, 0))


@pytest.mark.parametrize("permissions, field", [
    ([], "permissions"),
    ([permit("LOAD_BALANCER", "UPDATE", "x")], "permissions[0].resourceId"),
    ([permit("LOAD_BALANCER", "UPDATE", -1)], "permissions[0].resourceId"),
    ([permit("RESERVATION", "UPDATE")], "permissions[0].resourceId"),
    ([permit("ALL", "UPDATE", "1")], "permissions[0].resourceId"),
    ([permit("ALL", "UPDATE")] * 2 + [{"resourceType": 4}], "permissions[2]"),
    ([{"permission": 4}], "permissions[0]"),
    ([permit("ALL", "READ_ONLY")] * 1000, "permissions")])
def test_bad_permissions(root, permissions, field):
    with refused("INVALID_ARGUMENT", field):
        root.CreateToken(name="x", permissions=permissions)


def test_bad_name(root):
    with refused("INVALID_ARGUMENT", "name"):
        root.CreateToken(name="-x", permissions=[permit("ALL", "UPDATE")])


def test_details(root):
    """What a token is told to be is what it says it is."""
    permissions = [permit("LOAD_BALANCER", "RESERVE", 0),
                   permit("ALL", "READ_ONLY")]
    client = create(root, *permissions, name="two.rights")
    token = client.ListTokenPermissions(target={"id": 0}).token
    assert token.name == "two.rights"
    assert [(p.resourceType, p.permission, p.resourceId)
            for p in token.permissions] == [
                (p["resourceType"], p["permission"], p["resourceId"])
                for p in permissions]
    assert re.match(r"\d{4}-\d\d-\d\d", token.created_at)
    assert token.id > 0
    for target in ({"id": token.id}, {"token": client.token}):
        assert root.ListTokenPermissions(target=target).token == token


def test_children(root):
    parent = create(root, permit("ALL", "READ_ONLY"), name="parent")
    names = ["a", "b", "c"]
    children = [create(parent, permit("ALL", "READ_ONLY"), name=n)
                for n in names]
    create(children[0], permit("ALL", "READ_ONLY"), name="grandchild")
    for listing in (parent.ListChildTokens(target={"id": 0}),
                    root.ListChildTokens(target={"token": parent.token})):
        assert [t.name for t in listing.tokens] == names
    assert not children[1].ListChildTokens().tokens


def test_whom_token_calls_are_about(root):
    """About oneself, those below, or, with UPDATE on ALL, anybody."""
    parent = create(root, permit("ALL", "READ_ONLY"))
    child = create(parent, permit("ALL", "READ_ONLY"))
    brother = create(root, permit("ALL", "RESERVE"))
    admin = create(root, permit("ALL", "UPDATE"))
    for call in ("ListTokenPermissions", "ListChildTokens"):
        for client in (parent, child, admin, root):
            for target in ({"id": get_id(child)}, {"token": child.token}):
                getattr(client, call)(target=target)
        for target in ({"id": get_id(child)}, {"token": child.token},
                       {"id": 1}, {"id": 4000000000}, {"token": UNKNOWN}):
            with refused("PERMISSION_DENIED", "target"):
                getattr(brother, call)(target=target)
        for target in ({"id": 4000000000}, {"token": UNKNOWN}):
            with refused("NOT_FOUND", "target"):
                getattr(admin, call)(target=target)
        with refused("INVALID_ARGUMENT"):
            getattr(admin, call)(target={"token": "x"})
    with refused("PERMISSION_DENIED", "target"):
        child.RevokeToken(target={"id": get_id(parent)})
    with refused("PERMISSION_DENIED", "target"):
        brother.RevokeToken(target={"token": child.token})
    admin.RevokeToken(target={"id": get_id(child)})
    with refused("PERMISSION_DENIED"):
        child.Version()


def test_revoking_cascades(root):
    line = [root]
    for _ in range(5):
        line.append(create(line[-1], permit("ALL", "UPDATE")))
    line[1].RevokeToken(target={"id": get_id(line[3])})
    for client in line[:3]:
        client.Version()
    for client in line[3:]:
        with refused("PERMISSION_DENIED"):
            client.Version()


def test_revoking_oneself(root):
    client = create(root, permit("ALL", "READ_ONLY"))
    client.RevokeToken(target={"id": 0})
    with refused("PERMISSION_DENIED"):
        client.Version()


def test_root_stays(root):
    for client in (root, create(root, permit("ALL", "UPDATE"))):
        with refused("FAILED_PRECONDITION", "root"):
            client.RevokeToken(target={"id": get_id(root)})
    root.Version()


def test_uri(root, shared):
    """A token's URI leads to where the call was made, and to the reservation or
    session if it is of one."""
    reply = root.ReserveLoadBalancer()
    (_, session), = add_workers(root, reply.lbId, 1)
    for permission, lb_id, session_id in (
            (permit("ALL", "READ_ONLY"), "", ""),
            (permit("RESERVATION", "REGISTER", reply.lbId), reply.lbId, ""),
            (permit("SESSION", "UPDATE", session), reply.lbId, session)):
        made = root.CreateToken(name="x", permissions=[permission])
        uri = ejfat.parse(made.ejfatUri)
        assert (uri.tls, uri.token) == (False, made.token)
        assert (uri.host, uri.port) == ("127.0.0.1", shared.port)
        assert (uri.lb_id, uri.session_id) == (lb_id, session_id)


def test_secrets_are_not_kept(root, shared):
    """Neither what is stored nor the log holds a token."""
    reply = root.ReserveLoadBalancer(name="visible-name")
    worker, = add_workers(root, reply.lbId, 1)
    secrets = [reply.token, worker[0].token,
               create(root, permit("ALL", "UPDATE")).token]
    files = [n for n in os.listdir(shared.directory) if n != "evlb.conf"
             and os.path.isfile(shared.file(n))]
    kept = b""
    for name in files:
        with open(shared.file(name), "rb") as data:
            kept += data.read()
    assert b"visible-name" in kept
    for secret in secrets:
        assert secret.encode() not in kept
        assert bytes.fromhex(secret) not in kept
