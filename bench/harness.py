# SPDX-License-Identifier: GPL-2.0-or-later
"""The shared code of all measures: running programs, the profiled C build, statistics, tables.

Every measure runs its variants in turn within a round. Each round begins with another variant.
Variants are compared within the round, and the median of the ratios is printed with the quartiles.
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
import typing

import sources


class Unavailable(Exception):
    """A measure cannot be made here; the text says why."""


@dataclasses.dataclass
class Part:
    """One measure: `measure(bench, rounds)` returns Markdown."""

    what: str
    rounds: int
    measure: typing.Callable


@dataclasses.dataclass
class Run:
    """One run of a program: seconds."""

    wall: float
    cpu: float
    output: str = ""
    work_wall: float = 0  # of the profiled work alone, by bench/timed
    work_cpu: float = 0
    work_peak: int = 0  # bytes of its largest process

    @property
    def own_cpu(self):
        """CPU time of the profiler: the tree's, less the work's."""
        return max(self.cpu - self.work_cpu, 0)


class Bench:
    """The tools, and a scratch folder that goes away with it."""

    def __init__(self, assay, perf):
        self.assay = str(pathlib.Path(assay).resolve())
        self.perf_crashes = 0
        self.build = pathlib.Path(self.assay).parent
        self.perf = shutil.which(perf)
        if not self.perf:
            raise SystemExit("bench/run: perf is not installed (Debian: linux-perf)")
        if not os.access(self.assay, os.X_OK):
            raise SystemExit(f"bench/run: no assay at {self.assay}; run make first")

    def __enter__(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=self.build))
        self.env = dict(os.environ, LC_ALL="C", PAGER="cat", HOME=str(self.scratch))
        self.env["XDG_CACHE_HOME"] = str(self.scratch / "cache")
        self.env.pop("PERF_CONFIG", None)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def tool(self, name):
        """A helper program of bench/."""
        return str(self.build / "bench" / name)

    def program(self, name):
        """A program with a known answer, of tests/programs/."""
        return str(self.build / "tests" / "programs" / name)

    def path(self, name):
        return str(self.scratch / name)

    def remove(self, path):
        shutil.rmtree(path, ignore_errors=True)
        pathlib.Path(path).unlink(missing_ok=True)

    def run(self, argv, env=None, cwd=None, watch=None):
        """Runs to the end. If the program fails, the measure ends with the program's message.

        perf 6.1 now and then crashes at the end of a long recording ("buffer overflow detected"). A
        perf that crashes runs again, at most three times, and bench/run prints how often. `watch`
        is called with the pid every 20 ms from a thread while it runs.
        """
        for _ in range(3):
            result, status, said = self._run_once(argv, env, cwd, watch)
            if status == 0:
                return result
            if status > 0 or argv[0] != self.perf:
                break
            self.perf_crashes += 1
        words = " ".join(os.path.basename(w) for w in argv[:8])
        last = (said.strip() or "it said nothing").splitlines()[-1]
        raise Unavailable(f"`{words} …` ended with {status}: {last}")

    def _run_once(self, argv, env, cwd, watch):
        with tempfile.TemporaryFile(dir=self.scratch) as out, \
             tempfile.TemporaryFile(dir=self.scratch) as err:
            start = time.monotonic()
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                     env=env or self.env, cwd=cwd)
            stop = self._start_watch(watch, child.pid) if watch else None
            _, status, used = os.wait4(child.pid, 0)
            wall = time.monotonic() - start
            child.returncode = os.waitstatus_to_exitcode(status)
            if stop:
                stop()
            out.seek(0)
            err.seek(0)
            output = out.read().decode(errors="replace")
            said = err.read().decode(errors="replace")
        result = Run(wall, used.ru_utime + used.ru_stime, output + said)
        return result, child.returncode, said or output

    @staticmethod
    def _start_watch(watch, pid):
        done = threading.Event()

        def loop():
            while not done.wait(0.02):
                watch(pid)

        thread = threading.Thread(target=loop)
        thread.start()

        def stop():
            done.set()
            thread.join()

        return stop

    def run_over(self, profiler, work, cwd=None, watch=None, env=None):
        """Runs `work` under `profiler` (a list of words, may be empty), timing both apart."""
        result = self.run([*profiler, self.tool("timed"), self.path("times"), *work], cwd=cwd,
                          watch=watch, env=env)
        return self._with_times(result)

    def run_as_words(self, profiler, work, cwd=None):
        """As run_over() for a profiler that takes its command as one word."""
        command = " ".join([self.tool("timed"), self.path("times"), *work])
        return self._with_times(self.run([*profiler, command], cwd=cwd))

    def _with_times(self, result):
        """Adds what bench/timed wrote."""
        wall, cpu, peak = pathlib.Path(self.path("times")).read_text().split()
        result.work_wall, result.work_cpu = float(wall), float(cpu)
        result.work_peak = int(peak) * 1024
        return result

    def recorder(self, tool, hz, stacks, out):
        """The words that record at a rate, with stacks by frame pointer ('fp'), whole ones
        ('dwarf') or 'flat'."""
        self.remove(out)
        if tool == "assay":
            graph = ["--call-graph=" + {"flat": "none"}.get(stacks, stacks)]
            return [self.assay, "record", "-e", "cpu-clock", "-F", str(hz), *graph, "-o", out,
                    "--"]
        graph = {"fp": ["--call-graph", "fp"], "dwarf": ["--call-graph", "dwarf"]}.get(stacks, [])
        tuned = ["--no-bpf-event"] if tool == "perf tuned" else []
        return [self.perf, "record", "-q", "-e", "cpu-clock", "-F", str(hz), *graph, *tuned,
                "-o", out, "--"]

    def c_build(self, heavy):
        """A folder with 200 C files, and the command that builds them anew: 600 processes."""
        folder = self.scratch / ("heavy" if heavy else "light")
        if not folder.exists():
            sources.write(folder, 200, 12 if heavy else 1)
        return str(folder), ["make", "-s", "-B", f"-j{os.cpu_count()}"]

    def samples_of(self, tool, path):
        """How many samples a recording holds."""
        if tool == "assay":
            said = self.run([self.assay, "info", "--format", "json", path]).output
            return json.loads(said)["samples"]
        said = self.run([self.perf, "report", "--stats", "-i", path]).output
        found = re.search(r"SAMPLE events:\s+([0-9]+)", said)
        if not found:
            raise Unavailable(f"{tool} does not say how many samples there are")
        return int(found.group(1))

    def machine(self):
        """One line: processor, kernel, perf, assay."""
        cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
        virtual = " (virtual)" if "hypervisor" in pathlib.Path("/proc/cpuinfo").read_text() else ""
        perf = subprocess.run([self.perf, "--version"], capture_output=True, text=True,
                              check=False).stdout.strip()
        assay = subprocess.run([self.assay, "--version"], capture_output=True, text=True,
                               check=False).stdout.splitlines()[0]
        commit = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", str(pathlib.Path(__file__).parent),
             "describe", "--always", "--dirty"],
            capture_output=True, text=True, check=False).stdout.strip() or "unknown"
        load = os.getloadavg()[0]
        return (f"{os.cpu_count()} × {cpu.group(1) if cpu else os.uname().machine}{virtual}, "
                f"Linux {os.uname().release}, {perf}, {assay} ({commit}), load {load:.1f}")


def size_of(path):
    """Bytes of a file, or of all files of a folder."""
    if os.path.isdir(path):
        return sum(f.stat().st_size for f in pathlib.Path(path).rglob("*") if f.is_file())
    return os.path.getsize(path)


def in_turn(variants, rounds, run):
    """{variant: [result of each round]}; each round starts with another variant."""
    results = {v: [] for v in variants}
    for i in range(rounds):
        first = i % len(variants)
        for v in [*variants[first:], *variants[:first]]:
            results[v].append(run(v))
    return results


def spread(values, form="{:.2f}"):
    """The median and, in brackets, the quartiles (of three or fewer: the extremes)."""
    values = sorted(values)
    middle = statistics.median(values)
    if len(values) == 1:
        return form.format(middle)
    if len(values) <= 3:
        low, high = values[0], values[-1]
    else:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{form} [{form}–{form}]".format(middle, low, high)


def ratios(ours, theirs):
    """Round by round."""
    return [a / b for a, b in zip(ours, theirs) if b > 0]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
