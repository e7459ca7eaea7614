#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Accounts for every packet of a run by captures at the switch.

usage: audit.py RUN.json --output REPORT.json [--plot FILE.png]

RUN.json says where the capture, the configuration, the log of committed
epochs and the reports and logs of both ends are, which interface leads to
which source or member, and what the run noted.  From the bytes of each packet
on its way into the switch this program computes, with no code of the
balancer's, where it had to come out: the member, its address and its UDP
port.  Then it looks at what came out, and at what the ends say about it.

Exit status 0 only if no packet was lost, misrouted, duplicated or foreign, no
event was split, the shares are the calendar's, ticks of both sides of each
boundary arrived mixed for long enough, and both ends agree.
"""

import argparse
import bisect
import collections
import ipaddress
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import account  # noqa: E402
import capture  # noqa: E402

LB, RE = b"LB", b"\x10\x00"
LB_LEN, RE_LEN = 16, 20
# Bytes of a packet from the RE header on that tell it from others.
IDENTITY = RE_LEN + 32
# A side of a boundary that stays away for so many seconds' worth of packets
# ends the time in which both are mixed.
PATIENCE = 0.1


def read_addresses(path, instance):
    """Returns {member id: its address, packed} of the configuration."""
    with open(path, encoding="utf-8") as config:
        text = re.sub(r"#.*", "", config.read())
    body = text[text.index('name = "%s"' % instance):]
    return {int(id_): ipaddress.ip_address(ip).packed for id_, ip in
            re.findall(r'\{\s*id = (\d+); ip = "([^"]+)"', body)}


def blocks(begin, end):
    """Yields the aligned blocks [first, last] of the ticks from 'begin' up to
    'end'."""
    while begin < end:
        size = begin & -begin or 1 << 64
        while size > end - begin:
            size //= 2
        yield begin, begin + size - 1
        begin += size


def count_met(begin, end, ticks):
    """Returns how many aligned blocks of the given range have one of the
    sorted 'ticks' in them."""
    return sum(bisect.bisect_left(ticks, first)
               < bisect.bisect_right(ticks, last)
               for first, last in blocks(begin, end))


def longest_mix(arrivals, boundary, patience):
    """Returns (seconds, changes of side): the longest time in which ticks of
    both sides of 'boundary' came mixed.  'arrivals' are (time in ns, tick),
    in order; neither side stays away for more than 'patience' packets."""
    best = (0.0, 0)
    begun = changes = last = None
    before = None
    for i, (when, tick) in enumerate(arrivals):
        side = tick >= boundary
        if before is not None and side != before:
            if last is None or i - last > patience:
                begun, changes = when, 0
            last, changes = i, changes + 1
            best = max(best, ((when - begun) / 1e9, changes))
        before = side
    return best


class Audit:
    """The audit of one run."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as run:
            self.run = json.load(run)
        self.directory = os.path.dirname(os.path.abspath(path))
        self.epochs = account.read_epochs(self.path(self.run["epochs"]),
                                          self.run["instance"])
        config = self.path(self.run["config"])
        members = account.read_members(config, self.run["instance"])
        self.addresses = read_addresses(config, self.run["instance"])
        self.account = account.Account(self.epochs, members)
        self.sources = {int(i): name for i, name
                        in self.run["sources"].items()}
        self.nodes = {int(i): member for i, member
                      in self.run["nodes"].items()}
        self.into = []      # (time, tick, source), in order.
        self.out = []       # (time, tick, member), in order.
        self.versions = set()   # (source, header version).
        self.seen_in = collections.Counter()
        self.seen_out = collections.defaultdict(set)
        self.top = {}
        self.reordered = 0
        self.faults = []

    def path(self, name):
        """Returns the path of a file of the run."""
        return os.path.join(self.directory, name)

    # The capture.

    def read(self):
        """Reads the capture: first what came in, then what came out."""
        out = []
        for when, interface, outgoing, ethertype, packet in \
                capture.read_pcap(self.path(self.run["capture"])):
            udp = capture.udp_of(ethertype, packet)
            if udp is None:
                continue
            if outgoing:
                if interface in self.nodes or interface in self.sources:
                    out.append((when, interface, udp))
            elif interface in self.sources and udp[3][:2] == LB:
                self.take_in(when, self.sources[interface], udp)
        for when, interface, udp in out:
            self.take_out(when, interface, udp)

    def take_in(self, when, source, udp):
        """Takes an event packet on its way into the switch."""
        _, _, size, payload = udp
        version = payload[2]
        slot, entropy, tick = struct.unpack_from(">HHQ", payload, 4)
        if version == 2:
            slot = tick & 0xffff
        key = (payload[LB_LEN:LB_LEN + IDENTITY], size - LB_LEN)
        self.account.send(key, source, tick, slot, entropy)
        self.into.append((when, tick, source))
        self.versions.add((source, version))
        self.seen_in[source] += 1
        place = (tick, struct.unpack_from(">I", payload, LB_LEN + 4)[0])
        if place < self.top.get(source, place):
            self.reordered += 1
        else:
            self.top[source] = place

    def take_out(self, when, interface, udp):
        """Takes a packet on its way out of the switch."""
        address, port, size, payload = udp
        member = self.nodes.get(interface)
        if payload[:2] == LB:
            payload, size = payload[LB_LEN:], size - LB_LEN
            member = None           # The header had to be taken off.
        elif member is None and payload[:2] != RE:
            return                  # Something else, for a source.
        if member is not None and self.addresses.get(member) != address:
            member = None
        sent = self.account.receive((payload[:IDENTITY], size), member, port)
        if sent is None:
            return
        self.out.append((when, sent[1], self.nodes.get(interface)))
        data_id, offset = struct.unpack_from(">HI", payload, 2)
        self.seen_out[member].add((port, data_id, sent[1], offset))

    # What the ends say.

    def report_of(self, name):
        """Returns the JSON object at the end of what a program printed."""
        with open(self.path(name), encoding="utf-8") as output:
            text = output.read()
        try:
            return json.loads(text[text.index("\n{") if "\n{" in text else 0:])
        except ValueError:
            raise account.AccountError("%s: it holds no report: %s"
                                       % (name, text[-200:])) from None

    def expect(self, who, what, has, expected):
        """Notes a fault if 'has' is not 'expected'."""
        if has != expected:
            self.faults.append("%s: %s is %s, not %s"
                               % (who, what, has, expected))

    def check_senders(self):
        """Compares the senders' reports with what came in."""
        totals = collections.Counter()
        for source, name in self.run["senders"].items():
            sender = self.report_of(name)
            self.expect(source, "packets sent", sender["packets"],
                        self.seen_in[source])
            for field in ("events", "bundles", "packets", "overtaken"):
                totals[field] += sender[field]
        return dict(totals)

    def check_receivers(self):
        """Compares the receivers' reports and logs with what came out."""
        totals = collections.Counter()
        for member, files in self.run["receivers"].items():
            self.check_receiver(int(member), files, totals)
        return {name: totals[name] for name in
                ("packets", "complete", "incomplete", "corrupt", "duplicate",
                 "foreign", "kernel_drops", "reordered", "port_changes")}

    def check_receiver(self, member, files, totals):
        """Compares the report and the log of one receiver."""
        report = self.report_of(files["report"])
        who = self.run["names"][str(member)]
        events, verdicts = report["events"], report["verdicts"]
        numbers = {
            "packets": report["packets"], "complete": events["complete"],
            "incomplete": (events["expired"] + events["evicted"]
                           + events["unfinished"]),
            "corrupt": verdicts["corrupt"] + events["corrupt"],
            "duplicate": (verdicts["duplicate"] + verdicts["late_complete"]
                          + verdicts["late_incomplete"]),
            "foreign": events["foreign"],
            "kernel_drops": report["kernel_drops"],
            "port_changes": report["port_changes"]}
        totals.update(numbers)
        totals["reordered"] += report["reordered"]
        for field in ("incomplete", "corrupt", "duplicate", "foreign",
                      "kernel_drops", "port_changes"):
            self.expect(who, field, numbers[field], 0)
        self.expect(who, "packets that are not ok",
                    report["packets"] - verdicts["ok"], 0)
        logged = {(int(p["port"]), int(p["data_id"]), int(p["event_num"]),
                   int(p["offset"]))
                  for p in account.read_log(self.path(files["log"]))
                  if p["data_id"] != "-"}
        captured = self.seen_out[member]
        self.expect(who, "packets captured and not received",
                    len(captured - logged), 0)
        self.expect(who, "packets received and not captured",
                    len(logged - captured), 0)

    # Changes.

    def changes(self):
        """Returns what is known of each change of the epoch in service."""
        if not self.into:
            return []
        order = sorted(self.into)
        seconds = max((order[-1][0] - order[0][0]) / 1e9, 1e-9)
        patience = len(order) / seconds * PATIENCE
        arrivals = [(when, tick) for when, tick, _ in order]
        return [self.change(i, arrivals, patience)
                for i in range(1, len(self.epochs))]

    def change(self, i, arrivals, patience):
        """Returns what is known of the change to epoch number 'i'."""
        epoch = self.epochs[i]
        first = next((when for when, tick in arrivals
                      if tick >= epoch["from"]), None)
        lead = first / 1e9 - epoch["time"] if first else None
        mixed, sides = longest_mix(arrivals, epoch["from"], patience)
        who = "epoch %d" % epoch["epoch"]
        if lead is None or lead < self.run["lead_seconds"]:
            self.faults.append("%s: committed only %s s before its first "
                               "packet" % (who, lead))
        if mixed < 2 * self.run["lead_seconds"]:
            self.faults.append("%s: ticks of both sides of its boundary came "
                               "mixed for %.3f s only" % (who, mixed))
        return {"epoch": epoch["epoch"], "boundary": epoch["from"],
                "lead_seconds": round(lead, 3) if lead else lead,
                "interleave_seconds": round(mixed, 3),
                "changes_of_side": sides, **self.upcalls(i, arrivals)}

    def upcalls(self, i, arrivals):
        """Returns the upcalls after the change to epoch number 'i', and their
        bound: for each source and version, each block of ticks that is met
        and each member, once; and for each source what is no event: it asks
        for the addresses of the balancer and of the controller's host now and
        then, the host asks for its, and it sends Sync."""
        samples = self.run["upcalls"]
        if len(samples) <= i + 1:
            return {}
        end = (self.epochs[i + 1]["time"] if i + 1 < len(self.epochs)
               else float("inf"))
        ticks = sorted({tick for when, tick in arrivals
                        if self.epochs[i]["time"] <= when / 1e9 <= end + 1})
        met, members = 0, set()
        for k in range(i + 1):
            epoch = self.epochs[k]
            limit = self.epochs[k + 1]["from"] if k < i else 1 << 64
            n = count_met(epoch["from"], limit, ticks)
            met += n
            members |= set(epoch["slots"]) if n else set()
        bound = (len(self.versions) * (met + len(members))
                 + 4 * len(self.sources))
        count = samples[i + 1] - samples[i]
        if count > bound:
            self.faults.append("epoch %d: %d upcalls after the change, over "
                               "the bound of %d"
                               % (self.epochs[i]["epoch"], count, bound))
        return {"upcalls": count, "upcalls_bound": bound,
                "prefixes_met": met, "members": len(members)}

    # All of it.

    def report(self):
        """Reads all, and returns the report."""
        self.read()
        report = self.account.finish()
        for epoch in report["epochs"]:
            if not epoch["events"]:
                self.faults.append("epoch %d: no event" % epoch["epoch"])
        report["reordered_in"] = self.reordered
        report["sources"] = dict(self.seen_in)
        report["changes"] = self.changes()
        samples = self.run["upcalls"]
        report["upcalls"] = samples[-1] - samples[0] if samples else None
        report["senders"] = self.check_senders()
        report["receivers"] = self.check_receivers()
        report["capture_drops"] = self.run["capture_drops"]
        self.expect("capture", "packets lost by tcpdump",
                    self.run["capture_drops"], 0)
        self.expect("epochs", "number", len(self.epochs),
                    self.run["n_epochs"])
        report["versions"] = self.run["versions"]
        report["faults"] = self.faults
        return report


def print_changes(report):
    """Prints what is known of the changes."""
    for change in report["changes"]:
        print("epoch %(epoch)d from tick %(boundary)d: committed "
              "%(lead_seconds)s s before its first packet, sides mixed for "
              "%(interleave_seconds).2f s" % change
              + (", %(upcalls)d upcalls (bound %(upcalls_bound)d)" % change
                 if "upcalls" in change else ""))


def main():
    """Runs the program."""
    parser = argparse.ArgumentParser(description="account for every packet "
                                     "by captures")
    parser.add_argument("run")
    parser.add_argument("--output", required=True)
    parser.add_argument("--plot")
    args = parser.parse_args()
    try:
        audit = Audit(args.run)
        report = audit.report()
    except (account.AccountError, capture.CaptureError) as error:
        sys.exit("audit: %s" % error)
    clean = account.write_report(report, args.output)
    print_changes(report)
    if args.plot and all(change["interleave_seconds"]
                         for change in report["changes"]):
        import fig7
        fig7.plot(audit, args.plot)
    sys.exit(0 if clean else 1)


if __name__ == "__main__":
    main()
