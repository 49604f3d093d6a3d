# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of ten minutes of two CPUs at 999 Hz, with the time of each sample: size and speed.

bench/page.mjs opens it in Chromium. It is interactive when the first graph is painted. A second page
has more than 250,000 boxes, so that light ones are in boxes "other".
"""

import json
import os
import pathlib
import shutil

from harness import Part, Unavailable, size_of, spread, table

CHAINS = {"the page": "20000", "250,000 boxes": "120000"}
LINES = {"ready": ("s until it is interactive", "≤ 0.6"), "cpu": ("s of CPU time until then", ""),
         "tree": ("ms for the graph of another range", ""),
         "zoom": ("ms a frame while the timeline zooms, longest", "≤ 33"),
         "tracks": ("ms to paint the threads", ""), "heat": ("ms to paint the heat map", ""),
         "graph": ("ms a frame while the graph zooms, longest", "≤ 33"),
         "middle": ("ms a frame while the graph zooms, median", ""),
         "pan": ("ms a frame while the graph moves, a quarter in view, longest", "≤ 33"),
         "interval": ("ms from frame to frame then, median", "≤ 33"),
         "other": ("ms to open a box \"other\"", "")}


def measure(bench, rounds):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    if not chromium or not (root / "tests/npm/node_modules/playwright-core").is_dir():
        raise Unavailable("Chromium or playwright-core is not installed")
    env = dict(bench.env, CHROMIUM=chromium, HOME=os.environ.get("HOME", "/root"))
    columns = []
    for name, chains in CHAINS.items():
        session, page = bench.path("big" + chains), bench.path(chains + ".html")
        bench.run([bench.tool("big_session"), session, "600", "1998", chains, "exact"])
        made = bench.run_over([], [bench.assay, "report", "-i", session, "--html", page])
        runs = [json.loads(bench.run(["node", str(root / "bench/page.mjs"), page], env=env).output)
                for _ in range(rounds)]
        columns.append([f"{size_of(page) / 1e6:.2f}", f"{made.wall:.1f}",
                        *(str(runs[0][key]) for key in ("boxes", "hidden", "samples")),
                        *(spread([r[key] for r in runs], "{:.2f}" if key in ("ready", "cpu") else "{:.1f}")
                          for key in LINES)])
    what = [("MB of the page", "≤ 8"), ("s to make it", ""), ("boxes", ""), ("light nodes in others", ""),
            ("samples", ""), *LINES.values()]
    rows = [[name, *(column[i] for column in columns), goal] for i, (name, goal) in enumerate(what)]
    return table(["", *CHAINS, "to reach"], rows)


PARTS = {"page": Part("the page of ten minutes with exact times", 5, measure)}
