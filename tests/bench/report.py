# SPDX-License-Identifier: Apache-2.0
"""Figures from samples: medians, ratios, a table and JSON."""

import json
import statistics


def summarize(samples):
    """Turns {case: {cache: [sample]}} into a list of one record a case.  The
    figures are those of the cache setting with the fewest cycles."""
    records = [summarize_case(case, by_cache)
               for case, by_cache in samples.items()]
    rewrite = {r["bytes"]: r for r in records
               if r["name"].split("-")[0] == "rewrite" and r["senders"] == 1}
    for r in records:
        base = rewrite.get(r["bytes"])
        r["ratio_to_rewrite"] = (round(r["cycles"] / base["cycles"], 3)
                                 if base else None)
    return records


def summarize_case(case, by_cache):
    caches = {cache: spread([s["cycles"] for s in samples])
              for cache, samples in by_cache.items()}
    best = min(caches, key=lambda cache: caches[cache]["median"])
    samples = by_cache[best]
    passes = max(s["megaflows"] for s in samples)
    return {
        "name": case.name, "bytes": case.bytes, "members": case.members,
        "cycles": caches[best]["median"],
        "mpps": round(statistics.median(s["mpps"] for s in samples), 3),
        "ratio_to_rewrite": None,
        "passes": round(statistics.median(s["passes"] for s in samples)),
        "megaflows": sum(passes),
        "upcalls": max(s["upcalls"] for s in samples),
        "senders": case.senders, "packets_per_event": case.every,
        "prefixes": sum(map(len, case.epochs)),
        "cache": best, "min": caches[best]["min"], "max": caches[best]["max"],
        "rounds": len(samples), "megaflows_by_pass": passes,
        "subtables": statistics.median(s["subtables"] for s in samples),
        "cpu_share_min": round(min(s["share"] for s in samples), 3),
        "caches": caches,
    }


def relate(records, suffix, other):
    """Gives the record of each case whose name ends with 'suffix' the ratio to
    the one that has 'other' there."""
    by_key = {(r["name"], r["bytes"]): r for r in records}
    for r in records:
        if r["name"].endswith(suffix):
            name = r["name"].removesuffix(suffix) + other
            r["ratio_to" + other.replace("-", "_")] = {
                cache: round(figures["median"] / by_key[name, r["bytes"]][
                    "caches"][cache]["median"], 3)
                for cache, figures in r["caches"].items()}
    return records


def related(records, other):
    """Returns a line for each record that has a ratio to 'other'."""
    for r in records:
        ratios = r.get(f"ratio_to_{other}")
        if ratios:
            yield (f"{r['name']} to {other}: " + ", ".join(
                f"{cache} {ratio:.3f}" for cache, ratio in ratios.items()))


def spread(values):
    return {"median": round(statistics.median(values), 1),
            "min": round(min(values), 1), "max": round(max(values), 1)}


COLUMNS = (
    ("case", "<", lambda r: r["name"]),
    ("bytes", ">", lambda r: r["bytes"]),
    ("members", ">", lambda r: r["members"] or "-"),
    ("cycles", ">", lambda r: f"{r['cycles']:.0f}"),
    ("min", ">", lambda r: f"{r['min']:.0f}"),
    ("max", ">", lambda r: f"{r['max']:.0f}"),
    ("cache", "<", lambda r: r["cache"]),
    ("Mpps", ">", lambda r: f"{r['mpps']:.2f}"),
    ("ratio", ">", lambda r: ("-" if r["ratio_to_rewrite"] is None
                              else f"{r['ratio_to_rewrite']:.2f}")),
    ("emc", ">", lambda r: f"{r['caches']['emc']['median']:.0f}"),
    ("none", ">", lambda r: f"{r['caches']['none']['median']:.0f}"),
    ("smc", ">", lambda r: f"{r['caches']['smc']['median']:.0f}"),
    ("passes", ">", lambda r: r["passes"]),
    ("megaflows", ">", lambda r: "+".join(
        str(n) for n in r["megaflows_by_pass"][:r["passes"]])),
    ("upcalls", ">", lambda r: r["upcalls"]),
)


def table(records):
    """Returns the records as lines of a table."""
    rows = [[name for name, _, _ in COLUMNS]]
    rows += [[str(value(r)) for _, _, value in COLUMNS] for r in records]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(f"{cell:{align}{width}}" for cell, (_, align, _), width
                       in zip(row, COLUMNS, widths)).rstrip()
             for row in rows]
    return [lines[0], "-" * max(map(len, lines))] + lines[1:]


def write_json(path, records):
    with open(path, "w") as f:
        json.dump({"cases": records}, f, indent=1)
        f.write("\n")
