# SPDX-License-Identifier: GPL-2.0-or-later
"""What the frames of languages cost.

`languages-all`: `record -a` at 999 Hz beside ten seconds of Python, and of Java. The same assay without any frames of languages
(ASSAY_SAMPLER_LIMITS=languages=0) is what both are compared with. `languages-python`: a flat-out Python program that assay
records as its command, beside the floor. `languages-short`: twenty Python programs of 0.2 s, one after the other.
Peers that are not installed are left out: AUSTIN and PERF72 may name commands with words, and ASYNC_PROFILER the library.
"""

import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from harness import Part, Unavailable, in_turn, ratios, spread, table

HERE = pathlib.Path(__file__).resolve().parent.parent
HZ = 999
PERIOD_US = 1000000 // HZ
NATIVE, BOTH = "assay, native frames alone", "assay"
PYTHON_FILE = re.compile(r"\.py$|^<(frozen|string)")
SHORT = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do \"$0\" \"$1\" 0.2s; done"


def python_work(_bench):
    return [sys.executable, str(HERE / "calls.py"), "2000000"]


def java_work(bench):
    """golden.java of the tests; its class is compiled beforehand."""
    if not shutil.which("javac"):
        raise Unavailable("there is no javac")
    folder = pathlib.Path(bench.path("java"))
    if not folder.exists():
        folder.mkdir()
        source = HERE.parent / "tests" / "programs" / "lang" / "golden.java"
        subprocess.run(["javac", "-d", str(folder), str(source)], check=True)
    java = os.path.realpath(shutil.which("java"))  # a name in PATH is a link of links
    return [java, "-cp", str(folder), "golden", "30000"]


WORKS = {"python": python_work, "java": java_work}


def peers(bench, load, work):
    """{name: (words before the work, the work)} of the profilers of this language that are here."""
    found = {"perf, native, frame pointers": ([bench.perf, "record", "-q", "-a", "-e", "cpu-clock", "-F", str(HZ), "-g", "-o", bench.path("languages.perf"), "--"], work)}
    newest = shlex.split(os.environ.get("PERF72", ""))
    if newest:
        found["perf 7.2, native, frame pointers"] = ([*newest, *found["perf, native, frame pointers"][0][1:]], work)
    austin = shlex.split(os.environ.get("AUSTIN", "austin"))
    if load == "python" and shutil.which(austin[0]):
        # it starts nothing but a Python, so bench/timed is around it
        found["austin, with its own CPU time"] = ([], [*austin, "-i", str(PERIOD_US), "-o", bench.path("languages.austin"), *work])
    library = os.environ.get("ASYNC_PROFILER", "")
    if load == "java" and library:
        agent = f"-agentpath:{library}=start,event=cpu,interval={PERIOD_US}us,file={bench.path('languages.collapsed')},collapsed"
        found["async-profiler, in the program"] = ([], [work[0], agent, *work[1:]])
    return found


def size_of(path):
    return sum(f.stat().st_size for f in pathlib.Path(path).rglob("*") if f.is_file())


def assay_words(bench, extra):
    out = bench.path("languages.assay")
    bench.remove(out)
    return [bench.assay, "record", "-q", "-e", "cpu-clock", "-F", str(HZ), "-o", out, *extra, "--"]


def native_env(bench):
    return dict(bench.env, ASSAY_SAMPLER_LIMITS="languages=0")


