# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands on an Intel PT recording: the list of branches as text, two processors beside one, memory."""

import os
import struct
import subprocess
import time

from harness import Part, Unavailable, ratios, spread, table
from measures.pt_flow import make_trace

TEXT_INSNS = 50_000_000
SAMPLES_INSNS = 100_000_000
CORES_INSNS = 2_000_000_000
LARGE_INSNS = 500_000_000
LARGE_BYTES = 4 << 30
PSB = bytes.fromhex("0282") * 8
AUX, AUXTRACE = 11, 71  # record types


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


def measure_programs(bench, rounds, command, goals):
    """A row for each program: the command's CPU time on one core."""
    rows, cpu = [], min(os.sched_getaffinity(0))
    for program, goal in goals.items():
        argv = command + ["-i", str(make_trace(bench, program, SAMPLES_INSNS))]
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(timed([bench.assay] + argv, bench.env, {cpu})[1])
            theirs.append(timed([bench.perf] + argv, bench.env, {cpu})[1])
        rows.append([f"{program}: {' '.join(command)}, CPU time on one core", spread(theirs), spread(ours),
                     spread(ratios(theirs, ours), "{:.1f}"), f"≥ {goal}"])
    return table(["what", "perf, s", "assay, s", "perf ÷ assay", "to reach"], rows)


def measure_samples(bench, rounds):
    goals = dict.fromkeys(["gzip", "sqlite3", "python3", "cc1", "kernel"], 10)
    return measure_programs(bench, rounds, ["report", "--itrace=i100us"], goals)


def measure_errors(bench, rounds):
    goals = {"gzip": 25, "sqlite3": 25, "python3": 12, "cc1": 12, "kernel": 12}
    return measure_programs(bench, rounds, ["script", "--itrace=e"], goals)


def measure_names(bench, rounds):
    return measure_programs(bench, rounds, ["script", "--itrace=b", "-F", "ip,sym,addr"],
                            dict.fromkeys(["gzip", "sqlite3", "python3", "cc1", "kernel"], 15))


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


def later(packets, ticks):
    """The trace some ticks later: each PSB+ tells the time, and MTCs count from there."""
    out, at = bytearray(packets), packets.find(PSB)
    while at >= 0:
        tsc = packets.find(b"\x19", at + len(PSB), at + 48)
        if tsc >= 0:
            now = int.from_bytes(packets[tsc + 1:tsc + 8], "little") + ticks
            out[tsc + 1:tsc + 8] = now.to_bytes(7, "little")
        at = packets.find(PSB, at + len(PSB))
    return out


def make_large(bench, trace, size):
    """A recording whose one buffer repeats the buffer of `trace` until there are `size` bytes."""
    old, out = trace.read_bytes(), bench.scratch / "large.data"
    data_at, data_size = struct.unpack_from("<QQ", old, 40)
    at = data_at
    while struct.unpack_from("<I", old, at)[0] != AUXTRACE:
        if struct.unpack_from("<I", old, at)[0] == AUX:
            aux_at = at
        at += struct.unpack_from("<H", old, at + 6)[0]
    n = struct.unpack_from("<Q", old, at + 8)[0]
    records, packets = bytearray(old[aux_at:at + 48]), old[at + 48:at + 48 + n]
    after, end = at + 48 + n, data_at + data_size
    copies = size // n + 1
    with open(out, "wb") as f:
        f.write(old[:aux_at])
        for i in range(copies):
            struct.pack_into("<Q", records, 8, i * n)
            struct.pack_into("<Q", records, at - aux_at + 16, i * n)
            f.write(records + later(packets, i * LARGE_INSNS * 2))
        f.write(old[after:end])
        grown = f.tell() - end
        # The table of features with their places.
        first = struct.unpack_from("<Q", old, end)[0]
        for place in range(end, first, 16):
            f.write(struct.pack("<QQ", struct.unpack_from("<Q", old, place)[0] + grown,
                                struct.unpack_from("<Q", old, place + 8)[0]))
        f.write(old[first:])
        f.seek(48)
        f.write(struct.pack("<Q", data_size + grown))
    return out


def measure_memory(bench, rounds):
    large, rows = make_large(bench, make_trace(bench, "python3", LARGE_INSNS), LARGE_BYTES), []
    try:
        for what in ["script", "--itrace=e"], ["script", "--itrace=cre", "-F", "ip,addr"], ["report", "--itrace=i100us"]:
            wall, cpu, peak = zip(*(timed([bench.assay] + what + ["-i", str(large)], bench.env) for _ in range(rounds)))
            rows.append([" ".join(what), spread(wall, "{:.0f}"), spread(cpu, "{:.0f}"), spread(peak, "{:.0f}"), "≤ 1024"])
    finally:
        large.unlink()
    return table([f"{LARGE_BYTES >> 30} GB of trace", "wall, s", "CPU, s", "peak, MB", "to reach"], rows)


PARTS = {"pt-text": Part("branches of Intel PT as text", 3, measure_text),
         "pt-samples": Part("samples of Intel PT in time", 3, measure_samples),
         "pt-errors": Part("errors of Intel PT alone", 3, measure_errors),
         "pt-names": Part("branches of Intel PT as text, with names", 3, measure_names),
         "pt-cores": Part("Intel PT on two processors, and memory", 5, measure_cores),
         "pt-memory": Part("peak memory of decoding 4 GB of Intel PT", 1, measure_memory)}
