# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording Intel PT: a device of 500 MB/s a CPU, on two CPUs (tests/fake_pt).

It measures the recorder's CPU time for each gigabyte. The peers are perf record's loop on the same
device (write(2) from the kernel's buffer), and dd, which writes data from its cache. The device is
a separate process and does not count.
"""

import json
import os
import pathlib
import re
import shutil
import time

from harness import Part, Unavailable, in_turn, spread, table

RATE = 500
LONG, SHORT = 30, 5

FILES = {
    "type": "6",
    "format/tsc": "config:10",
    "format/noretcomp": "config:11",
    "format/pt": "config:0",
    "format/branch": "config:13",
    "format/psb_period": "config:24-27",
}


def machine(bench):
    """The fake's sysfs, and the trace of a real program, which its processor plays."""
    fake = bench.build / "tests" / "fake_pt"
    if not (fake / "fake_device").exists():
        raise Unavailable("the fake Intel PT is for x86-64, and is not in this build")
    root = bench.scratch / "aux"
    pmu = root / "sys/bus/event_source/devices/intel_pt"
    cpu = root / "sys/devices/system/cpu"
    for folder in (pmu / "format", cpu):
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (pmu / name).write_text(text + "\n")
    for name in ("online", "present"):
        (cpu / name).write_text("0-1\n")
    trace = str(root / "trace.data")
    bench.run([str(bench.build / "tests/pt/pt_trace"), "--tsc", "--mtc", "--psb", "16384", trace,
               str(root / "truth"), bench.program("flow"), "indirect"])
    env = dict(bench.env, SYSFS_PATH=str(root / "sys"), FAKE_PT_DEVICE=str(fake / "fake_device"),
               FAKE_PT_TRACE=trace, FAKE_PT_DIR=str(root), FAKE_PT_RATE=str(RATE))
    return root, env, ["env", "LD_PRELOAD=" + str(fake / "fake_pt.so")]


def device(root):
    """What the device says when its recorder has gone."""
    for _ in range(100):
        if (root / "stats").exists():
            return json.loads((root / "stats").read_text())
        time.sleep(0.05)
    raise Unavailable("the fake device said nothing at its end")


def record(bench, fake, tool, seconds):
    """GB, CPU seconds a GB, and the device's numbers."""
    root, env, words = fake
    out = str(root / "out.data")
    for name in ("stats", "done"):
        bench.remove(str(root / name))
    env = dict(env, FAKE_PT_SECONDS=str(seconds))
    if tool == "assay":
        said = bench.run([*words, bench.assay, "record", "-a", "-e", "intel_pt//u", "-o", out, "--",
                          "sleep", str(seconds + 1)], env=env).output
        cpu = float(re.search(r"itself used (\d+) ms", said).group(1)) / 1000
    else:
        said = bench.run([*words, bench.tool("aux_loop"), out, str(seconds + 1)], env=env).output
        cpu = float(said.split()[-1])
    stats = device(root)
    bench.remove(out)
    bench.remove(out + ".old")
    return stats["stored"] / 1e9, cpu / (stats["stored"] / 1e9), stats


def dd(bench):
    """CPU seconds a GB."""
    out = bench.path("dd.out")
    run = bench.run(["dd", "if=/dev/zero", "of=" + out, "bs=1M", "count=2000", "status=none"])
    bench.remove(out)
    return run.cpu / 2.097


def measure(bench, rounds):
    fake = machine(bench)
    seconds = LONG if shutil.disk_usage(bench.scratch).free > 50e9 else SHORT
    gigabytes, cost, stats = record(bench, fake, "assay", seconds)
    runs = in_turn(["assay", "perf's loop", "dd"], rounds,
                   lambda tool: dd(bench) if tool == "dd"
                   else record(bench, fake, "assay" if tool == "assay" else "loop", SHORT)[1])
    rate = stats["produced"] / 1e6 / 2 / (stats["ms"] / 1000)
    rows = [["no byte lost", f"{seconds} s, {rate:.0f} MB/s a CPU",
             f"{gigabytes:.1f} GB taken, {stats['dropped'] / 1e6:.1f} MB lost in "
             f"{stats['truncated']} cuts, {cost:.2f} s of CPU a GB"]]
    for tool, values in runs.items():
        ratio = [a / b for a, b in zip(runs["assay"], values)]
        rows.append([f"CPU s a GB, {tool}", spread(values, "{:.2f}"),
                     "" if tool == "assay" else "assay ÷ this " + spread(ratio, "{:.2f}")])
    load = os.getloadavg()[0]
    return table(["recording Intel PT", "", ""], rows) + (
        f"\nTo reach: no byte lost in 30 s at {RATE} MB/s on each of two CPUs, and at most half the "
        f"CPU time of perf's loop. The device is slower than that where the machine is busy: "
        f"load {load:.1f}.\n")


PARTS = {"aux": Part("recording Intel PT from a fake device", 3, measure)}
