# SPDX-License-Identifier: GPL-2.0-or-later
"""Time and memory of the report with an inclusive call tree: the C build at 4000 Hz, fp.

Each tool reports its own recording of the same work. Everything was read once before, so the
files are in the page cache; assay's symbol cache is empty for "cold".
"""

from harness import Part, in_turn, ratios, spread, table


def measure(bench, rounds):
    folder, work = bench.c_build(heavy=True)
    out = {tool: bench.path("report." + tool) for tool in ("perf", "assay")}
    samples = {}
    for tool, path in out.items():
        bench.run_over(bench.recorder(tool, 4000, "fp", path), work, cwd=folder)
        samples[tool] = bench.samples_of(tool, path)
    cache = bench.path("cold-cache")
    perf_words = [bench.perf, "report", "--stdio", "--children", "-g", "graph", "-i", out["perf"]]
    variants = {
        "perf": perf_words,
        "perf --no-inline": [*perf_words, "--no-inline"],
        "assay, cold symbol cache": [bench.assay, "report", "--tree", "-i", out["assay"]],
        "assay, second run": [bench.assay, "report", "--tree", "-i", out["assay"]],
    }

    def run(name):
        env = dict(bench.env)
        if "cold" in name:
            bench.remove(cache)
            env["XDG_CACHE_HOME"] = cache
        return bench.run_over([], variants[name], env=env)

    for name in variants:
        run(name)
    results = in_turn(list(variants), rounds, run)
    rows = []
    for name, runs in results.items():
        wall = [r.wall for r in runs]
        row = [name, spread(wall, "{:.3f}"), spread([r.work_peak / 1e6 for r in runs], "{:.0f}")]
        for peer in ("perf", "perf --no-inline"):
            theirs = results[peer]
            row.append(spread(ratios(wall, [r.wall for r in theirs]), "{:.3f}") + ", " + spread(
                ratios([r.work_peak for r in runs], [r.work_peak for r in theirs]), "{:.3f}")
                if name.startswith("assay") else "")
        rows.append(row)
    counts = ", ".join(f"{tool} {n}" for tool, n in samples.items())
    return table(["report with call tree", "wall s", "peak MB", "÷ perf: time, memory",
                  "÷ perf --no-inline: time, memory"], rows) + (
        f"\nSamples: {counts}. To reach: a tenth of perf's time (a quarter with a cold symbol "
        "cache) and an eighth of its memory.\n")


PARTS = {"report": Part("report of 100,000 samples with an inclusive call tree", 5, measure)}
