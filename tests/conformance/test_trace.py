# SPDX-License-Identifier: Apache-2.0
"""What "evlbctl trace" says, against a model, against the switch's own trace,
and against where the packet really goes."""

import json
import os
import random
import re
import subprocess

import model
import pytest
from switch import TOP
from test_events import member, packet
from world import A4, A6, MAC, SOURCE

EVLBCTL = os.path.join(TOP, "build", "bin", "evlbctl")

# Instance a's epochs: id, first tick, members of the slots.
EPOCHS = [(7, 1000, None, 2), (8, 2000, [1], 0), (9, 3000, None, 1)]


def run(world, *args):
    return subprocess.run(
        [EVLBCTL, "--socket", world.path("admin.sock")] + list(args),
        env=world.switch.env, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, check=False)


def trace(world, *args):
    """Returns what evlbd wants, which the switch wants, too."""
    done = run(world, "--json", "trace", *args, "switch=br0")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def slots(world, epoch, bits):
    """Returns {slot: member} of the epoch's group, as ovs-ofctl tells it."""
    text = world.switch.ofctl("dump-groups", "br0")
    line = re.search(r"group_id=%d,(.*)" % (0xe0030000 + epoch), text).group(1)
    found = {int(s): int(m, 0) for s, m in re.findall(
        r"bucket_id:(\d+).*?set_field:(\w+)->lb_member", line)}
    assert len(found) == 1 << bits
    return found


def epoch_of(tick):
    """Ticks before the first epoch go by the newest."""
    known = [e for e in EPOCHS if tick >= e[1]] or EPOCHS
    return known[-1]


@pytest.mark.parametrize("seed", range(20))
def test_random_ticks(world, seed):
    rng = random.Random(seed)
    tick = rng.choice([rng.randrange(4000), 999, 1000, 1999, 2000, 2999, 3000,
                       rng.randrange(1 << 64), (1 << 64) - 1])
    version = rng.choice([2, 3])
    select, entropy = rng.randrange(1 << 16), rng.randrange(1 << 16)
    address = rng.choice([A4, A6])
    epoch, _, _, bits = epoch_of(tick)
    args = ["a", "tick=%d" % tick, "entropy=%d" % entropy, "in_port=p1",
            "destination=" + address, "source=" + SOURCE[6 if ":" in address
                                                         else 4]]
    args += ["version=2"] if version == 2 else ["slot=%d" % select]
    slot = (select if version == 3 else tick) & ((1 << bits) - 1)
    number = slots(world, epoch, bits)[slot]
    fits = (number > 60) == (address == A6)

    reply = trace(world, *args)
    assert reply["lb_status"] == "ok" and reply["lb_tick"] == tick
    assert reply["lb_version"] == version
    assert reply["lb_port_select"] == entropy
    assert (reply["instance"], reply["epoch"]) == ("a", epoch)
    assert (reply["slot"], reply["member"]) == (slot, number)

    sent = bytes.fromhex(reply["packet"])
    out, counted = world.send("p1", sent)
    if not fits:
        assert reply["dropped"] and reply["verdict"] == "mbr_info_miss"
        assert out == {} and counted["mbr_info_miss", 3, 0] == 1
    elif number == 4:
        assert reply["dropped"] and reply["verdict"] == "no_port"
        assert out == {} and counted["no_port", 3, 4] == 1
    else:
        assert not reply["dropped"]
        port = {"in_port": "p1"}.get(reply["egress"], reply["egress"])
        assert out == {port: [bytes.fromhex(reply["out"])]}
        assert counted["mbr_tx", 3, number] == 1
        assert bytes.fromhex(reply["out"]) == model.forward(
            sent, member(number, address))
        stages = [s["stage"] for s in reply["steps"]]
        assert stages == ["classify", "l2", "l3", "local", "source", "parse",
                          "header", "epoch", "member"]


@pytest.mark.parametrize("frame, verdict", [
    (packet(A4, 1000, src="203.0.113.9"), "blocked_src"),
    (packet(A4, 1000, magic=1), "bad_magic"),
    (packet(A4, 1000, ttl=1), "ttl_expired"),
    (packet(A4, 1000, frag=0x2000), "fragment"),
    (packet("10.0.0.77", 1000), "l2_iface_drop_badip"),
    (packet(A4, 1000, dport=9), "no_udplb_hdr")])
def test_dropped_packet(world, frame, verdict):
    """A packet in hexadecimal, and where it ends."""
    reply = trace(world, "a", "packet=" + frame.hex())
    assert reply["dropped"] and reply["verdict"] == verdict
    assert reply["packet"] == frame.hex()
    assert (reply["slot"], reply["member"]) == (-1, -1)
    _, counted = world.send("p1", frame)
    assert verdict in {key[0] for key in counted}


def test_tagged_packet(world):
    reply = trace(world, "a", "packet=" + packet(A4, 1001, vlan=7).hex())
    assert (reply["vlan"], reply["epoch"], reply["slot"]) == (7, 7, 1)
    assert reply["eth_src"] == MAC[7]


def test_table(world):
    """What people read."""
    done = run(world, "trace", "a", "tick=2000", "in_port=p1", "switch=br0")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "br0, in through port p1 (1)"
    assert any(line.startswith("instance a, epoch 8, slot 0, member 1")
               for line in lines)
    assert "The switch says the same:" in lines


def test_difference(world):
    """A switch that holds something else is found out."""
    args = ["a", "tick=2000", "in_port=p1"]
    good = trace(world, *args)
    extra = ("table=8,priority=999,lb_member=%d,actions=output:3"
             % good["member"])
    world.switch.ofctl("add-flow", "br0", extra)
    try:
        done = run(world, "trace", *args, "switch=br0")
        assert done.returncode == 1
        assert ("egress: the switch says 3, evlbd wants 2" in done.stderr)
    finally:
        world.switch.ofctl("--strict", "del-flows", "br0",
                           extra.split(",actions")[0])
    trace(world, *args)


@pytest.mark.parametrize("args, words", [
    (["nobody"], "there is no instance \"nobody\""),
    (["a", "in_port=p77"], "there is no port \"p77\""),
    (["a", "packet=0x"], "begins no byte"),
    (["a", "destination=here"], "\"here\" is no IPv4 or IPv6 address"),
    (["a", "destination=fd00::1", "source=10.0.0.9"], "different families"),
    (["a", "target=br7"], "there is no switch \"br7\""),
    (["a", "slot=65536"], "slot 65536 is above 65535"),
    (["a", "switch=br7"], "br7"),
])
def test_mistakes(world, args, words):
    done = run(world, "trace", *args)
    assert done.returncode != 0
    assert words in done.stderr
