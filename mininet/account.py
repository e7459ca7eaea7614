#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Accounts for every packet of a run.

usage: account.py --config FILE --instance NAME --epochs FILE --output FILE
                  --sent LOG... --received ID=LOG...

Reads what the senders logged, what the compute nodes logged, the epochs that
the switch committed, and the members of the configuration, and computes for
each packet that was sent, from its tick, slot selector and entropy, which
node had to receive it on which UDP port.  Nothing of the balancer's own code
is used for this.  Prints a table, writes a report in JSON, and exits with 0
only if no packet was lost, misrouted or duplicated, and no event was split.
"""

import argparse
import collections
import json
import math
import re
import sys

MUST_BE_0 = ("lost", "split_events", "misrouted", "duplicated", "foreign")


class AccountError(Exception):
    """What was recorded cannot be accounted for."""


def read_log(path):
    """Yields the lines of a tab-separated log as dictionaries."""
    with open(path, encoding="utf-8") as log:
        columns = log.readline().rstrip("\n").split("\t")
        for number, line in enumerate(log, 2):
            values = line.rstrip("\n").split("\t")
            if len(values) != len(columns):
                sys.exit("%s:%d: %d columns instead of %d"
                         % (path, number, len(values), len(columns)))
            yield dict(zip(columns, values))


def read_members(path, instance):
    """Returns {member id: (base port, port bits)} of the configuration."""
    with open(path, encoding="utf-8") as config:
        text = re.sub(r"#.*", "", config.read())
    body = text[text.index('name = "%s"' % instance):]
    body = body[:body.index("epochs")]
    members = {}
    for group in re.findall(r"\{([^{}]*)\}", body):
        fields = dict(re.findall(r"(\w+)\s*=\s*([^;]+);", group))
        if "base" in fields:
            members[int(fields["id"])] = (int(fields["base"], 0),
                                          int(fields.get("bits", "0"), 0))
    return members


def read_epochs(path, instance):
    """Returns the instance's epochs, by the tick that they begin at."""
    epochs = {}
    with open(path, encoding="utf-8") as log:
        for line in log:
            epoch = json.loads(line)
            if epoch["instance"] == instance:
                epochs[epoch["epoch"]] = epoch
    return sorted(epochs.values(), key=lambda epoch: epoch["from"])


def find_epoch(epochs, tick):
    """Returns the epoch that 'tick' belongs to, or None."""
    found = None
    for epoch in epochs:
        if epoch["from"] <= tick:
            found = epoch
    return found


def route(epochs, members, tick, selector, entropy):
    """Returns (epoch, member, port) that a packet had to go to, or None."""
    epoch = find_epoch(epochs, tick)
    if not epoch:
        return None
    slot = (selector ^ epoch["xor"]) & ((1 << epoch["bits"]) - 1)
    member = epoch["slots"][slot]
    base, bits = members[member]
    return (epoch["epoch"], member,
            (base + (entropy & ((1 << bits) - 1))) & 0xffff)


def destination(epochs, members, packet):
    """Returns what route() does, for a line of a sender's log."""
    tick = int(packet["tick"])
    selector = (tick & 0xffff if packet["version"] == "2"
                else int(packet["slot_select"]))
    return route(epochs, members, tick, selector, int(packet["entropy"]))


class Account:
    """What was sent against what was received.

    A packet is known by a key that it has at both ends.  A place is (member,
    port); the member is None where a packet came out at no member."""

    def __init__(self, epochs, members):
        self.epochs = epochs
        self.members = members
        self.sent = {}              # Key -> (route, tick, source).
        self.arrivals = collections.defaultdict(list)
        self.places = collections.defaultdict(set)
        self.counts = collections.Counter()

    def send(self, key, source, tick, selector, entropy):
        """Accounts for a packet that was sent."""
        if key in self.sent:
            raise AccountError("a packet of tick %d from source %s was sent "
                               "twice: it cannot be told apart"
                               % (tick, source))
        where = route(self.epochs, self.members, tick, selector, entropy)
        if where is None:
            raise AccountError("tick %d belongs to no epoch" % tick)
        self.sent[key] = (where, tick, source)

    def receive(self, key, member, port):
        """Accounts for a packet that came out; returns what send() was told
        of it as (route, tick, source), or None."""
        self.counts["packets_out"] += 1
        sent = self.sent.get(key)
        if sent is None:
            self.counts["foreign"] += 1
            return None
        self.arrivals[key].append((member, port))
        # All packets of an event have to meet at one node, and those of one
        # bundle of it, which one source sent, at one port.
        self.places[sent[1]].add(member)
        self.places[sent[1], sent[2]].add((member, port))
        return sent

    def compare(self):
        """Counts what went wrong."""
        for key, ((_, member, port), _, _) in self.sent.items():
            arrivals = self.arrivals.get(key, ())
            if not arrivals:
                self.counts["lost"] += 1
            elif any(a[0] != member for a in arrivals):
                self.counts["wrong_node"] += 1
            elif any(a[1] != port for a in arrivals):
                self.counts["wrong_port"] += 1
            if len(arrivals) > 1:
                self.counts["duplicated"] += len(arrivals) - 1

    def finish(self):
        """Compares, and returns the report."""
        self.compare()
        parted = [place for place, seen in self.places.items()
                  if len(seen) > 1]
        counts = self.counts
        report = {"packets_in": len(self.sent)}
        report.update((name, counts[name]) for name in
                      ("packets_out", "lost", "duplicated", "foreign",
                       "wrong_node", "wrong_port"))
        report["misrouted"] = counts["wrong_node"] + counts["wrong_port"]
        report["split_events"] = len({place[0] if isinstance(place, tuple)
                                      else place for place in parted})
        report["split_nodes"] = sum(not isinstance(place, tuple)
                                    for place in parted)
        report["events"] = len({sent[1] for sent in self.sent.values()})
        report["epochs"] = self.shares()
        return report

    def shares(self):
        """Returns what each member got of each epoch, against its calendar."""
        packets = collections.defaultdict(collections.Counter)
        events = collections.defaultdict(dict)
        for key, arrivals in self.arrivals.items():
            (epoch, _, _), tick, _ = self.sent[key]
            packets[epoch][arrivals[0][0]] += 1
            events[epoch].setdefault(tick, arrivals[0][0])
        return [share(epoch, packets[epoch["epoch"]], collections.Counter(
            events[epoch["epoch"]].values())) for epoch in self.epochs]


