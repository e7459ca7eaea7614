#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the upcalls of a large run through the userspace datapath and
compares them with the bound.

usage: upcall_bound.py [--ticks N] [--epochs N] [--ports N] [--sources N]
                       [--members N]

Two instances share a bridge.  The first one's ticks are all distinct and run
through the epochs; after each change of its epoch the second one's traffic
goes on first, whose upcalls must stay 0 once it is known.  TTL, DSCP, UDP
ports, entropy, source MAC and header version vary from packet to packet.

Frames go in through veth pairs, as fast as the switch takes them: no more
than a window is on its way, and each must come out at the other end.

Prints JSON: {"upcalls", "bound", "second_instance_upcalls", ...}.  Exit status
1 if the bound does not hold or packets were lost.

"slow_dumps" counts how often the switch complained that it looked through its
flows for more than 2 seconds.  Then it keeps fewer of them, for a reason that
is none of ours: the machine was too busy, and the run means nothing.
"""

import argparse
import json
import os
import random
import shutil
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import netns  # noqa: E402
import ticks  # noqa: E402
from switch import Switch, find_programs  # noqa: E402

WINDOW = 192                # Fits the receive buffers of the ports' sockets.
BASE_TICK = 1 << 50


class VethPorts:
    """The switch's ports on veth pairs: 'n' to send to, and one that all
    comes out of."""

    def __init__(self, n):
        netns.run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        self.names = ["in%d" % i for i in range(n)]
        self.sockets = []
        for name in self.names + ["out"]:
            netns.run("ip", "link", "add", name, "type", "veth", "peer",
                      "name", name + "-peer")
            for end in (name, name + "-peer"):
                netns.run("ip", "link", "set", end, "arp", "off", "up")
        for name in self.names:
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            s.bind((name + "-peer", 0))
            self.sockets.append(s)
        self.counter = open("/sys/class/net/out-peer/statistics/rx_packets")
        self.sent = self.arrived()

    def arrived(self):
        self.counter.seek(0)
        return int(self.counter.read())

    def send(self, frames):
        """Sends 'frames' in turn by the ports, and waits until all have come
        out."""
        sockets, n = self.sockets, len(self.sockets)
        for i, frame in enumerate(frames):
            sockets[i % n].send(frame)
            self.sent += 1
            if self.sent % 16 == 0:
                self.wait(WINDOW)
        self.wait(0)

    def wait(self, window):
        """Waits until no more than 'window' frames are on their way."""
        end = None
        while self.sent - self.arrived() > window:
            now = time.monotonic()
            end = end or now + 5
            if now > end:
                raise RuntimeError("%d frames did not come out" % (
                    self.sent - self.arrived()))


def load(switch, ports, instances, out):
    """Adds the flows of 'instances' that stay, and their first epochs."""
    switch.add_flows("br0", *ticks.shared_flows(ports), *[
        f for i in instances for f in i.static_flows(out)])
    for i in instances:
        change(switch, i, BASE_TICK)


def change(switch, instance, boundary):
    switch.ofctl("bundle", "br0", "-",
                 stdin=instance.change_epoch(boundary))
    switch.settle()


def missed(switch):
    return switch.lookups()[1]


def spread(frames, instance, tick_list, n_ports):
    """Frames for 'tick_list'.  A source's packets come by every port: the
    number of sources and of ports may have a common divisor."""
    for tick in tick_list:
        yield frames.make(tick)
        if frames.count % len(instance.sources) == 0 \
                and len(instance.sources) % n_ports == 0:
            frames.count += 1


def measure(switch, transport, first, second, n_epochs, n_ticks, n_ports,
            seed=1):
    """Runs the epochs and returns what was counted."""
    rng = random.Random(seed)
    bound = ticks.Bound(n_ports)
    frames = {i: ticks.Frames(i, rng) for i in (first, second)}
    result = {"ticks": 0, "packets": 0, "upcalls_of_epochs": []}

    def send(instance, tick_list):
        before = missed(switch)
        transport(spread(frames[instance], instance, tick_list, n_ports))
        result["packets"] += len(tick_list)
        return missed(switch) - before

    per_epoch = n_ticks // n_epochs
    boundary = BASE_TICK
    # The second instance becomes known.
    known = ticks.ticks_around(rng, BASE_TICK + (1 << 30), max(
        per_epoch // 10, 20 * n_ports * len(second.sources)), 0)
    result["second_instance_first_contact"] = send(second, known)
    allowed = ticks.Bound(n_ports)
    allowed.first_contact(second)
    allowed.epoch(second, known)
    result["second_instance_first_contact_bound"] = allowed.total

    bound.first_contact(first)
    upcalls = others = 0
    for epoch in range(n_epochs):
        if epoch:
            boundary += 4 * per_epoch
            change(switch, first, boundary)
        others += send(second, rng.sample(known, len(known) // 10))
        tick_list = ticks.ticks_around(rng, boundary, per_epoch,
                                       .25 if epoch else 0)
        n = send(first, tick_list)
        bound.epoch(first, tick_list)
        result["upcalls_of_epochs"].append(n)
        result["ticks"] += len(tick_list)
        upcalls += n
    result.update(upcalls=upcalls, bound=bound.total,
                  second_instance_upcalls=others, epochs=n_epochs,
                  ports=n_ports, sources=len(first.sources),
                  members=len(first.members))
    return result


def run(args, rundir):
    switch = Switch(find_programs(), rundir)
    ports = VethPorts(args.ports)
    try:
        switch.start("--disable-system", **{"max-idle": "600000"})
        switch.add_netdev_bridge("br0", ports.names + ["out"])
        first, second = [ticks.Instance(n, args.sources, args.members)
                         for n in (1, 2)]
        load(switch, ports.names, (first, second), "out")
        start = time.monotonic()
        result = measure(switch, ports.send, first, second, args.epochs,
                         args.ticks, args.ports)
        result["seconds"] = round(time.monotonic() - start, 1)
        result["slow_dumps"] = switch.log().count("unreasonably long")
        switch.check_health()
        return result
    finally:
        switch.stop()


def main():
    parser = argparse.ArgumentParser(
        description="Counts upcalls and compares them with the bound.")
    parser.add_argument("--ticks", type=int, default=10 ** 6)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--ports", type=int, default=5)
    parser.add_argument("--sources", type=int, default=256)
    parser.add_argument("--members", type=int, default=10)
    args = parser.parse_args()

    netns.enter_private()
    rundir = tempfile.mkdtemp(prefix="evlb-ovs-")
    try:
        result = run(args, rundir)
    finally:
        shutil.rmtree(rundir)
    print(json.dumps(result))
    return not (result["upcalls"] <= result["bound"]
                and result["second_instance_upcalls"] == 0)


if __name__ == "__main__":
    sys.exit(main())
