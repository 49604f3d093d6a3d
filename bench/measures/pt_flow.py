# SPDX-License-Identifier: GPL-2.0-or-later
"""Intel PT decoded: instructions a second of CPU time, one core, on traces of programs.

The traces are the generator's, of user space with TSC and MTC; qemu-user runs the programs.
"""

import pathlib
import resource
import shutil
import subprocess

import sources
from harness import Part, Unavailable, ratios, spread, table

INSNS = 100_000_000
COLD_INSNS = 50_000_000
MILLION_GOALS = {"python3": "; ≥ 1000 M/s", "cc1": "; ≥ 1000 M/s"}
ROWS = [("calls and returns, hot", "calls-hot", "libipt-hot", "≥ 8"),
        ("calls and returns, cold", "calls-cold", "libipt-cold", "≥ 2.5"),
        ("all branches, hot", "branches-hot", "libipt-hot", "")]

# Interpreted code: a trace of many indirect branches, twice as dense as gzip's.
PYTHON = """
import json, re
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
counts = {}
for i in range(10 ** 9):
    s = str(i * 7919 % 100003)
    counts[s] = counts.get(s, 0) + len(s)
    if i % 1000 == 0:
        json.dumps(list(counts.items())[:50]); fib(12); re.sub(r'(\\d)(\\d)', r'\\2\\1', s * 10)
"""

SQL = """
CREATE TABLE t(a INTEGER, b TEXT);
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000000) INSERT INTO t SELECT x, hex(x * 7919) FROM c;
CREATE INDEX i ON t(b);
SELECT count(*), max(b) FROM t WHERE b LIKE '%12%' GROUP BY a % 100;
"""


TEXT_BYTES = 16 << 20  # gzip -9 runs 100 million instructions long before its end


def compiler_input(bench):
    """A preprocessed C file, and cc1 itself: the emulator follows one process."""
    folder, cc = bench.scratch / "cc1", shutil.which("gcc")
    if not cc:
        raise Unavailable("gcc is not installed")
    if not folder.exists():
        sources.write(folder, 1, 400)
    source = next(folder.glob("*.c"))
    subprocess.run([cc, "-E", "-P", str(source), "-o", str(folder / "one.i")], check=True)
    cc1 = subprocess.run([cc, "-print-prog-name=cc1"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    return cc1, ["-quiet", "-O2", str(folder / "one.i"), "-o", "/dev/null"]


def make_kernel_trace(bench, out):
    """Of a virtual machine: a folder with the trace and the kernel's code."""
    done = subprocess.run([pathlib.Path(__file__).resolve().parents[2] / "tests" / "guest" / "run", "--trace", out], env={**bench.env, "ASSAY_BUILD": str(bench.build)},
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode or not out.exists():
        raise Unavailable(f"no trace of a kernel: {done.stdout.strip()[-200:]}")
    return out


def make_trace(bench, program, insns):
    qemu = shutil.which("qemu-x86_64")
    plugin = bench.build / "tests" / "pt" / "libpt_qemu.so"
    if not qemu or not plugin.exists():
        raise Unavailable("qemu-user is not installed (Debian: qemu-user)")
    out, text = bench.scratch / f"{program}.{insns}.data", bench.scratch / "text"
    binary = open(bench.assay, "rb").read()
    text.write_bytes(binary * (TEXT_BYTES // len(binary) + 1))
    (bench.scratch / "work.py").write_text(PYTHON)
    if out.exists():
        return out
    if program == "kernel":
        return make_kernel_trace(bench, out)
    if program == "cc1":
        path, argv = compiler_input(bench)
    else:
        path, argv = shutil.which(program), {"gzip": ["-9", "-c", str(text)], "python3": [str(bench.scratch / "work.py")],
                                             "sqlite3": [":memory:", SQL]}[program]
    if not path:
        raise Unavailable(f"{program} is not installed")
    subprocess.run([qemu, "-plugin", f"{plugin},out={out},limit={insns},mtc=on", path] + argv,
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return out


def perf_speed(bench, trace):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([bench.perf, "script", "--itrace=e", "-i", str(trace)], check=True, env=bench.env,
                   timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return INSNS / 1e6 / cpu


def tool_speeds(bench, trace, speeds):
    out = subprocess.run([bench.tool("pt_flow"), str(trace)], check=True, text=True, timeout=120,
                         stdout=subprocess.PIPE).stdout
    for line in out.splitlines():
        name, speed = line.split()
        speeds.setdefault(name, []).append(float(speed))


def measure_program(bench, rounds, program):
    trace, speeds = make_trace(bench, program, INSNS), {}
    for _ in range(rounds):
        tool_speeds(bench, trace, speeds)
        speeds.setdefault("perf", []).append(perf_speed(bench, trace))
    rows = [[program + ": errors alone (perf script --itrace=e)", spread(speeds["perf"], "{:.0f}"),
             spread(speeds["calls-hot"], "{:.0f}"),
             spread(ratios(speeds["calls-hot"], speeds["perf"]), "{:.1f}"), "≥ 10"]]
    for what, ours, theirs, target in ROWS:
        if theirs in speeds:
            rows.append([f"{program}: {what} (libipt's blocks)", spread(speeds[theirs], "{:.0f}"),
                         spread(speeds[ours], "{:.0f}"),
                         spread(ratios(speeds[ours], speeds[theirs]), "{:.1f}"),
                         target + (MILLION_GOALS.get(program, "") if ours == "calls-hot" else "")])
    return rows


HEAD = ["what (peer)", "peer, M/s", "assay, M/s", "assay ÷ peer", "to reach"]


def measure(bench, rounds):
    programs = "gzip", "sqlite3", "python3", "cc1"
    return table(HEAD, [row for program in programs for row in measure_program(bench, rounds, program)])


def measure_cold(bench, rounds):
    rows = []
    for program in "gzip", "python3":
        trace, speeds = make_trace(bench, program, COLD_INSNS), {}
        for _ in range(rounds):
            tool_speeds(bench, trace, speeds)
        if "libipt-cold" not in speeds:
            raise Unavailable("libipt is not installed (Debian: libipt-dev)")
        rows.append([f"{program}, its first {COLD_INSNS // 1_000_000} M instructions (libipt's blocks)",
                     spread(speeds["libipt-cold"], "{:.0f}"), spread(speeds["calls-cold"], "{:.0f}"),
                     spread(ratios(speeds["calls-cold"], speeds["libipt-cold"]), "{:.1f}"), "≥ 2.5"])
    return table(HEAD, rows)


PARTS = {"pt-flow": Part("Intel PT decoded, instructions a second", 3, measure),
         "pt-cold": Part("Intel PT of a program never seen, instructions a second", 3, measure_cold)}
