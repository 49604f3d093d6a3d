# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands on an Intel PT recording: the list of branches as text, two processors beside one, memory."""

import os
import subprocess
import time

from harness import Part, Unavailable, ratios, spread, table
from measures.pt_flow import make_trace

TEXT_INSNS = 50_000_000
CORES_INSNS = 2_000_000_000


def timed(argv, env, cpus=None):
    """Wall seconds, CPU seconds and peak memory in MB of a run."""
    start = time.monotonic()
    child = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise Unavailable(f"`{' '.join(argv[:3])} …` ended with {child.returncode}")
    return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measure_text(bench, rounds):
    trace, ours, theirs = make_trace(bench, "gzip", TEXT_INSNS), [], []
    argv = ["script", "--itrace=b", "-F", "ip,addr", "-i", str(trace)]
    cpu = min(os.sched_getaffinity(0))  # the measure is of one core: no threads that decode ahead
    for _ in range(rounds):
        ours.append(timed([bench.assay] + argv, bench.env, {cpu})[1])
        theirs.append(timed([bench.perf] + argv, bench.env, {cpu})[1])
    return table(["what", "perf, s", "assay, s", "perf ÷ assay", "to reach"],
                 [["branches as text, CPU time on one core", spread(theirs), spread(ours),
                   spread(ratios(theirs, ours), "{:.1f}"), "≥ 10"]])


def measure_cores(bench, rounds):
    if len(os.sched_getaffinity(0)) < 2:
        raise Unavailable("there is one processor")
    trace, one, two, peak = make_trace(bench, "gzip", CORES_INSNS), [], [], []
    argv = [bench.assay, "script", "--itrace=e", "-i", str(trace)]
    for _ in range(rounds):
        one.append(timed(argv, bench.env, {0})[0])
        wall, _, memory = timed(argv, bench.env, {0, 1})
        two.append(wall)
        peak.append(memory)
    size = os.path.getsize(trace) / 2**20
    return table(["what", "one, s", "two, s", "one ÷ two", "to reach", "peak, MB"],
                 [[f"decoding {size:.0f} MB of trace on two processors", spread(one), spread(two),
                   spread(ratios(one, two)), "≥ 1.8", spread(peak, "{:.0f}")]])


PARTS = {"pt-text": Part("branches of Intel PT as text", 3, measure_text),
         "pt-cores": Part("Intel PT on two processors, and memory", 5, measure_cores)}
