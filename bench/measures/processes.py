# SPDX-License-Identifier: GPL-2.0-or-later
"""The process report of a session of 5,000 processes. A second part compares it with perf's list of
processes and functions, for 2,000 short processes on the whole machine.

The session is made by bench/many_processes: 300,000 samples, all names in it. For the second part
each tool reports its own recording; files and symbol caches were read before.
"""

import os

from harness import Part, Unavailable, in_turn, ratios, spread, table

WORK = "i=0; while [ $i -lt 2000 ]; do md5sum {} >/dev/null; i=$((i + 1)); done"


def of_session(bench, rounds):
    session = bench.path("many")
    bench.run([bench.tool("many_processes"), session, "5000"])
    words = [bench.assay, "report", "--processes", "-i", session, "-o", bench.path("out")]
    variants = {
        "text": words,
        "text, all rows": [*words, "-t", "0"],
        "JSON, all rows": [*words, "--format", "json"],
        "page": [*words[:-2], "-t", "0", "--html", bench.path("page")],
    }

    def run(name):
        return bench.run_over([], variants[name])

    for name in variants:
        run(name)
    results = in_turn(list(variants), rounds, run)
    rows = [[name, spread([r.wall for r in runs], "{:.3f}"), spread([r.cpu for r in runs], "{:.3f}"),
             spread([r.work_peak / 1e6 for r in runs], "{:.0f}")] for name, runs in results.items()]
    return table(["process report of 5,000 processes", "wall s", "CPU s", "peak MB"], rows) + (
        "\nTo reach: under 1 s.\n")


def beside_perf(bench, rounds):
    if os.geteuid():
        raise Unavailable("the whole machine is recorded, which needs root")
    data = bench.path("data")
    with open(data, "wb") as file:
        file.write(os.urandom(2 << 20))
    out = {tool: bench.path("processes." + tool) for tool in ("perf", "assay")}
    work = ["sh", "-c", WORK.format(data)]
    bench.run([bench.perf, "record", "-q", "-a", "-g", "-F", "2000", "-o", out["perf"], "--", *work])
    bench.run([bench.assay, "record", "-q", "-a", "-F", "2000", "--call-graph=fp", "-o",
               out["assay"], "--", *work])
    variants = {
        "perf": [bench.perf, "report", "--stdio", "--no-children", "-g", "none", "--sort",
                 "pid,sym", "-i", out["perf"]],
        "assay": [bench.assay, "report", "--processes", "-t", "0", "-i", out["assay"]],
    }

    def run(name):
        return bench.run_over([], variants[name])

    for name in variants:
        run(name)
    results = in_turn(list(variants), rounds, run)
    rows = []
    for name, runs in results.items():
        row = [name, spread([r.wall for r in runs], "{:.3f}"),
               spread([r.work_peak / 1e6 for r in runs], "{:.0f}"), ""]
        if name == "assay":
            row[3] = spread(ratios([r.wall for r in runs], [r.wall for r in results["perf"]]),
                            "{:.3f}")
        rows.append(row)
    return table(["processes and their functions", "wall s", "peak MB", "÷ perf"], rows)


def measure(bench, rounds):
    return of_session(bench, rounds) + "\n" + beside_perf(bench, rounds)


PARTS = {"processes": Part("the process report of 5,000 processes", 5, measure)}
