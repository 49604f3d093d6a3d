# SPDX-License-Identifier: GPL-2.0-or-later
"""The slow-down of the work, and the recorder's own CPU time.

The work's wall time is taken below the profiler (bench/timed), so neither start nor end of the
profiler counts. Own CPU time is the CPU time of the whole process tree (wait4) minus the work's.
The kernel charges interrupts to the work, so they are part of the slow-down, not of own CPU time.
perf is tuned (--no-bpf-event), which is its best.
"""

import functools

from harness import Part, Unavailable, in_turn, ratios, spread, table

RATES = (999, 4000)
STACKS = ("flat", "fp")


def work_of(bench, name):
    """(words, folder) of a piece of work of two to five seconds."""
    if name == "build":
        folder, words = bench.c_build(heavy=False)
        return words, folder
    return {
        "split": [bench.program("split"), "4000"],
        "deep": [bench.program("deep"), "40000"],
        "tcp": [bench.tool("pingpong"), "4", "60000"],
    }[name], None


def profiler_of(bench, variant):
    tool, hz, stacks = variant
    if tool == "none":
        return []
    if tool == "floor":
        return [bench.tool("floor"), str(hz)]
    return bench.recorder(tool, hz, stacks, bench.path("slow." + tool.replace(" ", "-")))


def floor_works(bench):
    try:
        bench.run([bench.tool("floor"), "99", "true"])
        return True
    except Unavailable:
        return False


def against(runs, others):
    """The work's time as a ratio: wall, then CPU, which other work on the machine disturbs less."""
    if not others:
        return ""
    return ", ".join(spread(ratios([getattr(r, key) for r in runs],
                                   [getattr(r, key) for r in others]), "{:.3f}")
                     for key in ("work_wall", "work_cpu"))


def measure(name, bench, rounds):
    words, folder = work_of(bench, name)
    has_floor = floor_works(bench)
    variants = [("none", 0, "")]
    for hz in RATES:
        if has_floor:
            variants.append(("floor", hz, ""))
        variants += [(tool, hz, s) for s in STACKS for tool in ("perf tuned", "assay")]

    results = in_turn(variants, rounds,
                      lambda v: bench.run_over(profiler_of(bench, v), words, cwd=folder))
    bare = results[variants[0]]
    rows = []
    for variant in variants:
        tool, hz, stacks = variant
        runs = results[variant]
        floor = results.get(("floor", hz, ""), [])
        is_profiler = tool not in ("none", "floor")
        rows.append([tool, hz or "", stacks,
                     spread([r.work_wall for r in runs], "{:.2f}"),
                     against(runs, bare if tool != "none" else []),
                     against(runs, floor if is_profiler else []),
                     spread([r.own_cpu for r in runs], "{:.3f}") if is_profiler else ""])
    notes = []
    for hz in RATES:
        for stacks in STACKS:
            own = {t: [r.own_cpu for r in results[(t, hz, stacks)]] for t in ("assay", "perf tuned")}
            notes.append(f"{hz} Hz {stacks} {spread(ratios(own['assay'], own['perf tuned']))}")
    text = table(["profiler", "Hz", "stacks", "wall s", "÷ none: wall, CPU",
                  "÷ floor: wall, CPU", "own CPU s"], rows)
    text += "\nassay's own CPU ÷ perf's: " + ", ".join(notes) + ".\n"
    text += "To reach: ÷ floor within noise of 1, own CPU ÷ perf's at most 1.\n"
    if not has_floor:
        text += "The floor needs BPF, which this user or machine does not permit.\n"
    return text


PARTS = {
    "slowdown-split": Part("slow-down of a CPU-bound program", 5,
                           functools.partial(measure, "split")),
    "slowdown-deep": Part("slow-down of a program 60 calls deep", 5,
                          functools.partial(measure, "deep")),
    "slowdown-build": Part("slow-down of a C build of 600 processes", 3,
                           functools.partial(measure, "build")),
    "slowdown-tcp": Part("slow-down of four TCP request-response pairs", 5,
                         functools.partial(measure, "tcp")),
}
