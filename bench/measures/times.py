# SPDX-License-Identifier: GPL-2.0-or-later
"""What exact times cost, and what they are worth.

The same build is recorded with the time of each sample and without (--no-exact-time). A window of
10 ms is read from a synthetic day, one hour of which has exact times. A program alternates two
functions every 5 ms: the windows of its turns must name the right function.
"""

import json
import os
import re

from harness import Part, in_turn, ratios, size_of, spread, table

RECORDERS = {"record": ([], 1.1), "record -a": (["-a"], 1.3)}
TIMES = {"with": [], "without": ["--no-exact-time"]}
HZ = 997
EXACT_HOUR = 14
WINDOW = ["--since", "2026-06-01T14:20:07.500Z", "--until", "2026-06-01T14:20:07.510Z"]
TURNS = 200


def recording(bench, rounds):
    folder, work = bench.c_build(heavy=False)
    sizes = {}

    def run(variant):
        name, times = variant
        out = bench.path("times.assay")
        argv = [bench.assay, "record", "-q", *RECORDERS[name][0], "-F", str(HZ), "-e", "cpu-clock",
                *TIMES[times], "-o", out, "--"]
        result = bench.run_over(argv, work, cwd=folder)
        n = bench.samples_of("assay", out)
        sizes.setdefault(variant, []).append((size_of(out) / n, n))
        bench.remove(out)
        return result

    names = [n for n in RECORDERS if n == "record" or not os.geteuid()]
    variants = [(name, times) for name in names for times in TIMES]
    results = in_turn(variants, rounds, run)
    rows = []
    for name in names:
        on, off = (name, "with"), (name, "without")
        rows.append([name, spread([n for _, n in sizes[on]], "{:.0f}"),
                     spread([b for b, _ in sizes[on]], "{:.2f}"),
                     spread([b for b, _ in sizes[off]], "{:.2f}"), "≤ 3 more",
                     spread([r.own_cpu for r in results[on]], "{:.2f}"),
                     spread([r.own_cpu for r in results[off]], "{:.2f}"),
                     spread(ratios([r.own_cpu for r in results[on]],
                                   [r.own_cpu for r in results[off]]), "{:.2f}"),
                     spread(ratios([r.cpu for r in results[on]], [r.cpu for r in results[off]]),
                            "{:.3f}"), f"≤ {RECORDERS[name][1]}"])
    return table(["997 Hz", "samples", "bytes a sample, with times", "without", "to reach",
                  "assay's CPU s, with", "without", "ratio", "ratio with the work's", "to reach"], rows)


def window(bench, rounds):
    day = bench.path("exact-day")
    bench.run([bench.tool("history"), day, "24", "50000000", "8000", str(EXACT_HOUR)])
    raw = size_of(day)
    report = [bench.assay, "report", "-i", day, *WINDOW]
    before = bench.run_over([], report)
    bench.run_over([], [bench.assay, "retain", "-q", day, "--tier", "minutes=never", "--tier",
                        "hours=never", "--tier", "days=never"])
    kept = size_of(day)
    bench.run_over([], report)
    runs = [bench.run_over([], report) for _ in range(rounds)]
    bench.remove(day)
    return table(["a window of 10 ms", "wall s", "to reach"],
                 [["of parts as recorded, warm", f"{before.wall:.3f}", "≤ 0.2"],
                  ["of packed parts, warm", spread([r.wall for r in runs], "{:.3f}"), "≤ 0.2"]]) + (
        f"\nThe day has {raw / 1e6:.0f} MB, and packed {kept / 1e6:.0f} MB.\n")


def turns(bench, rounds):
    """(right, all) samples of the windows of 5 ms, over all rounds."""
    right = total = 0
    for _ in range(rounds):
        out = bench.path("turns.assay")
        bench.remove(out)
        printed = bench.run([bench.assay, "record", "-q", "-F", "4000", "-e", "cpu-clock", "-o", out,
                             "--", bench.program("alternates"), str(TURNS)]).output
        samples = bench.run([bench.assay, "script", "-i", out, "--format", "json"]).output
        ends = [(int(ns), name) for ns, name in re.findall(r"^(\d+) (\w+)$", printed, re.M)]
        at = 0
        for sample in map(json.loads, samples.splitlines()):
            symbols = [frame.get("symbol") for frame in sample["frames"]]
            ran = next((s for s in symbols if s in ("tick", "tock")), None)
            while at < len(ends) and ends[at][0] < sample["time_ns"]:
                at += 1
            if ran and at < len(ends):
                total += 1
                right += ran == ends[at][1]
    return right, total


def alternating(bench, rounds):
    right, total = turns(bench, rounds)
    return table(["samples of two functions in turns of 5 ms", "right", "to reach"],
                 [[str(total), f"{100 * right / max(total, 1):.2f} %", "≥ 99 %"]])


PARTS = {
    "times": Part("what exact times cost a recording of a C build", 5, recording),
    "times-window": Part("10 ms of a day that has an hour of exact times", 5, window),
    "times-turns": Part("the right function in each turn of 5 ms", 3, alternating),
}
