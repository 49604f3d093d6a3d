# SPDX-License-Identifier: GPL-2.0-or-later
"""Intel PT decoded: instructions a second of CPU time, one core, on a trace of gzip -9.

The trace is the generator's, of user space with TSC and MTC; qemu-user runs the program.
"""

import resource
import shutil
import subprocess

from harness import Part, Unavailable, ratios, spread, table

INSNS = 100_000_000
ROWS = [("calls and returns, hot", "calls-hot", "libipt-hot", "≥ 8"),
        ("calls and returns, cold", "calls-cold", "libipt-cold", "≥ 2.5"),
        ("all branches, hot", "branches-hot", "libipt-hot", "")]


def make_trace(bench):
    qemu = shutil.which("qemu-x86_64")
    plugin = bench.build / "tests" / "pt" / "libpt_qemu.so"
    if not qemu or not plugin.exists():
        raise Unavailable("qemu-user is not installed (Debian: qemu-user)")
    out, text = bench.scratch / "gzip.data", bench.scratch / "text"
    text.write_bytes(open(bench.perf, "rb").read() * 4)
    subprocess.run([qemu, "-plugin", f"{plugin},out={out},limit={INSNS},mtc=on", shutil.which("gzip"),
                    "-9", "-c", str(text)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return out


def perf_speed(bench, trace):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([bench.perf, "script", "--itrace=e", "-i", str(trace)], check=True, env=bench.env,
                   timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return INSNS / 1e6 / cpu


def measure(bench, rounds):
    trace, speeds = make_trace(bench), {}
    for _ in range(rounds):
        out = subprocess.run([bench.tool("pt_flow"), str(trace)], check=True, text=True, timeout=120,
                             stdout=subprocess.PIPE).stdout
        for line in out.splitlines():
            name, speed = line.split()
            speeds.setdefault(name, []).append(float(speed))
        speeds.setdefault("perf", []).append(perf_speed(bench, trace))
    rows = [["errors alone (perf script --itrace=e)", spread(speeds["perf"], "{:.0f}"),
             spread(speeds["calls-hot"], "{:.0f}"),
             spread(ratios(speeds["calls-hot"], speeds["perf"]), "{:.1f}"), "≥ 10"]]
    for what, ours, theirs, target in ROWS:
        if theirs in speeds:
            rows.append([what + " (libipt's blocks)", spread(speeds[theirs], "{:.0f}"),
                         spread(speeds[ours], "{:.0f}"),
                         spread(ratios(speeds[ours], speeds[theirs]), "{:.1f}"), target])
    return table(["what (peer)", "peer, M/s", "assay, M/s", "assay ÷ peer", "to reach"], rows)


PARTS = {"pt-flow": Part("Intel PT decoded, instructions a second", 3, measure)}
