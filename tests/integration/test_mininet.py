# SPDX-License-Identifier: Apache-2.0
"""Mininet's mn with our switch, controller and network."""

import json
import os
import re
import shutil
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
MN = os.path.join(TOP, "mininet", "mn")


def mn(arguments=(), commands="", before=""):
    """Runs mininet/mn in namespaces of its own; returns what it prints."""
    if os.geteuid() != 0:
        pytest.fail("must be run as root (network namespaces)")
    script = ("mount -t tmpfs tmpfs /run && ip link set lo up && %s \"$@\""
              % (before or "exec"))
    result = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
         "--mount-proc", "--propagation", "private", "sh", "-c", script, "sh",
         MN, *arguments], input=commands, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=90, check=False)
    return result.returncode, result.stdout


def test_ordinary_traffic_passes():
    """Hosts reach each other as on any bridge."""
    code, out = mn(["--test", "pingall"])
    assert code == 0, out
    assert "0% dropped (30/30 received)" in out


def test_events_reach_the_node(tmp_path):
    """Commands on mn's command line, as a user types them."""
    report, ready = tmp_path / "report.json", tmp_path / "ready"
    _, out = mn(commands="""
cn1 evlb-recv --listen 10.42.0.101 --port 20000 --ports 4 --json \
--ready-file %s >%s 2>/dev/null &
daq1 timeout 10 sh -c "until test -e %s; do sleep 0.1; done"
daq1 ping -c 1 -W 2 10.42.0.1
daq1 ping -c 1 -W 2 fd42::1
daq1 evlb-send --dest 10.42.0.1 --port 16384 --events 50 --rate 100 \
--tick-step 4
cn1 sleep 1; kill -INT %%1; wait
sh ovs-ofctl -O OpenFlow15 dump-flows s1 table=8
""" % (ready, report, ready))
    received = json.loads(report.read_text())
    assert received["events"]["complete"] == 50, out
    assert out.count(" 0% packet loss") == 2, out
    packets = re.search(r"cookie=0x4c42220d00000001,.*?n_packets=(\d+)", out)
    assert packets and int(packets.group(1)) == 350, out


def test_refuses_a_second_switch():
    """Two switches in one network namespace do not work: it says so."""
    code, out = mn(before="ip tuntap add ovs-netdev mode tap; ")
    assert code == 1
    assert "another ovs-vswitchd runs here" in out


def test_asks_for_make(tmp_path):
    """Without programs it says what to do."""
    os.makedirs(tmp_path / "mininet")
    copy = shutil.copy(MN, tmp_path / "mininet" / "mn")
    result = subprocess.run([copy], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    assert result.returncode == 1
    assert "run make first" in result.stdout
