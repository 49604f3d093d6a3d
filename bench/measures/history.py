# SPDX-License-Identifier: GPL-2.0-or-later
"""Windows of a daemon's history, and its retention: a synthetic day of 50 million samples on 16 CPUs.

There is no peer, because perf keeps no history. The last row has the cost of the report before the
parts are packed. "Cold" means that the history is not in the page cache.
"""

import os
import pathlib

from harness import Part, in_turn, spread, table

NO_TIERS = ["--tier", "minutes=never", "--tier", "hours=never", "--tier", "days=never"]
TIERS = ["--tier", "minutes=1d", "--tier", "hours=never", "--tier", "days=never"]
HOUR = ["--since", "2026-06-01T12:20:07Z", "--until", "2026-06-01T13:20:07Z"]
WHOLE_HOUR = ["--since", "2026-06-01T12:00Z", "--until", "2026-06-01T13:00Z"]
OTHERS = {
    "an hour from 12:29:37 on, warm": ["12:29:37", "13:29:37"],
    "10 minutes from 12:03:33 on, warm": ["12:03:33", "12:13:33"],
    "3 h 17 min from 12:20:07 on, warm": ["12:20:07", "15:37:07"],
    "a day from 00:20:07 on, warm": ["00:20:07", "23:59:53"],
}
SECONDS = ["--at", "2026-06-01T12:20:07Z", "--window", "10s"]


def files_of(folder):
    return [p for p in pathlib.Path(folder).rglob("*") if p.is_file()]


def size_of(folder):
    return sum(p.stat().st_size for p in files_of(folder))


def forget(folder):
    """Out of the page cache."""
    for path in files_of(folder):
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def measure(bench, rounds):
    day = bench.path("day")
    bench.run([bench.tool("history"), day])
    raw = size_of(day)
    report = [bench.assay, "report", "-i", day]
    without = bench.run_over([], report)
    packing = bench.run_over([], [bench.assay, "retain", "-q", day, *NO_TIERS])
    kept = size_of(day)
    variants = {
        "the day, cold": (report, True),
        "the day, warm": (report, False),
        "the day's functions (-l), cold": ([*report, "-l"], True),
        "an hour as the clock has it, warm": ([*report, *WHOLE_HOUR], False),
        "an hour from 12:20:07 on, warm": ([*report, *HOUR], False),
        "10 s, warm": ([*report, *SECONDS], False),
    }
    for name, (first, last) in OTHERS.items():
        window = ["--since", f"2026-06-01T{first}Z", "--until", f"2026-06-01T{last}Z"]
        variants[name] = ([*report, *window], False)

    def run(name):
        argv, is_cold = variants[name]
        if is_cold:
            forget(day)
        return bench.run_over([], argv)

    for name, (argv, is_cold) in variants.items():
        if not is_cold:
            bench.run_over([], argv)
    results = in_turn(list(variants), rounds, run)
    rows = [[name, spread([r.wall for r in runs], "{:.3f}"), spread([r.cpu for r in runs], "{:.3f}"),
             spread([r.work_peak / 1e6 for r in runs], "{:.0f}")] for name, runs in results.items()]
    rows.append(["the day as recorded, warm", f"{without.wall:.3f}", f"{without.cpu:.3f}",
                 f"{without.work_peak / 1e6:.0f}"])
    merged = bench.run_over([], [bench.assay, "retain", "-q", day, *TIERS])
    return table(["report of", "wall s", "CPU s", "peak MB"], rows) + "\n" + table(
        ["retention", "s", "MB on disk"],
        [["as recorded: blocks of a second", "", f"{raw / 1e6:.0f}"],
         ["packed, with overviews", f"{packing.wall:.1f}", f"{kept / 1e6:.0f}"],
         ["merged to minutes", f"{merged.wall:.1f}", f"{size_of(day) / 1e6:.0f}"]],
    ) + ("\nTo reach: an hour below 0.1 s warm, the day below 1 s cold, the day below 600 MB.\n")


PARTS = {"history": Part("windows of a day of 50 million samples, and its retention", 5, measure)}
