# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of ten minutes of two CPUs at 999 Hz, with the time of each sample: size and speed.

bench/page.mjs opens it in Chromium. It is interactive when the first graph is painted.
"""

import json
import os
import pathlib
import shutil

from harness import Part, Unavailable, size_of, spread, table

LINES = {"ready": ("s until it is interactive", "≤ 0.6"), "tree": ("ms for the graph of another range", ""),
         "zoom": ("ms a frame while the timeline zooms, longest", "≤ 33"),
         "tracks": ("ms to paint the threads", ""), "heat": ("ms to paint the heat map", ""),
         "graph": ("ms a frame while the graph zooms, longest", "≤ 33")}


def measure(bench, rounds):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    if not chromium or not (root / "tests/npm/node_modules/playwright-core").is_dir():
        raise Unavailable("Chromium or playwright-core is not installed")
    session, page = bench.path("big"), bench.path("big.html")
    bench.run([bench.tool("big_session"), session, "600", "1998", "20000", "exact"])
    made = bench.run_over([], [bench.assay, "report", "-i", session, "--html", page])
    env = dict(bench.env, CHROMIUM=chromium, HOME=os.environ.get("HOME", "/root"))
    runs = [json.loads(bench.run(["node", str(root / "bench/page.mjs"), page], env=env).output)
            for _ in range(rounds)]
    rows = [["MB of the page", f"{size_of(page) / 1e6:.2f}", "≤ 8"],
            ["s to make it", f"{made.wall:.1f}", ""], ["boxes", str(runs[0]["boxes"]), ""],
            ["samples", str(runs[0]["samples"]), ""]]
    for key, (what, goal) in LINES.items():
        rows.append([what, spread([r[key] for r in runs], "{:.2f}" if key == "ready" else "{:.1f}"), goal])
    return table(["the page", "", "to reach"], rows)


PARTS = {"page": Part("the page of ten minutes with exact times", 5, measure)}
