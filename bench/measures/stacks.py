# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of whole stacks of unchanged binaries, for a command and for the whole machine.

stacks: the C build by copied stacks, against `perf record --call-graph dwarf`. It measures bytes a
sample, losses, and the CPU time of recording and reporting. perf reports without inlines, because
with them it does not end in a minute. stacks-system: the whole machine, by assay in the kernel. The
peers are bpftrace's and perf's frame pointers, and a timer that only counts. unwind: the tables and
the walk alone, against libunwind on the same registers and stack bytes (bench/unwind.c).
"""

import json
import os
import re
import shutil

from harness import Part, Unavailable, in_turn, ratios, size_of, spread, table

RATES = (999, 4000)


def lost_of(bench, tool, path):
    """Samples that a recording says it has lost."""
    if tool == "assay":
        return json.loads(bench.run([bench.assay, "info", "--format", "json", path]).output)["lost"]
    said = bench.run([bench.perf, "report", "--stats", "-i", path]).output
    found = re.search(r"LOST_SAMPLES events:\s+([0-9]+)", said)
    return int(found.group(1)) if found else 0


def from_start(bench, tool, path):
    """The share of cc1's samples whose stack begins where the program does."""
    if tool == "assay":
        said = bench.run([bench.assay, "report", "--tree", "-t", "0", "--format", "json", "-i", path,
                          "comm:cc1"]).output
        rows = json.loads(said)["rows"]
        roots = [r for r in rows if r["depth"] == 0]
        cut = sum(r["total"] for r in rows if r["depth"] == 1 and r["symbol"] == "[cut]")
        whole = sum(r["total"] for r in roots if r["symbol"] == "_start") - cut
        return whole / max(sum(r["total"] for r in roots), 1)
    said = bench.run([bench.perf, "script", "--no-inline", "-F", "comm,ip,sym", "-i", path]).output
    samples = [s for s in said.split("\n\n") if s.strip().split("\n")[0].split()[:1] == ["cc1"]]
    return sum(" _start" in s for s in samples) / max(len(samples), 1)


def report_words(bench, tool, path):
    if tool == "assay":
        return [bench.assay, "report", "--tree", "-i", path]
    return [bench.perf, "report", "--stdio", "--no-inline", "-i", path]


def measure_command(bench, rounds):
    folder, work = bench.c_build(heavy=False)
    facts = {}

    def run(variant):
        tool, hz = variant
        out = bench.path("stacks." + tool)
        record = bench.run_over(bench.recorder(tool, hz, "dwarf", out), work, cwd=folder)
        n = bench.samples_of(tool, out)
        fact = {"samples": n, "bytes": size_of(out) / max(n, 1), "lost": lost_of(bench, tool, out),
                "record": record.own_cpu, "wall": record.work_wall}
        if hz == RATES[0]:
            words = report_words(bench, tool, out)
            if tool == "assay":
                bench.run(words)  # its symbols are cached from then on
            report = bench.run(words)
            fact.update(report=report.wall, cpu=record.own_cpu + report.cpu,
                        whole=from_start(bench, tool, out))
        bench.remove(out)
        return fact

    variants = [(tool, hz) for hz in RATES for tool in ("perf", "assay")]
    results = in_turn(variants, rounds, run)
    for v, runs in results.items():
        facts[v] = {key: [r[key] for r in runs] for key in runs[0]}
    rows = []
    for v in variants:
        f = facts[v]
        rows.append([v[0], v[1], spread(f["samples"], "{:.0f}"), spread(f["lost"], "{:.0f}"),
                     spread(f["bytes"], "{:.1f}"), spread(f["wall"], "{:.2f}"),
                     spread(f["record"], "{:.2f}"),
                     spread(f["report"], "{:.3f}") if "report" in f else "",
                     spread([w * 100 for w in f["whole"]], "{:.1f} %") if "whole" in f else ""])
    ours, theirs = facts[("assay", RATES[0])], facts[("perf", RATES[0])]
    return table(["recorder", "Hz", "samples", "lost", "bytes a sample", "work s", "record CPU s",
                  "report s", "cc1 from _start"], rows) + (
        f"\nRecord and report, CPU, assay ÷ perf: {spread(ratios(ours['cpu'], theirs['cpu']), '{:.3f}')}"
        "; to reach 0.05. Bytes a sample: at most 20, and nothing lost at 4000 Hz. "
        "Report warm under 0.3 s.\n")


BPFTRACE = "profile:hz:%d { @[kstack, ustack] = count(); }"


