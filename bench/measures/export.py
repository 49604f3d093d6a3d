# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports: each format of a session of a million samples, and folded stacks of perf's recording.
The peer is the time that perf needs to print its samples. A stackcollapse script would then have to
read them.

The session is the same every time: a minute, eight threads, four CPUs, two events, and chains of 10
to 20 frames. Within a second, nearly every sample differs from the others by its chain, CPU or
thread, so few samples add up.
"""

from harness import Part, Unavailable, in_turn, ratios, size_of, spread, table

SAMPLES = 1000000
SECONDS = 60
DEPTH = 20
TARGET = {"pprof", "speedscope", "sqlite"}
NOT_MEASURED = {"postgresql", "gmon"}  # want a server, and an image that is a file


def formats(bench):
    lines = bench.run([bench.assay, "export", "--list-formats"]).output.splitlines()
    return [line.split()[0] for line in lines if line.split()[0] not in NOT_MEASURED]


def measure_million(bench, rounds):
    session = bench.path("million.assay")
    bench.remove(session)
    bench.run([bench.program("make_session"), session, "plain", str(SAMPLES), str(SECONDS),
               str(DEPTH)])
    sizes = {}

    def run(name):
        out = bench.path("million." + name)
        bench.remove(out)
        words = [bench.assay, "export", "-q", "-i", session, "-F", name, "-o", out]
        result = bench.run_over([], words)
        sizes[name] = size_of(out)
        bench.remove(out)
        return result

    results = in_turn(formats(bench), rounds, run)
    rows = [[name, spread([r.wall for r in runs], "{:.2f}"),
             spread([r.work_cpu for r in runs], "{:.2f}"),
             spread([r.work_peak / 1e6 for r in runs], "{:.0f}"), f"{sizes[name] / 1e6:.1f}",
             "2 s" if name in TARGET else ""] for name, runs in results.items()]
    return table(["format", "wall s", "CPU s", "peak MB", "file MB", "to reach"], rows)


def measure_perf(bench, rounds):
    folder, work = bench.c_build(heavy=True)
    path = bench.path("export.data")
    bench.run_over(bench.recorder("perf tuned", 4000, "fp", path), work, cwd=folder)
    out = bench.path("export.out")
    words = {
        "perf script": [bench.perf, "script", "-i", path, "-F", "comm,ip,sym"],
        "assay export, of the perf.data": [bench.assay, "export", "-q", "-F", "folded", "-i", path,
                                           "-o", out],
        "assay export, pprof": [bench.assay, "export", "-q", "-F", "pprof", "-i", path, "-o", out],
    }
    for name, argv in list(words.items()):
        try:
            bench.run(argv)
        except Unavailable:  # a build without protobuf-c
            if argv[0] == bench.perf:
                raise
            del words[name]
    results = in_turn(list(words), rounds, lambda name: bench.run_over([], words[name]))
    theirs = results["perf script"]
    rows = [[name, spread([r.wall for r in runs], "{:.3f}"),
             spread([r.work_peak / 1e6 for r in runs], "{:.0f}"),
             spread(ratios([r.wall for r in runs], [r.wall for r in theirs]), "{:.4f}")]
            for name, runs in results.items()]
    return table([f"of perf's recording, {bench.samples_of('perf', path)} samples", "wall s",
                  "peak MB", "÷ perf script, wall"], rows)


PARTS = {
    "export": Part("every format of a session of a million samples", 3, measure_million),
    "export-perf": Part("perf's recording to folded stacks, against perf script", 3, measure_perf),
}
