# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions, inlines and lines of 10,000 random addresses of a large C++ program with DWARF.

The program is made by bench/big_program.py (a minute and more). All print the same to /dev/null.
"""

import random
import shutil
import subprocess
import sys
import pathlib

from harness import Part, Unavailable, in_turn, ratios, spread, table

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tests"))

from compare_lines import text_section  # noqa: E402


def measure(bench, rounds):
    if not shutil.which("llvm-symbolizer") or not shutil.which("addr2line"):
        raise Unavailable("needs llvm-symbolizer and addr2line")
    maker = pathlib.Path(__file__).resolve().parent.parent / "big_program.py"
    program = subprocess.run([str(maker), bench.path("big"), "8"], check=True, text=True,
                             capture_output=True).stdout.strip()
    start, size = text_section(program)
    where, cache = bench.path("addresses"), bench.path("lines-cache")
    random.seed(1)
    pathlib.Path(where).write_text(
        "".join(f"{start + random.randrange(size):#x}\n" for _ in range(10000)))
    tool = bench.tool("lines")
    variants = {
        "assay, cold": f"{tool} {program}",
        "assay, cached": f"{tool} -c {cache} {program}",
        "llvm-symbolizer": f"llvm-symbolizer --no-demangle --inlines --obj={program}",
        "addr2line": f"addr2line -afie {program}",
    }

    def run(name):
        return bench.run_over([], ["sh", "-c", f"exec {variants[name]} <{where} >/dev/null"])

    for name in variants:
        run(name)
    results = in_turn(list(variants), rounds, run)
    rows = []
    for name, runs in results.items():
        row = [name, spread([r.wall for r in runs], "{:.3f}"),
               spread([r.work_cpu for r in runs], "{:.3f}"),
               spread([r.work_peak / 1e6 for r in runs], "{:.0f}")]
        for peer in ("llvm-symbolizer", "addr2line"):
            row.append(spread(ratios([r.wall for r in runs], [r.wall for r in results[peer]]),
                              "{:.3f}") if name.startswith("assay") else "")
        rows.append(row)
    megabytes = pathlib.Path(program).stat().st_size / 1e6
    return table(["10,000 addresses", "wall s", "CPU s", "peak MB", "÷ llvm-symbolizer",
                  "÷ addr2line"], rows) + (
        f"\nThe program has {megabytes:.0f} MB. To reach: cold at most a fifth of the faster "
        "peer's time, cached at most a fiftieth, memory at most theirs.\n")


PARTS = {"lines": Part("lines and inlined functions of 10,000 addresses", 5, measure)}
