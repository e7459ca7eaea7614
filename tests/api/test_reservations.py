# SPDX-License-Identifier: Apache-2.0

"""Reservations: reserve, get, extend, reset, free, and their senders."""

import ipaddress
import socket
import time

import pytest

import ejfat
from evlbd import (ROOT, add_workers, free_port, from_now, make_time, read_time, refused,
                   report, wait_for)

GOOD_NAMES = ["", "x", "0", "mylb", "my_node", "a-b_c:d/e", "a.b.c", "A" * 63,
              ".".join(["a" * 63] * 3 + ["b" * 61])]
BAD_NAMES = ["-", "_x", "x-", ".", ".x", "x.", "a..b", "a b", "a\nb", "A" * 64,
             ".".join(["a" * 63] * 3 + ["b" * 62]), "\u00fc", "a,b", "a.-b"]
BAD_SENDERS = ["", "x", "10.0.0", "10.0.0.1/32", "10.0.0.256", "0.0.0.0", "::",
               "224.0.0.1", "255.255.255.255", "ff02::1", "host.example",
               "[2001:db8::7]", "10.0.0.1:5", " 10.0.0.1", "fe80::1%eth0"]
BAD_IDS = ["", "x", "-1", "1x", " 1", "1 ", "0x1", "18446744073709551616"]
YEAR = 365 * 86400


# ---------------------------------------------------------------------------
# Reserving.


def test_reply(root, shared):
    """Every field."""
    reply = root.ReserveLoadBalancer(name="mylb", until=from_now(3600),
                                     senderAddresses=["10.0.0.1"])
    assert reply.lbId.isdecimal()
    assert len(reply.token) == 32
    assert reply.fpgaLbId == 0
    assert (reply.syncIpv4Address, reply.syncIpv6Address,
            reply.syncUdpPort) == ("127.0.0.1", "", shared.sync_ports[0])
    assert (reply.dataIpv4Address, reply.dataIpv6Address) == (
        "192.0.2.1", "2001:db8::1")
    assert (reply.dataMinPort, reply.dataMaxPort) == (16384, 32767)
    assert reply.strategy == "dynamic"
    uri = ejfat.parse(reply.ejfatUri)
    assert uri == ejfat.Uri(
        tls=False, token=reply.token, host="127.0.0.1", port=shared.port,
        lb_id=reply.lbId,
        sync=(ipaddress.ip_address("127.0.0.1"), shared.sync_ports[0]),
        data={4: (ipaddress.ip_address("192.0.2.1"), 16384),
              6: (ipaddress.ip_address("2001:db8::1"), 16384)})


def test_get(root):
    """The same without the token, for whoever may read."""
    reply = root.ReserveLoadBalancer(name="mylb", strategy="static")
    for client in (root, root.with_token(reply.token)):
        got = client.GetLoadBalancer(lbId=reply.lbId)
        assert got.token == ""
        assert ejfat.parse(got.ejfatUri).token == ""
        got.token = reply.token
        uri = got.ejfatUri
        got.ejfatUri = reply.ejfatUri
        assert got == reply
        assert uri == reply.ejfatUri.replace(reply.token + "@", "")


def test_first_free(root):
    """The first one that is free; none twice; freed ones come again."""
    first = root.ReserveLoadBalancer()
    second = root.ReserveLoadBalancer()
    assert (first.fpgaLbId, second.fpgaLbId) == (0, 1)
    with refused("RESOURCE_EXHAUSTED", "no instance is free"):
        root.ReserveLoadBalancer()
    root.FreeLoadBalancer(lbId=first.lbId)
    again = root.ReserveLoadBalancer()
    assert again.fpgaLbId == 0
    assert int(again.lbId) > int(second.lbId) > int(first.lbId)


