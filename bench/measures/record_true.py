# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of recording a program that does nothing: start-up and the end."""

from harness import Part, in_turn, ratios, spread, table


def measure(bench, rounds):
    out = {t: bench.path("true." + t.replace(" ", "-")) for t in ("assay", "perf", "perf tuned")}

    def run(tool):
        bench.remove(out[tool])
        words = {
            "assay": [bench.assay, "record"],
            "perf": [bench.perf, "record", "-q"],
            "perf tuned": [bench.perf, "record", "-q", "--no-bpf-event"],
        }[tool]
        return bench.run([*words, "-o", out[tool], "--", "true"])

    results = in_turn(list(out), rounds, run)
    wall = {t: [r.wall for r in runs] for t, runs in results.items()}
    cpu = {t: [r.cpu for r in runs] for t, runs in results.items()}
    rows = []
    for tool in out:
        row = [tool, spread(wall[tool], "{:.3f}"), spread(cpu[tool], "{:.3f}")]
        if tool == "assay":
            row += ["", ""]
        else:
            row += [spread(ratios(wall["assay"], wall[tool]), "{:.3f}"),
                    spread(ratios(cpu["assay"], cpu[tool]), "{:.3f}")]
        rows.append(row)
    return table(["`record -- true`", "wall s", "CPU s", "assay ÷ this, wall",
                  "assay ÷ this, CPU"], rows) + (
        "\nTo reach: a third of perf tuned's wall time, a fifth of its CPU time. "
        "Tuned is `--no-bpf-event`; `-B` and `-N` change nothing here.\n")


PARTS = {"record-true": Part("recording a program that does nothing", 10, measure)}
