# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading perf's own recordings: `assay report -i perf.data` against `perf report`, and the
speed of `assay import` on the file's bytes.

The recordings are perf's, of the C build at 4000 Hz, flat and with frame-pointer chains. perf would
need too long for a large file. So the file has perf's records several times, each time later by the
recording's length.
"""

import os
import struct

from harness import Part, in_turn, ratios, size_of, spread, table

LARGE_BYTES = 300e6
SAMPLE, TIME, TID, IP, IDENTIFIER = 9, 4, 2, 1, 1 << 16
AFTER_TIME = (1 << 6, 1 << 9, 1 << 7, 1 << 16)  # ID, STREAM_ID, CPU, IDENTIFIER


def time_places(data, start, end, sample_type):
    """Where the times of all records are, as offsets from `start`."""
    before = 8 * sum(bool(sample_type & bit) for bit in (IDENTIFIER, IP, TID))
    after = 8 * (1 + sum(bool(sample_type & bit) for bit in AFTER_TIME))
    places, at = [], start
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if kind == SAMPLE:
            places.append(at - start + 8 + before)
        elif kind < 64:
            places.append(at - start + size - after)
        at += size
    return places


def write_large(source, target):
    """The records of a recording of one event, over and over, with times that go on."""
    with open(source, "rb") as f:
        data = f.read()
    attrs, = struct.unpack_from("<Q", data, 24)
    start, size = struct.unpack_from("<QQ", data, 40)
    sample_type, = struct.unpack_from("<Q", data, attrs + 24)
    records = bytearray(data[start:start + size])
    places = time_places(data, start, start + size, sample_type)
    times = [struct.unpack_from("<Q", records, p)[0] for p in places]
    span = max(times) - min(t for t in times if t) + 1000000
    count = max(1, int(LARGE_BYTES / size))
    header = bytearray(data[:start])
    struct.pack_into("<Q", header, 48, size * count)
    struct.pack_into("<QQ", header, 72, 0, 0)  # no features: they would have to move
    with open(target, "wb") as f:
        f.write(header)
        for _ in range(count):
            f.write(records)
            for i, p in enumerate(places):
                if times[i]:
                    times[i] += span
                    struct.pack_into("<Q", records, p, times[i])


def record(bench):
    folder, work = bench.c_build(heavy=True)
    out = {}
    for stacks in ("flat", "fp"):
        out[stacks] = bench.path(f"import.{stacks}.data")
        bench.run_over(bench.recorder("perf tuned", 4000, stacks, out[stacks]), work, cwd=folder)
    return out


def measure_report(bench, rounds):
    path = record(bench)["fp"]
    words = {
        "perf report --children": [bench.perf, "report", "--stdio", "--children", "-i", path],
        "assay report": [bench.assay, "report", "-i", path],
        "assay report --tree": [bench.assay, "report", "--tree", "-i", path],
    }
    for argv in words.values():
        bench.run(argv)
    results = in_turn(list(words), rounds, lambda name: bench.run_over([], words[name]))
    theirs = results["perf report --children"]
    rows = []
    for name, runs in results.items():
        ratio = [spread(ratios([r.wall for r in runs], [r.wall for r in theirs]), "{:.3f}"),
                 spread(ratios([r.cpu for r in runs], [r.cpu for r in theirs]), "{:.3f}"),
                 spread(ratios([r.work_peak for r in runs], [r.work_peak for r in theirs]), "{:.3f}")]
        rows.append([name, spread([r.wall for r in runs], "{:.3f}"),
                     spread([r.work_peak / 1e6 for r in runs], "{:.0f}"), ", ".join(ratio)])
    return table([f"report of perf's recording, {bench.samples_of('perf', path)} samples",
                  "wall s", "peak MB", "÷ perf: wall, CPU, memory"], rows) + (
        "\nTo reach: a fifth of perf's time and memory.\n")


def measure_script(bench, rounds):
    path = record(bench)["fp"]
    programs = {
        "perf script --no-inline": f"{bench.perf} script --no-inline -i {path}",
        "assay script": f"{bench.assay} script -i {path}",
        "assay script --format json": f"{bench.assay} script --format json -i {path}",
    }
    words = {name: ["sh", "-c", f"exec {line} >/dev/null 2>&1"] for name, line in programs.items()}
    for argv in words.values():
        bench.run(argv)
    results = in_turn(list(words), rounds, lambda name: bench.run_over([], words[name]))
    theirs = results["perf script --no-inline"]
    rows = []
    for name, runs in results.items():
        ratio = [spread(ratios([r.wall for r in runs], [r.wall for r in theirs]), "{:.3f}"),
                 spread(ratios([r.cpu for r in runs], [r.cpu for r in theirs]), "{:.3f}")]
        rows.append([name, spread([r.wall for r in runs], "{:.3f}"), ", ".join(ratio)])
    return table([f"every sample of perf's recording, {bench.samples_of('perf', path)} samples",
                  "wall s", "÷ perf: wall, CPU"], rows)


def measure_speed(bench, rounds):
    rows = []
    for stacks, path in record(bench).items():
        large, out = path + ".large", bench.path("import.assay")
        write_large(path, large)
        megabytes = size_of(large) / 1e6

        def run(_):
            bench.remove(out)
            return bench.run_over([], [bench.assay, "import", "-q", "-o", out, large])

        run(None)
        runs = in_turn(["assay"], rounds, run)["assay"]
        rows.append([f"{stacks}, {megabytes:.0f} MB",
                     spread([megabytes / r.wall for r in runs], "{:.0f}"),
                     spread([megabytes / r.cpu for r in runs], "{:.0f}"),
                     spread([r.work_peak / 1e6 for r in runs], "{:.0f}"),
                     f"{size_of(out) / size_of(large):.4f}"])
        os.remove(large)
    return table(["import of", "MB/s", "MB/s of CPU time", "peak MB", "session ÷ file"], rows) + (
        "\nTo reach: 300 MB/s.\n")


PARTS = {
    "import-report": Part("a report made directly of perf's own recording", 5, measure_report),
    "script": Part("every sample of perf's recording as text", 5, measure_script),
    "import-speed": Part("speed of importing perf's recordings", 3, measure_speed),
}
