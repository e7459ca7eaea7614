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
import re
import sys


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


def destination(epochs, members, packet):
    """Returns (epoch, member, port) that 'packet' had to go to, or None."""
    tick = int(packet["tick"])
    epoch = find_epoch(epochs, tick)
    if not epoch:
        return None
    selector = (tick & 0xffff if packet["version"] == "2"
                else int(packet["slot_select"]))
    slot = (selector ^ epoch["xor"]) & ((1 << epoch["bits"]) - 1)
    member = epoch["slots"][slot]
    base, bits = members[member]
    port = (base + (int(packet["entropy"]) & ((1 << bits) - 1))) & 0xffff
    return epoch["epoch"], member, port


def packet_key(packet):
    """What a packet is known by at both ends."""
    return (packet["data_id"], packet["event_num"], packet["offset"],
            packet["size"], packet["crc32c"])


class Account:
    """What was sent against what was received."""

    def __init__(self, epochs, members):
        self.epochs = epochs
        self.members = members
        self.expected = {}          # Packet -> where it had to go.
        self.arrivals = collections.defaultdict(list)
        self.places = collections.defaultdict(set)
        self.counts = collections.Counter()
        self.by_epoch = collections.defaultdict(collections.Counter)

    def send(self, packet):
        """Accounts for a packet that was sent."""
        key = packet_key(packet)
        if key in self.expected:
            sys.exit("%s was sent twice: it cannot be told apart" % (key,))
        where = destination(self.epochs, self.members, packet)
        if where is None:
            sys.exit("tick %s belongs to no epoch" % packet["tick"])
        self.expected[key] = (where, packet["tick"])
        self.counts["packets_in"] += 1

    def receive(self, member, packet):
        """Accounts for a packet that 'member' received."""
        self.counts["packets_out"] += 1
        key = packet_key(packet)
        if key not in self.expected:
            self.counts["foreign"] += 1
            return
        port = int(packet["port"])
        self.arrivals[key].append((member, port))
        tick = self.expected[key][1]
        # All packets of an event have to meet at one node, and those of one
        # bundle of it, which one source sent, at one port.
        self.places[tick].add(member)
        self.places[tick, packet["data_id"]].add((member, port))

    def finish(self):
        """Compares, and returns the report."""
        for key, ((epoch, member, port), _) in self.expected.items():
            arrivals = self.arrivals.get(key, [])
            self.by_epoch[epoch][member] += 1
            if not arrivals:
                self.counts["lost"] += 1
            elif any(a != (member, port) for a in arrivals):
                self.counts["misrouted"] += 1
            if len(arrivals) > 1:
                self.counts["duplicated"] += len(arrivals) - 1
        split = {place[0] if isinstance(place, tuple) else place
                 for place, seen in self.places.items() if len(seen) > 1}
        report = {name: self.counts[name]
                  for name in ("packets_in", "packets_out", "lost",
                               "misrouted", "duplicated", "foreign")}
        report["split_events"] = len(split)
        report["events"] = len({tick for _, tick in self.expected.values()})
        report["epochs"] = [self.share(epoch) for epoch in self.epochs]
        return report

    def share(self, epoch):
        """Returns what each member got in 'epoch', against its calendar."""
        packets = self.by_epoch[epoch["epoch"]]
        total = sum(packets.values())
        slots = collections.Counter(epoch["slots"])
        return {"epoch": epoch["epoch"], "from": epoch["from"],
                "packets": total,
                "members": {str(member):
                            {"packets": packets[member],
                             "share": (round(packets[member] / total, 4)
                                       if total else 0),
                             "slots": slots[member],
                             "calendar": round(slots[member]
                                               / len(epoch["slots"]), 4)}
                            for member in sorted(slots)}}


def print_report(report):
    """Prints the report as a table."""
    print("%-8s %-10s %-8s %10s %10s %10s"
          % ("epoch", "from tick", "member", "packets", "share", "calendar"))
    for epoch in report["epochs"]:
        for member, got in epoch["members"].items():
            print("%-8d %-10d %-8s %10d %9.1f%% %9.1f%%"
                  % (epoch["epoch"], epoch["from"], member, got["packets"],
                     100 * got["share"], 100 * got["calendar"]))
    print("packets in %(packets_in)d, out %(packets_out)d; lost %(lost)d, "
          "misrouted %(misrouted)d, duplicated %(duplicated)d, foreign "
          "%(foreign)d; events %(events)d, split %(split_events)d" % report)


def is_clean(report):
    """Returns true if nothing is wrong with 'report'."""
    return (report["packets_in"] > 0
            and not any(report[name] for name in
                        ("lost", "misrouted", "duplicated", "foreign",
                         "split_events")))


def account(config, instance, epoch_log, sent, received):
    """Returns the report of a run; 'received' is [(member, log)]."""
    result = Account(read_epochs(epoch_log, instance),
                     read_members(config, instance))
    for path in sent:
        for packet in read_log(path):
            result.send(packet)
    for member, path in received:
        for packet in read_log(path):
            result.receive(member, packet)
    return result.finish()


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
    report = account(args.config, args.instance, args.epochs, args.sent,
                     received)
    with open(args.output, "w", encoding="utf-8") as out:
        json.dump(report, out, indent=4)
        out.write("\n")
    print_report(report)
    sys.exit(0 if is_clean(report) else 1)


if __name__ == "__main__":
    main()