def test_first_free_that_fits(start):
    """Instances that have no address of the family are passed over."""
    port = free_port(socket.SOCK_DGRAM)
    evlbd = start(instances=""",
        { name = "six"; id = 5; reservable = true;
          addresses = [ "2001:db8::5", "2001:db8::6" ];
          sync = "udp:[::1]:%d"; },
        { name = "four"; id = 6; reservable = true;
          addresses = [ "192.0.2.6" ]; udp_ports = [ 19522, 19522 ];
          sync = "udp:127.0.0.1:%d"; },
        { name = "not"; id = 7; addresses = [ "192.0.2.7" ];
          sources = [ "10.0.0.1" ]; }""" % (port, port))
    root = evlbd.client()
    for _ in range(2):
        root.ReserveLoadBalancer()
    reply = root.ReserveLoadBalancer(ipFamily="IPV4")
    assert reply.fpgaLbId == 6
    assert (reply.dataIpv4Address, reply.dataIpv6Address) == ("192.0.2.6", "")
    assert (reply.dataMinPort, reply.dataMaxPort) == (19522, 19522)
    ejfat.parse(reply.ejfatUri)
    with refused("RESOURCE_EXHAUSTED"):
        root.ReserveLoadBalancer(ipFamily="IPV4")
    reply = root.ReserveLoadBalancer(ipFamily="IPV6")
    assert reply.fpgaLbId == 5
    assert (reply.dataIpv4Address, reply.dataIpv6Address) == (
        "", "2001:db8::5")
    assert (reply.syncIpv4Address, reply.syncIpv6Address,
            reply.syncUdpPort) == ("", "::1", port)
    ejfat.parse(reply.ejfatUri)
    with refused("RESOURCE_EXHAUSTED"):
        root.ReserveLoadBalancer()


@pytest.mark.parametrize("family, four, six", [
    ("IPV4", "192.0.2.1", ""), ("IPV6", "", "2001:db8::1"),
    ("DUAL_STACK", "192.0.2.1", "2001:db8::1")])
def test_family(root, family, four, six):
    """Addresses of the family that was asked for, and its workers only."""
    reply = root.ReserveLoadBalancer(ipFamily=family)
    assert (reply.dataIpv4Address, reply.dataIpv6Address) == (four, six)
    for present, address in ((four, "10.0.0.1"), (six, "fd00::1")):
        if present:
            add_workers(root, reply.lbId, 1, ipAddress=address)
        else:
            with refused("INVALID_ARGUMENT", "ipAddress"):
                add_workers(root, reply.lbId, 1, ipAddress=address)


@pytest.mark.parametrize("fields, word", [
    ({"until": make_time(0)}, "until"),
    ({"until": make_time(1)}, "until"),
    ({"until": from_now(-1)}, "until"),
    ({"until": {"seconds": -1}}, "until"),
    ({"until": {"seconds": 2**62}}, "until"),
    ({"until": {"seconds": 4000000000, "nanos": -1}}, "until"),
    ({"until": {"seconds": 4000000000, "nanos": 10**9}}, "until"),
    ({"ipFamily": 3}, "ipFamily"),
    ({"ipFamily": -1}, "ipFamily"),
    ({"strategy": "Dynamic"}, "strategy"),
    ({"strategy": "x"}, "strategy"),
    *(({"senderAddresses": ["10.0.0.1", bad]}, "senderAddresses[1]")
      for bad in BAD_SENDERS),
    *(({"name": bad}, "name") for bad in BAD_NAMES)])
def test_refused(root, fields, word):
    """Nothing is reserved: there is nothing, and no token was made."""
    with refused("INVALID_ARGUMENT", word):
        root.ReserveLoadBalancer(**{"name": "x", **fields})
    assert not root.Overview().loadBalancers
    assert not root.ListChildTokens().tokens


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_name(root, name):
    root.ReserveLoadBalancer(name=name)
    assert [o.name for o in root.Overview().loadBalancers] == [name]


@pytest.mark.parametrize("strategy", ["dynamic", "static", "explicit"])
def test_strategy(root, strategy):
    reply = root.ReserveLoadBalancer(strategy=strategy)
    assert reply.strategy == strategy
    assert root.GetLoadBalancer(lbId=reply.lbId).strategy == strategy


@pytest.mark.parametrize("method", [
    "GetLoadBalancer", "LoadBalancerStatus", "FreeLoadBalancer", "AddSenders",
    "RemoveSenders", "ResetLoadBalancer", "ExtendReservation", "Register",
    "SetSlotDemands"])
def test_ids(root, method):
    """Numbers that are none, and those of nothing."""
    for bad in BAD_IDS:
        with refused("INVALID_ARGUMENT", "lbId"):
            getattr(root, method)(lbId=bad)
    for absent in ("0", "4000000000", "18446744073709551615"):
        with refused("NOT_FOUND", "lbId"):
            getattr(root, method)(lbId=absent)