def measure_system(bench, rounds):
    folder, work = bench.c_build(heavy=False)
    hz = RATES[0]
    bpftrace = shutil.which("bpftrace")
    if os.geteuid():
        raise Unavailable("the whole machine needs root")
    if not bpftrace:
        raise Unavailable("bpftrace is not installed")
    out = {t: bench.path("system." + t) for t in ("assay", "perf", "bpftrace")}
    profilers = {
        "none": [],
        "floor": [bench.tool("floor"), "-a", str(hz)],
        "perf": [bench.perf, "record", "-q", "--no-bpf-event", "-a", "-g", "-e", "cpu-clock",
                 "-F", str(hz), "-o", out["perf"], "--"],
        "assay": [bench.assay, "record", "-q", "-a", "-e", "cpu-clock", "-F", str(hz), "-o",
                  out["assay"], "--"],
    }
    whole = {"assay": [], "perf": []}

    def run(name):
        for path in out.values():
            bench.remove(path)
        if name == "bpftrace":
            return bench.run_as_words([bpftrace, "-q", "-o", out["bpftrace"], "-e", BPFTRACE % hz,
                                       "-c"], work, cwd=folder)
        result = bench.run_over(profilers[name], work, cwd=folder)
        if name in whole:
            try:
                whole[name].append(from_start(bench, name, out[name]))
            except Unavailable:
                pass  # perf 6.1 stops at some records of kernel symbols
        return result

    names = ["none", "floor", "perf", "bpftrace", "assay"]
    results = in_turn(names, rounds, run)
    floor = results["floor"]
    rows = []
    for name in names:
        runs = results[name]
        is_profiler = name not in ("none", "floor")
        rows.append([name, spread([r.work_wall for r in runs], "{:.2f}"),
                     ", ".join(spread(ratios([getattr(r, key) for r in runs],
                                             [getattr(r, key) for r in floor]), "{:.3f}")
                               for key in ("work_wall", "work_cpu")) if name != "floor" else "",
                     spread([r.own_cpu for r in runs], "{:.3f}") if is_profiler else "",
                     spread([w * 100 for w in whole[name]], "{:.1f} %") if whole.get(name) else ""])
    return table(["profiler", "work s", "÷ floor: wall, CPU", "own CPU s", "cc1 from _start"],
                 rows) + (
        "\nTo reach: own CPU at most 0.2 s, ÷ floor within noise of 1, whole stacks, which the "
        "others, by frame pointers, do not have.\n")


IMAGES = ("/usr/lib/llvm-14/lib/libLLVM-14.so.1", "/lib/x86_64-linux-gnu/libc.so.6")
JSON_LOOP = "import json\nfor i in range(400): json.loads(json.dumps(list(range(3000))))"


def words_of(bench, *argv):
    """What bench/unwind says: {program: {what: value}}."""
    said = {}
    for line in bench.run([bench.tool("unwind"), *argv]).output.splitlines():
        program, what, value = line.split()[:3]
        said.setdefault(program, {})[what] = value
    return said


def measure_unwind(bench, rounds):
    cc1 = bench.run(["gcc", "-print-prog-name=cc1"]).output.strip()
    multiarch = bench.run(["gcc", "-print-multiarch"]).output.split()
    folder, _ = bench.c_build(heavy=True)
    source = os.path.join(folder, sorted(n for n in os.listdir(folder) if n.endswith(".c"))[0])
    images = [path for path in (*IMAGES, cc1, shutil.which("git")) if path and os.path.exists(path)]
    commands = [["/usr/bin/python3", "-c", JSON_LOOP],
                [cc1, "-quiet", *(["-imultiarch", *multiarch] if multiarch else []), "-O2", source,
                 "-o", bench.path("unwind.s")]]
    tables = [[os.path.basename(path), f["rows"], f["rules"], f["size"], f["build"], f["speed"]]
              for path, f in words_of(bench, "build", *images).items()]
    walks = []
    for command in commands:
        runs = [words_of(bench, "walk", "300", *command)[command[0]] for _ in range(rounds)]
        walks.append([os.path.basename(command[0]), runs[0]["samples"], runs[0]["frames"],
                      runs[0].get("ended-end", "0"),
                      *(spread([float(r[key]) for r in runs], "{:.1f}") if key in runs[0] else "–"
                        for key in ("walk", "walk-nothing-remembered", "libunwind", "ratio"))])
    return (table(["image", "rows", "rules", "bytes a row", "build ms", "M rows/s"], tables) + "\n" +
            table(["program", "stacks", "frames each", "complete", "M frames/s",
                   "nothing remembered", "libunwind", "ratio"], walks) +
            "\nTo reach: at most 6 bytes a row, 10 M rows/s, 100 ms for 40 MB of text; 5 M "
            "frames/s and 10 times libunwind (–: it was not there at build time).\n")


PARTS = {
    "stacks": Part("whole stacks of a C build: size, losses, CPU", 3, measure_command),
    "unwind": Part("unwind tables and walks alone, against libunwind", 3, measure_unwind),
    "stacks-system": Part("the whole machine in the kernel, while it builds", 3, measure_system),
}