def measure_all(load, bench, rounds):
    if os.geteuid():
        raise Unavailable("a recording of the whole machine needs root")
    work = WORKS[load](bench)
    others = peers(bench, load, work)
    sizes = {NATIVE: [], BOTH: []}

    def run(name):
        if name in others:
            before, command = others[name]
            bench.remove(bench.path("languages.perf"))
            return bench.run_over(before, command)
        if name in sizes:
            result = bench.run_over(assay_words(bench, ["-a"]), work, env=native_env(bench) if name == NATIVE else None)
            out = bench.path("languages.assay")
            sizes[name].append(size_of(out) / bench.samples_of("assay", out))
            return result
        return bench.run_over([bench.tool("floor"), "-a", str(HZ)] if name == "floor" else [], work)

    failed = {}
    for name in others:
        try:
            run(name)
        except Unavailable as why:
            failed[name] = str(why)
    results = in_turn(["none", "floor", NATIVE, BOTH, *[name for name in others if name not in failed]], rounds, run)
    rows = []
    for name, runs in results.items():
        slow = ["" if name == "none" else spread(ratios([getattr(r, key) for r in runs], [getattr(b, key) for b in results["none"]]), "{:.3f}")
                for key in ("work_wall", "work_cpu")]
        own = "" if name in ("none", "floor") or not any(r.own_cpu for r in runs) else spread([r.own_cpu for r in runs], "{:.3f}")
        rows.append([name, *slow, own, spread(sizes[name], "{:.2f}") if name in sizes else ""])
    part = {key: spread(ratios([getattr(r, key) for r in results[BOTH]], [getattr(r, key) for r in results[NATIVE]])) for key in ("work_cpu", "own_cpu")}
    return table(["recorder", "wall ÷ none", "CPU ÷ none", "own CPU s", "bytes a sample"], rows) + (
        f"\nassay ÷ native frames alone: CPU of the work {part['work_cpu']} (to reach: 1, within noise), own CPU {part['own_cpu']} (≤ 1.3), "
        f"bytes a sample {spread(ratios(sizes[BOTH], sizes[NATIVE]))} (≤ 1.3).\nThe work alone: {spread([r.work_wall for r in results['none']])} s. {load_now()}\n"
        + "".join(f"Not measured: {name}: {why}\n" for name, why in failed.items()))


def load_now():
    return f"The load at the end: {os.getloadavg()[0]:.1f}."


def measure_python(bench, rounds):
    work = python_work(bench)
    recorders = {"none": [], "floor": [bench.tool("floor"), str(HZ)], "assay": None}
    results = in_turn(list(recorders), rounds, lambda name: bench.run_over(assay_words(bench, []) if name == "assay" else recorders[name], work))
    rows = [[name, spread([r.work_cpu for r in runs], "{:.3f}"),
             *[spread(ratios([getattr(r, key) for r in runs], [getattr(b, key) for b in results["floor"]]), "{:.4f}") for key in ("work_wall", "work_cpu")],
             "≤ 1.01" if name == "assay" else ""] for name, runs in results.items()]
    return table(["recorder", "CPU s", "wall ÷ floor", "CPU ÷ floor", "to reach"], rows) + f"\n{load_now()}\n"


def measure_short(bench, rounds):
    """Each sample with Python's loop among its native frames has to have a function of Python, too."""
    rows = []
    for _ in range(rounds):
        out = bench.path("languages.assay")
        bench.run([*assay_words(bench, []), "sh", "-c", SHORT, sys.executable, str(HERE / "calls.py")])
        facts = json.loads(bench.run([bench.assay, "info", "--format", "json", out]).output)
        lost = {reason: n for reason, n in facts["losses"].items() if reason.startswith("python-") and n}
        with_loop = stacks_with_loop(bench, out)
        rows.append([facts["samples"], with_loop[0], with_loop[1], ", ".join(f"{reason} {n}" for reason, n in sorted(lost.items())) or "none"])
    return table(["samples", "with Python's loop", "of these without a name of Python", "losses of Python's frames"], rows) + f"\n{load_now()}\n"


def stacks_with_loop(bench, session):
    """(samples with the interpreter's loop, those of them without a function of Python)"""
    def rows(frames):
        text = bench.run([bench.assay, "script", "-i", session, "--frames", frames, "--max-stack", "1000", "--format", "json"]).output
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    has_loop = [any(f.get("symbol", "").startswith("_PyEval_EvalFrameDefault") for f in row["frames"]) for row in rows("native")]
    has_name = [any(PYTHON_FILE.search(str(f.get("image", ""))) for f in row["frames"]) for row in rows("language")]
    return sum(has_loop), sum(loop and not name for loop, name in zip(has_loop, has_name))


PARTS = {
    **{f"languages-all-{load}": Part(f"what the frames of languages cost `record -a`, beside {load}", 5, functools.partial(measure_all, load)) for load in WORKS},
    "languages-python": Part("sampling of a flat-out Python program, beside the floor", 7, measure_python),
    "languages-short": Part("the names of Python programs of 0.2 s", 3, measure_short),
}
