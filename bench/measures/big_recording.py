# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory of report, script, import and every export of a recording of 4 GB (BIG_GB).

The recording is one of a C build, repeated with later times (bench/repeat_recording.py). The peak is
that of anonymous and shared memory of the command and its children together. Pages of files do not
count, as the kernel can take them back at any time.
"""

import os
import pathlib
import re
import subprocess
import sys

from harness import Part, size_of, table

GB = float(os.environ.get("BIG_GB", "4"))
GOAL_MB = 300
# NAME: words behind `assay`. OUT is a path for formats that need a file.
COMMANDS = {
    "report": ["report"],
    "report --tree": ["report", "--tree"],
    "report --html": ["report", "--html", "OUT"],
    "script": ["script"],
    **{f"export {name}": ["export", "--format", name, "-o", "OUT"] for name in (
        "csv", "json", "sqlite", "pprof", "otlp", "folded", "callgrind", "chrome",
        "speedscope", "perfetto", "firefox")},
}


def children_of(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            yield int(child)


def memory_of(pid):
    """Anonymous and shared MB of a process and those below it."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        own = sum(int(kb) for kb in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", status, re.M)) / 1024
        return own + sum(memory_of(child) for child in children_of(pid))
    except OSError:
        return 0


def peak_of(bench, words):
    """(peak MB, CPU seconds, or the message of a command that failed)."""
    out, peak = bench.path("big-out"), [0]
    bench.remove(out)

    def watch(pid):
        peak[0] = max(peak[0], memory_of(pid))

    argv = ["sh", "-c", 'exec "$@" >/dev/null', "sh", bench.assay, *[out if w == "OUT" else w for w in words]]
    result = bench.run(argv, watch=watch)
    return peak[0], result.cpu, size_of(out) / 1e6 if os.path.exists(out) else 0


def measure(bench, rounds):
    folder, build = bench.c_build(heavy=False)
    unit, big, session = bench.path("unit.data"), bench.path("big.data"), bench.path("big.assay")
    bench.run([bench.perf, "record", "-q", "-e", "cpu-clock", "-F", "5000", "-a", "-g", "-o", unit, "--", *build],
              cwd=folder)
    maker = pathlib.Path(__file__).resolve().parent.parent / "repeat_recording.py"
    subprocess.run([sys.executable, maker, unit, big, str(GB)], check=True)
    rows = [["import", *row_of(bench, ["import", big, "-o", session])]]
    for name, words in COMMANDS.items():
        for kind, source in ("recording", big), ("session", session):
            rows.append([f"{name}, {kind}", *row_of(bench, [*words, "-i", source])])
            print(rows[-1], file=sys.stderr, flush=True)
    return table(["command", "peak MB", "CPU s", "output MB"], rows) + f"\nTo reach: {GOAL_MB} MB.\n"


def row_of(bench, words):
    peak, cpu, made = peak_of(bench, words)
    return [f"{peak:.0f}", f"{cpu:.1f}", f"{made:.0f}"]


PARTS = {"big-recording": Part("memory for a recording of 4 GB", 1, measure)}
