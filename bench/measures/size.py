# SPDX-License-Identifier: GPL-2.0-or-later
"""Bytes on disk a sample: the C build at 4000 Hz."""

from harness import Part, in_turn, ratios, size_of, spread, table

TARGET = {"fp": 10, "flat": 3}


def measure(bench, rounds):
    folder, work = bench.c_build(heavy=True)
    samples = {}

    def run(variant):
        tool, stacks = variant
        out = bench.path("size." + tool)
        bench.run_over(bench.recorder(tool, 4000, stacks, out), work, cwd=folder)
        samples.setdefault(variant, []).append(bench.samples_of(tool, out))
        return size_of(out) / samples[variant][-1]

    variants = [(tool, stacks) for stacks in TARGET for tool in ("perf", "assay")]
    results = in_turn(variants, rounds, run)
    rows = []
    for stacks, target in TARGET.items():
        ours, theirs = results[("assay", stacks)], results[("perf", stacks)]
        rows.append([stacks, spread(samples[("assay", stacks)], "{:.0f}"),
                     spread(theirs, "{:.1f}"), spread(ours, "{:.2f}"),
                     spread(ratios(ours, theirs), "{:.3f}"), f"≤ {target}"])
    return table(["stacks", "samples (assay)", "perf, bytes a sample", "assay, bytes a sample",
                  "assay ÷ perf", "to reach"], rows)


PARTS = {"size": Part("bytes a sample on disk, C build at 4000 Hz", 2, measure)}
