# SPDX-License-Identifier: GPL-2.0-or-later
"""The recorder's own peak memory over the C build at 4000 Hz.

Read every 20 ms from /proc/PID/status (VmHWM) of the recorder itself, as rusage would give the
largest of its children, the compiler.
"""

import re

from harness import Part, in_turn, ratios, spread, table

STACKS = ("flat", "fp")


class Watch:
    """The growing peak of one process; the pid it is called with is the recorder's."""

    def __init__(self):
        self.peaks = []

    def __call__(self, pid):
        try:
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
                found = re.search(r"VmHWM:\s+(\d+) kB", status.read())
        except OSError:
            return
        if found:
            self.peaks.append(int(found.group(1)) / 1024)

    def halfway(self):
        return self.peaks[len(self.peaks) // 2] if self.peaks else 0

    def end(self):
        return self.peaks[-1] if self.peaks else 0


def measure(bench, rounds):
    folder, work = bench.c_build(heavy=True)

    def run(variant):
        tool, stacks = variant
        watch = Watch()
        bench.run_over(bench.recorder(tool, 4000, stacks, bench.path("memory." + tool)), work,
                       cwd=folder, watch=watch)
        return watch

    variants = [(tool, stacks) for stacks in STACKS for tool in ("perf", "assay")]
    variants.append(("perf", "dwarf"))
    results = in_turn(variants, rounds, run)
    rows = []
    for variant in variants:
        tool, stacks = variant
        peaks = [w.end() for w in results[variant]]
        theirs = [w.end() for w in results[("perf", stacks)]]
        rows.append([tool, stacks, spread([w.halfway() for w in results[variant]], "{:.1f}"),
                     spread(peaks, "{:.1f}"),
                     spread(ratios(peaks, theirs)) if tool == "assay" else ""])
    return table(["recorder", "stacks", "MB halfway", "MB at the end", "assay ÷ perf"], rows) + (
        "\nTo reach: 64 MB, and no growth between half and end.\n")


PARTS = {"memory": Part("the recorder's peak memory, C build at 4000 Hz", 2, measure)}
