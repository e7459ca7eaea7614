# SPDX-License-Identifier: Apache-2.0
"""What is measured, and how one sample is taken."""

import collections
import contextlib
import time

import pipeline
import traffic

SIZES = (128, 1500, 9000)
CACHES = {"emc": (1, False), "none": (0, False), "smc": (0, True)}
IN, OUT = 1, 2

# Two epochs of 0.2 s, neither beginning nor ending at a round tick, and the
# newest one.  Ticks run from the beginning of the oldest over both boundaries
# into the newest and start again.
FIRST = 1764500000202176
LENGTH = 200000
EPOCHS = (tuple(pipeline.range_prefixes(FIRST, FIRST + LENGTH)),
          tuple(pipeline.range_prefixes(FIRST + LENGTH, FIRST + 2 * LENGTH)),
          (pipeline.ALL_TICKS,))
SWEEP = 5 * LENGTH // 2
CATCH_ALL = ((pipeline.ALL_TICKS,),)
assert sum(map(len, EPOCHS)) == 22


class Case(collections.namedtuple(
        "Case", "name bytes members senders epochs every",
        defaults=(0, 1, (), 1))):
    """A case: 'members' is 0 where the balancer is not in it, 'every' the
    number of packets of one event.  The stream's ticks always cross all
    epochs a few times a second; where events have several packets, ticks jump
    by an odd number, so that all slots are met."""

    def lines(self, in_port, out_port):
        if self.epochs:
            return pipeline.balancer(in_port, out_port, self.epochs,
                                     self.members, self.senders)
        make = {"output": pipeline.output, "rewrite": pipeline.rewrite}
        return make[self.name.split("-")[0]](in_port, out_port)

def cases_of(size):
    """The cases whose packets have 'size' bytes."""
    cases = [Case("output", size), Case("rewrite", size)]
    for members in (10, 100):
        cases += [Case("lb-1-epoch", size, members, epochs=CATCH_ALL),
                  Case("lb-3-epochs", size, members, epochs=EPOCHS)]
    if size == SIZES[0]:
        cases += [Case("lb-3-epochs-16", size, 10, epochs=EPOCHS, every=16),
                  Case("rewrite-256", size, senders=256),
                  Case("lb-3-epochs-256", size, 10, 256, EPOCHS)]
    return cases


def add_ports(sw, directory, cases):
    """Adds a port, which does not receive yet, for each capture that 'cases'
    need, and one that all packets leave by.  Returns the ports' names and
    numbers by (size, senders), and the sizes that cannot be had, with why."""
    ports = {}
    refused = {}
    sw.add_port("out", OUT, "net_null1,size=64,no-rx=1", 9100)
    for i, (size, senders) in enumerate(sorted({(c.bytes, c.senders)
                                                for c in cases})):
        capture = f"{directory}/{size}-{senders}.pcap"
        traffic.write_capture(capture, size, senders)
        name, number = f"in{size}-{senders}", 10 + i
        try:
            sw.add_port(name, number,
                        f"net_pcap{i},rx_pcap={capture},infinite_rx=1",
                        9100 if size > 1500 else None, down=True)
            ports[size, senders] = (name, number)
        except RuntimeError as e:
            refused[size] = str(e).splitlines()[0]
    sw.clear()
    return ports, refused


def thread_cpu_ns(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
        return int(f.read().split()[0])


def count_passes(flows):
    """Returns the number of datapath flows of the first pass, of those that
    look at ticks, and of those that look at members."""
    passes = [0, 0, 0]
    for flow in flows:
        match = flow.partition("actions:")[0]
        if "recirc_id(0)" in match:
            passes[0] += 1
        elif "lb_calendar" in flow:
            passes[1] += 1
        else:
            passes[2] += 1
    return passes


class Sampler:
    """Takes samples of cases on a switch.

    The classifier sorts its subtables by use once a second.  Where there are
    several, a sample begins after that."""

    WARM = 0.4
    WARM_BALANCER = 1.4
    SECONDS = 0.6

    def __init__(self, sw, ports, stamps):
        self.sw = sw
        self.ports = ports
        self.stamps = stamps

    def sample(self, case, cache):
        """Returns the figures of 'case' as a dictionary.  A sample during
        which the packet thread did not have its CPU is taken again."""
        for _ in range(4):
            with self.running(case, cache):
                sample = self.measure(case)
            if sample["share"] > 0.97:
                break
        return sample

    @contextlib.contextmanager
    def running(self, case, cache):
        """Lets packets flow as 'case' says, and waits until they flow
        steadily."""
        sw = self.sw
        name, number = self.ports[case.bytes, case.senders]
        sw.set_caches(*CACHES[cache])
        sw.bundle(case.lines(number, OUT))
        if self.stamps:
            sw.appctl("lb-bench/ticks", "count", FIRST, case.every | 1,
                      case.every, SWEEP)
        sw.appctl("dpif-netdev/pmd-stats-clear")
        sw.set_port(name, True)
        try:
            self.tid = sw.pmd_thread()
            time.sleep(self.WARM_BALANCER if case.epochs else self.WARM)
            yield
        finally:
            sw.set_port(name, False)
            sw.clear()

    def measure(self, case):
        sw = self.sw
        pid = sw.vswitchd.pid
        cpu, wall = thread_cpu_ns(pid, self.tid), time.monotonic_ns()
        sent, when = sw.sent("out")
        before = sw.pmd_stats()
        time.sleep(self.SECONDS)
        after = sw.pmd_stats()
        sent2, when2 = sw.sent("out")
        cpu2, wall2 = thread_cpu_ns(pid, self.tid), time.monotonic_ns()
        passes = count_passes(sw.megaflows())

        gain = {name: after[name] - before.get(name, 0) for name in after}
        received = gain["packets received"]
        check_flow(case, received, sent2 - sent, passes)
        return {
            "cycles": (gain["idle cycles"] + gain["processing cycles"])
            / received,
            "mpps": (sent2 - sent) / (when2 - when) / 1e6,
            "passes": (received + gain["packet recirculations"]) / received,
            "megaflows": passes,
            "upcalls": int(after["miss with success upcall"]
                           + after["miss with failed upcall"]),
            "subtables": subtable_lookups(before, after),
            "share": (cpu2 - cpu) / (wall2 - wall),
        }


def subtable_lookups(before, after):
    """Returns how many subtables the classifier tried for each hit."""
    def tried(stats):
        return (stats["megaflow hits"]
                * stats["avg. subtable lookups per megaflow hit"])

    hits = after["megaflow hits"] - before["megaflow hits"]
    return round((tried(after) - tried(before)) / hits, 2) if hits else 0


def check_flow(case, received, sent, passes):
    """A figure of packets that did not go where they should is none, nor is
    one of ticks that do not meet all prefixes."""
    what = f"{case.name}, {case.bytes} bytes"
    prefixes = sum(map(len, case.epochs))
    if received < 1000 or sent < 0.95 * received:
        raise RuntimeError(f"{what}: of {received:.0f} packets {sent} were "
                           "sent")
    if passes[1] < prefixes:
        raise RuntimeError(f"{what}: ticks met {passes[1]} of {prefixes} "
                           "prefixes")
