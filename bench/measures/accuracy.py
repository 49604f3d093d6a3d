# SPDX-License-Identifier: GPL-2.0-or-later
"""A flat profile of a program whose split is known, in standard deviations from the truth."""

import json
import math

from harness import Part, Unavailable, in_turn, spread, table

TRUTH = {"forty": 0.4, "thirty": 0.3, "twenty": 0.2, "ten": 0.1}
RATES = (99, 999, 4000)
SECONDS = {99: 10, 999: 5, 4000: 5}


def counts_of_perf(bench, path):
    text = bench.run([bench.perf, "report", "-i", path, "--stdio", "--no-children", "-g", "none",
                      "-F", "sample,sym", "-t", ","]).output
    rows = [line.split(",") for line in text.splitlines() if "," in line and line[0] != "#"]
    return {row[1].split()[-1]: int(row[0]) for row in rows}


def counts_of_assay(bench, path):
    text = bench.run([bench.assay, "report", "-l", "--format", "json", "-i", path]).output
    return {row["symbol"]: row["samples"] for row in json.loads(text)["rows"]
            if row.get("symbol") in TRUTH}


def worst_sigma(counts):
    """The largest distance of the four, each in its binomial standard deviations."""
    n = sum(counts.get(name, 0) for name in TRUTH)
    if n == 0:
        raise Unavailable("the report has none of the four functions")
    return max(abs(counts.get(name, 0) - n * p) / math.sqrt(n * p * (1 - p))
               for name, p in TRUTH.items())


def measure(bench, rounds):
    def run(variant):
        tool, hz = variant
        out = bench.path("split." + tool)
        bench.run([*bench.recorder(tool, hz, "flat", out), bench.program("split"),
                   f"{SECONDS[hz]}s"])
        return worst_sigma((counts_of_assay if tool == "assay" else counts_of_perf)(bench, out))

    variants = [(tool, hz) for hz in RATES for tool in ("perf", "assay")]
    results = in_turn(variants, rounds, run)
    rows = [[hz, SECONDS[hz] * hz, spread(results[("perf", hz)], "{:.2f}"),
             spread(results[("assay", hz)], "{:.2f}"), f"{max(results[('assay', hz)]):.2f}"]
            for hz in RATES]
    return table(["Hz", "samples, about", "perf, worst σ", "assay, worst σ", "largest of all"],
                 rows) + (
        "\nOf the four functions the one furthest from its share. By chance alone the worst of "
        "four is beyond 2.5 σ in about one run of twenty. To reach: within 2.5 σ.\n")


PARTS = {"accuracy": Part("flat profile of a known 40/30/20/10 split", 3, measure)}