def test_public_address(start):
    """A caller that cannot tell how others reach evlbd is told what the
    configuration says."""
    evlbd = start(api='root_token = "%s"; public_address = "cp.example:19523";'
                  % ROOT)
    direct = evlbd.client().ReserveLoadBalancer()
    assert ejfat.parse(direct.ejfatUri).host == "127.0.0.1"
    unix = evlbd.client(token=None, address="unix:" + evlbd.file("ctl.sock"))
    uri = ejfat.parse(unix.GetLoadBalancer(lbId=direct.lbId).ejfatUri)
    assert (uri.host, uri.port, uri.lb_id) == ("cp.example", 19523,
                                               direct.lbId)


# ---------------------------------------------------------------------------
# Until when.


def test_until(root):
    """Until when it was asked for, or for a year."""
    asked = from_now(5000)
    reply = root.ReserveLoadBalancer(until=asked)
    expires = root.LoadBalancerStatus(lbId=reply.lbId).expiresAt
    assert abs(read_time(expires) - read_time(asked)) < 0.01
    reply = root.ReserveLoadBalancer()
    expires = root.LoadBalancerStatus(lbId=reply.lbId).expiresAt
    assert abs(read_time(expires) - time.time() - YEAR) < 86400


def test_extending(root):
    """Longer or shorter, but not into the past."""
    reply = root.ReserveLoadBalancer(until=from_now(5000))
    client = root.with_token(reply.token)
    for seconds in (100000, 500):
        until = from_now(seconds)
        extended = client.ExtendReservation(lbId=reply.lbId, until=until)
        assert abs(read_time(extended.until) - read_time(until)) < 0.01
        status = client.LoadBalancerStatus(lbId=reply.lbId)
        assert status.expiresAt == extended.until
    for bad in (make_time(0), from_now(-1), {"seconds": 2**62}):
        with refused("INVALID_ARGUMENT", "until"):
            client.ExtendReservation(lbId=reply.lbId, until=bad)
    status = client.LoadBalancerStatus(lbId=reply.lbId)
    assert status.expiresAt == extended.until


def test_expiry(start):
    """What expires goes as if it had been freed."""
    root = start(reservations="period = 50;").client()
    stays = root.ReserveLoadBalancer()
    goes = root.ReserveLoadBalancer(until=from_now(1))
    worker, = add_workers(root, goes.lbId, 1)
    wait_for(lambda: len(root.Overview().loadBalancers) == 1, "expiry")
    assert root.Overview().loadBalancers[0].reservation.lbId == stays.lbId
    for client in (root.with_token(goes.token), worker[0]):
        with refused("PERMISSION_DENIED"):
            client.Version()
    assert root.ReserveLoadBalancer().fpgaLbId == goes.fpgaLbId


# ---------------------------------------------------------------------------
# Ending.


def test_freeing(root):
    """With a reservation go its sessions and its tokens, and those below."""
    reply = root.ReserveLoadBalancer(name="x", senderAddresses=["10.0.0.1"])
    other = root.ReserveLoadBalancer()
    client = root.with_token(reply.token)
    workers = add_workers(client, reply.lbId, 3)
    child = client.with_token(client.CreateToken(name="c", permissions=[{
        "resourceType": "RESERVATION", "resourceId": reply.lbId,
        "permission": "REGISTER"}]).token)
    workers += add_workers(child, reply.lbId, 1, first=9)
    of_root = root.with_token(root.CreateToken(name="r", permissions=[{
        "resourceType": "RESERVATION", "resourceId": reply.lbId,
        "permission": "UPDATE"}]).token)
    client.FreeLoadBalancer(lbId=reply.lbId)
    for ended in [client, child] + [w[0] for w in workers]:
        with refused("PERMISSION_DENIED"):
            ended.Version()
    with refused("PERMISSION_DENIED"):
        of_root.GetLoadBalancer(lbId=reply.lbId)
    for method in ("GetLoadBalancer", "LoadBalancerStatus",
                   "FreeLoadBalancer"):
        with refused("NOT_FOUND", "lbId"):
            getattr(root, method)(lbId=reply.lbId)
    with refused("NOT_FOUND"):
        root.SendState(lbId=reply.lbId, sessionId=workers[0][1])
    root.with_token(other.token).GetLoadBalancer(lbId=other.lbId)
    again = root.ReserveLoadBalancer()
    assert again.fpgaLbId == reply.fpgaLbId
    status = root.LoadBalancerStatus(lbId=again.lbId)
    assert not status.senderAddresses
    assert not status.workers


@pytest.mark.parametrize("parts", [(), ("sync",), ("epochs",), ("senders",),
                                   ("workers",), ("sync", "epochs"),
                                   ("sync", "epochs", "senders", "workers")])
