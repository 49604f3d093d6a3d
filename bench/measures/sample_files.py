# SPDX-License-Identifier: GPL-2.0-or-later
"""OProfile's sample files: adds to one file, and reports of sessions that are many of them.

The peer of the adds is a straightforward mapped chained table of the same format (bench/sample_file.c).
"""

import resource
import struct
import subprocess
import time

from harness import Part, ratios, spread, table

LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
SLOTS = 128


def sample_file(counts):
    """The bytes of a sample file (version 0x13, LP64): docs of OProfile's internals, in short."""
    header = struct.pack("<4s6I4xdQI4xQQ", b"DAE\n", 0x13, 69, 0x76, 0, 100000, 0, 2400.0, 0, 0, 0, 0)
    nodes, buckets = [(0, 0, 0)], [0] * SLOTS
    for key, count in counts.items():
        bucket = (key ^ (key >> 8)) & (SLOTS - 1)
        nodes.append((key, count, buckets[bucket]))
        buckets[bucket] = len(nodes) - 1
    used = len(nodes)
    nodes += [(0, 0, 0)] * (SLOTS - used)
    return (header + struct.pack("<8I", SLOTS, used, *[0] * 6) +
            b"".join(struct.pack("<QII", *n) for n in nodes) + struct.pack("<128I", *buckets))


def make_session(root, n_apps, libraries):
    data = sample_file({0x26000 + 16 * i * 37: 1 + i for i in range(20)})
    for app in range(n_apps):
        for library in libraries:
            folder = root / f"samples/current/{{root}}/usr/bin/app{app}/{{dep}}/{{root}}{library}"
            folder.mkdir(parents=True)
            (folder / "CPU_CLK_UNHALTED.100000.0.all.all.all").write_bytes(data)


def report_seconds(bench, session):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([bench.assay, "report", "-l", "-i", str(session)], check=True, env=bench.env, timeout=120,
                   stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_reports(bench, rounds):
    sessions = {"10,000 files: 5,000 applications, two libraries": (5000, [LIBC, "/lib/libother.so"]),
                "1,000 applications sharing libc": (1000, [LIBC])}
    rows = []
    for number, (what, (n_apps, libraries)) in enumerate(sessions.items()):
        root = bench.scratch / f"many{number}"
        make_session(root, n_apps, libraries)
        runs = [report_seconds(bench, root) for _ in range(rounds)]
        rows.append([what, spread([w for w, _ in runs], "{:.2f}"), spread([c for _, c in runs], "{:.2f}"), "< 1"])
    return table(["session", "report -l, seconds", "of CPU", "to reach"], rows)


def measure_adds(bench, rounds):
    rows = []
    for keys, target in ((10_000, ""), (100_000, "≥ 20 M/s and ≥ 3"), (1_000_000, "")):
        speeds = {"plain": [], "store": []}
        for _ in range(rounds):
            out = subprocess.run([bench.tool("sample_file"), str(bench.scratch), str(keys)], check=True, text=True,
                                 timeout=120, stdout=subprocess.PIPE).stdout
            for line in out.splitlines():
                name, speed = line.split()
                speeds[name].append(float(speed))
        rows.append([f"{keys:,}", spread(speeds["plain"], "{:.0f}"), spread(speeds["store"], "{:.0f}"),
                     spread(ratios(speeds["store"], speeds["plain"]), "{:.1f}"), target])
    return table(["keys", "plain table, M/s", "assay, M/s", "assay ÷ plain", "to reach"], rows)


PARTS = {"sample-adds": Part("adds to one sample file, against a plain chained table", 5, measure_adds),
         "sample-reports": Part("reports of sessions of many sample files", 5, measure_reports)}
