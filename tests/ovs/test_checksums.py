# SPDX-License-Identifier: Apache-2.0
"""UDP checksums that the sender's kernel leaves to its device, in a switch
that passes such packets on (userspace-tso-enable)."""

import socket
import struct

import pytest

import model
from cases import MEMBERS, SELF_IP, SELF_MAC
from netns import Host, run
from packets import event, lb, mac
from pipeline import calendar, member_flows, parse_flows
from switch import Switch
from taps import Tap, forward

PAYLOADS = [b"", b"x", b"seventeen bytes..", bytes(range(256)), b"\xff" * 999,
            b"\0" * 1400]


class Delivery:
    """A sender whose checksums are left to its device, the switch, and a
    receiver behind a kernel bridge whose device computes none: so what
    arrives went through the kernel's own checksum function, and is checked
    by the receiver's.

        h1 -- switch -- relay -- h2
    """

    def __init__(self, programs, rundir):
        self.sender = Host("h1", "v1", tx_offload=True)
        self.relay = Host("relay", "v2")
        self.receiver = Host("h2", "r2")
        self.relay.run("ip", "link", "add", "bridge", "type", "bridge")
        run("ip", "link", "set", "r2", "netns", "relay")
        self.relay.run("ethtool", "-K", "r2", "tx", "off")
        for device in ("eth0", "r2"):
            self.relay.run("ip", "link", "set", device, "master", "bridge",
                           "up")
        self.relay.run("ip", "link", "set", "bridge", "up")
        self.receiver.run("ethtool", "-K", "eth0", "rx", "off")
        self.switch = Switch(programs, rundir)
        self.switch.start("--disable-system",
                          **{"userspace-tso-enable": "true"})
        self.switch.add_netdev_bridge("br0", ["v1", "v2"])
        self.members = self.make_members()
        self.configure()

    def make_members(self):
        """One that keeps the header, one that does not."""
        address = self.receiver.mac()
        members = {}
        for i, (_, families) in enumerate(sorted(MEMBERS.items())[:2]):
            members[i] = {}
            for family, m in families.items():
                members[i][family] = model.Member(
                    family, SELF_MAC, address, m.ip_src, m.ip_dst, m.base, 4,
                    keep=bool(i))
        return members

    def configure(self):
        for host in (self.sender, self.receiver):
            host.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=0",
                     "net.ipv6.conf.eth0.disable_ipv6=0",
                     "net.ipv4.conf.all.rp_filter=0",
                     "net.ipv4.conf.eth0.rp_filter=0")
        for address, instance in (("192.168.7.1/24", SELF_IP[4]),
                                  ("2001:db8:7::1/64", SELF_IP[6])):
            self.sender.add_address(address)
            self.sender.run("ip", "route", "add", instance, "dev", "eth0")
            self.sender.run("ip", "neigh", "add", instance, "lladdr",
                            SELF_MAC, "dev", "eth0")
        for families in self.members.values():
            for family, m in families.items():
                self.receiver.add_address(m.ip_dst + ("/32" if family == 4
                                                      else "/128"))
        for instance in SELF_IP.values():
            self.receiver.run("ip", "route", "add", instance, "dev", "eth0")
            self.receiver.run("ip", "neigh", "add", instance, "lladdr",
                              SELF_MAC, "dev", "eth0")
        self.switch.add_group("br0", calendar(7, {0: 0, 1: 1}, bits=1))
        self.switch.add_flows(
            "br0", *parse_flows(self.switch, "v2", ["udp", "udp6"]),
            "table=32,actions=group:7",
            *member_flows(self.members, "v2"),
            "table=0,priority=65535,dl_type=0x88b5,actions=output:v2")

    def destroy(self):
        self.switch.stop()
        for host in (self.sender, self.relay, self.receiver):
            host.destroy()

    def tap(self, member):
        """What comes to the receiver for 'member'.  The host itself says now
        and then which multicast groups it is in."""
        return self.receiver.inside(lambda: Tap("eth0", mac(member.eth_dst)))

    def open(self, host, family):
        return host.inside(lambda: socket.socket(
            socket.AF_INET if family == 4 else socket.AF_INET6,
            socket.SOCK_DGRAM))


@pytest.fixture(scope="module")
def delivery(programs, tmp_path_factory):
    d = Delivery(programs, tmp_path_factory.mktemp("ovs"))
    try:
        yield d
        d.switch.check_health()
    finally:
        d.destroy()


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("keep", [False, True], ids=["strip", "keep"])
def test_partial_checksums(delivery, family, keep):
    """The receiver's socket gets each datagram, and the wire had its right
    checksum: it is the same as the kernel's for the datagram."""
    member = delivery.members[keep][family]
    from_sender = Tap("v1")
    wire = delivery.tap(member)
    sender = delivery.open(delivery.sender, family)
    receiver = delivery.open(delivery.receiver, family)
    receiver.bind((member.ip_dst, member.base + 5))
    receiver.settimeout(10)
    try:
        for i, payload in enumerate(PAYLOADS):
            header = lb(2 * i + keep, port_select=5 + 16 * i)
            sender.sendto(header + payload, (SELF_IP[family], 19522))
            assert receiver.recv(9000) == (header if keep else b"") + payload

            frame = wire.wait()
            l3 = 14
            udp = l3 + (20 if family == 4 else 40)
            assert frame[udp + 8:] == (header if keep else b"") + payload
            assert_right(frame, udp)
        # The kernel did leave the checksums to its device.
        while from_sender.receive() is not None:
            pass
        assert from_sender.partial == len(PAYLOADS)
        assert wire.partial == 0
    finally:
        for s in (sender, receiver, wire.socket, from_sender.socket):
            s.close()


def assert_right(frame, udp):
    """The UDP checksum of 'frame' is what the datagram's bytes sum up to."""
    addresses = frame[26:34] if udp == 34 else frame[22:54]
    datagram = frame[udp:udp + 6] + b"\0\0" + frame[udp + 8:]
    data = addresses + struct.pack(">II", len(datagram), 17) + datagram
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data)) % 0xffff
    assert model.word(frame, udp + 6) == ((total ^ 0xffff) or 0xffff)
    assert len(datagram) == model.word(frame, udp + 4)


@pytest.mark.parametrize("family", [4, 6])
def test_receiver_refuses_wrong_checksums(delivery, family):
    """The receiver does look: a datagram that was wrong when it came into the
    switch is wrong when it comes out, and is not delivered.  Where the
    sender's device was to compute nothing, the switch computes nothing."""
    member = delivery.members[0][family]
    sender = delivery.sender.inside(lambda: Tap("eth0"))
    wire = delivery.tap(member)
    receiver = delivery.open(delivery.receiver, family)
    receiver.bind((member.ip_dst, member.base + 5))
    receiver.settimeout(10)
    try:
        frames = [event(family, tick=0, port_select=5, csum=csum,
                        payload=csum.encode())
                  for csum in ("right", "wrong", "right", "absent", "wrong",
                               "right")]
        assert forward(sender, frames, wire) == [model.forward(f, member)
                                                 for f in frames]
        absent = [b"absent"] if family == 4 else []
        assert [receiver.recv(100) for _ in range(3 + len(absent))] \
            == [b"right", b"right"] + absent + [b"right"]
    finally:
        for s in (sender.socket, wire.socket, receiver):
            s.close()