def test_resetting(root, parts):
    """What was asked for, and nothing else.  (Epochs and Sync are with those in
    test_epochs.py.)"""
    reply = root.ReserveLoadBalancer(senderAddresses=["10.0.0.1"])
    worker, = add_workers(root, reply.lbId, 1)
    asked = {part: True for part in parts}
    answer = root.with_token(reply.token).ResetLoadBalancer(
        lbId=reply.lbId, **asked)
    assert {f.name: v for f, v in answer.ListFields()} == asked
    status = root.LoadBalancerStatus(lbId=reply.lbId)
    assert bool(status.senderAddresses) == ("senders" not in parts)
    assert bool(status.workers) == ("workers" not in parts)
    if "workers" in parts:
        with refused("PERMISSION_DENIED"):
            worker[0].Version()
    else:
        report(worker, reply.lbId)
    root.with_token(reply.token).GetLoadBalancer(lbId=reply.lbId)


# ---------------------------------------------------------------------------
# Senders.


def get_senders(root, lb_id):
    return list(root.LoadBalancerStatus(lbId=lb_id).senderAddresses)


def test_senders(root):
    """As they were added, each once; those that go leave the others in
    order."""
    reply = root.ReserveLoadBalancer(
        senderAddresses=["10.0.0.9", "10.0.0.3", "10.0.0.9"])
    client, lb_id = root.with_token(reply.token), reply.lbId
    assert get_senders(root, lb_id) == ["10.0.0.9", "10.0.0.3"]
    client.AddSenders(lbId=lb_id, senderAddresses=[
        "fd00::2", "10.0.0.3", "10.0.0.1", "FD00:0::2"])
    assert get_senders(root, lb_id) == ["10.0.0.9", "10.0.0.3", "fd00::2",
                                        "10.0.0.1"]
    client.RemoveSenders(lbId=lb_id, senderAddresses=["10.0.0.3", "10.0.0.77"])
    assert get_senders(root, lb_id) == ["10.0.0.9", "fd00::2", "10.0.0.1"]
    client.AddSenders(lbId=lb_id, senderAddresses=["10.0.0.3"])
    assert get_senders(root, lb_id) == ["10.0.0.9", "fd00::2", "10.0.0.1",
                                        "10.0.0.3"]
    client.RemoveSenders(lbId=lb_id, senderAddresses=get_senders(root, lb_id))
    assert get_senders(root, lb_id) == []
    client.AddSenders(lbId=lb_id)
    client.RemoveSenders(lbId=lb_id)
    assert get_senders(root, lb_id) == []


@pytest.mark.parametrize("bad", BAD_SENDERS)
def test_bad_senders(root, bad):
    """One bad address: nothing changes."""
    reply = root.ReserveLoadBalancer(senderAddresses=["10.0.0.1"])
    for method in ("AddSenders", "RemoveSenders"):
        with refused("INVALID_ARGUMENT", "senderAddresses[1]"):
            getattr(root, method)(lbId=reply.lbId,
                                  senderAddresses=["10.0.0.1", bad, "10.0.0.2"])
        assert get_senders(root, reply.lbId) == ["10.0.0.1"]


def test_many_senders(root):
    """More than a reservation may have are refused, in one call or in
    several."""
    addresses = ["10.%d.%d.%d" % (i >> 16, i >> 8 & 255, i & 255)
                 for i in range(1, 4098)]
    reply = root.ReserveLoadBalancer(senderAddresses=addresses[:4096])
    assert get_senders(root, reply.lbId) == addresses[:4096]
    for fields in (addresses, addresses[4096:]):
        with refused("RESOURCE_EXHAUSTED", "senderAddresses"):
            root.AddSenders(lbId=reply.lbId, senderAddresses=fields)
    assert len(get_senders(root, reply.lbId)) == 4096


def test_source_filter(root, shared):
    """The filter is that of the senders when the call returns."""
    def get_sources():
        return [i["sources"] for i in shared.ctl("instances")["instances"]]
    reply = root.ReserveLoadBalancer(senderAddresses=["10.0.0.1"])
    assert get_sources() == [["10.0.0.1"], []]
    root.AddSenders(lbId=reply.lbId, senderAddresses=["fd00::2"])
    assert get_sources() == [["10.0.0.1", "fd00::2"], []]
    root.RemoveSenders(lbId=reply.lbId, senderAddresses=["10.0.0.1"])
    assert get_sources() == [["fd00::2"], []]
    root.FreeLoadBalancer(lbId=reply.lbId)
    assert get_sources() == [[], []]