def share(epoch, packets, events):
    """Returns the part of shares() about 'epoch', of which each member got so
    many 'packets' and 'events'.

    How many events find a member's slots is left to chance, if the ticks are:
    the share may be off by four standard deviations."""
    total = sum(events.values())
    slots = collections.Counter(epoch["slots"])
    members = {}
    for member in sorted(set(slots) | {m for m in events if m is not None}):
        part = slots[member] / len(epoch["slots"])
        got = events[member] / total if total else 0
        allowed = (4 * math.sqrt(part * (1 - part) / total) + 1 / total
                   if total else 0)
        members[str(member)] = {
            "packets": packets[member], "events": events[member],
            "share": round(got, 4), "slots": slots[member],
            "calendar": round(part, 4), "allowed": round(allowed, 4),
            "ok": abs(got - part) <= allowed}
    return {"epoch": epoch["epoch"], "from": epoch["from"],
            "packets": sum(packets.values()), "events": total,
            "members": members}


def print_report(report):
    """Prints the report as a table."""
    print("%-6s %-12s %-7s %9s %8s %8s %9s %9s"
          % ("epoch", "from tick", "member", "packets", "events", "share",
             "calendar", "allowed"))
    for epoch in report["epochs"]:
        for member, got in epoch["members"].items():
            print("%-6d %-12d %-7s %9d %8d %7.2f%% %8.2f%% %8.2f%%"
                  % (epoch["epoch"], epoch["from"], member, got["packets"],
                     got["events"], 100 * got["share"],
                     100 * got["calendar"], 100 * got["allowed"])
                  + ("" if got["ok"] else "  <-- wrong"))
    print("packets in %(packets_in)d, out %(packets_out)d; lost %(lost)d, "
          "misrouted %(misrouted)d, duplicated %(duplicated)d, foreign "
          "%(foreign)d; events %(events)d, split %(split_events)d" % report)


def find_faults(report):
    """Returns what is wrong, in words; nothing if the run was without a
    fault."""
    faults = ["%s: %d" % (name, report[name]) for name in MUST_BE_0
              if report[name]]
    if not report["packets_in"]:
        faults.append("packets_in: 0")
    faults += ["epoch %d: member %s got %.2f%% of the events, not %.2f%%"
               % (epoch["epoch"], member, 100 * got["share"],
                  100 * got["calendar"])
               for epoch in report["epochs"] if epoch["events"]
               for member, got in epoch["members"].items() if not got["ok"]]
    return faults


def log_key(packet):
    """What a packet is known by in the logs of both ends."""
    return (packet["data_id"], packet["event_num"], packet["offset"],
            packet["size"], packet["crc32c"])


def account(config, instance, epoch_log, sent, received):
    """Returns the report of a run by the logs of its ends; 'received' is
    [(member, log)]."""
    result = Account(read_epochs(epoch_log, instance),
                     read_members(config, instance))
    for path in sent:
        for packet in read_log(path):
            tick = int(packet["tick"])
            selector = (tick & 0xffff if packet["version"] == "2"
                        else int(packet["slot_select"]))
            result.send(log_key(packet), packet["data_id"], tick, selector,
                        int(packet["entropy"]))
    for member, path in received:
        for packet in read_log(path):
            result.receive(log_key(packet), member, int(packet["port"]))
    return result.finish()


def write_report(report, path):
    """Writes the report, with what is wrong in it; returns true if nothing
    is."""
    report["faults"] = find_faults(report) + report.get("faults", [])
    with open(path, "w", encoding="utf-8") as out:
        json.dump(report, out, indent=4)
        out.write("\n")
    print_report(report)
    for fault in report["faults"]:
        print("fault: " + fault)
    return not report["faults"]


def main():
    """Runs the program."""
    parser = argparse.ArgumentParser(description="account for every packet")
    parser.add_argument("--config", required=True)
    parser.add_argument("--instance", required=True)
    parser.add_argument("--epochs", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--sent", nargs="+", required=True)
    parser.add_argument("--received", nargs="+", required=True,
                        metavar="ID=LOG")
    args = parser.parse_args()

    received = []
    for item in args.received:
        member, _, path = item.partition("=")
        received.append((int(member), path))
    try:
        report = account(args.config, args.instance, args.epochs, args.sent,
                         received)
    except AccountError as error:
        sys.exit("account: %s" % error)
    sys.exit(0 if write_report(report, args.output) else 1)


if __name__ == "__main__":
    main()
