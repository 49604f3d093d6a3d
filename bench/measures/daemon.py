# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's own cost, and the size of its history, while two CPUs build C without an end.

CPU time is the time of all its threads once it has settled, by the scheduler's own account
(schedstat). Memory is its resident memory, and of this the part without pages of files or of the
kernel's maps. The size of a sample is measured twice. While a part is written, it is all bytes in
the segments: names, tree and counts of every second. When the part is packed, it is all that the
part takes on the disk, with directories and overviews.
"""

import os
import pathlib
import signal
import subprocess
import time

from harness import Part, Unavailable, spread, table

RATES = {49: (0.5, 50), 997: (3, None)}
SETTLE_S = 20
MEASURED_S = 120


def cpu_seconds(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            text = pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text(encoding="ascii")
        except OSError:
            continue
        total += int(text.split()[0])
    return total / 1e9


def megabytes(pid, key):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    return 0


class Daemon:
    """`assay daemon` in a separate folder, and a build that is made again and again beside it."""

    def __init__(self, bench, hz):
        self.bench = bench
        self.dir = pathlib.Path(bench.path(f"daemon-{hz}"))
        bench.remove(self.dir)
        folder, words = bench.c_build(heavy=True)
        loop = "while :; do " + " ".join(words) + "; done"
        self.work = subprocess.Popen(["sh", "-c", loop], cwd=folder, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, env=bench.env,
                                     start_new_session=True)
        env = dict(bench.env, ASSAY_DAEMON_PACE="settle=5")  # parts are packed soon
        self.process = subprocess.Popen(
            [bench.assay, "daemon", "--session-dir", str(self.dir), "-F", str(hz), "-v",
             "--max-cpu", "0"], env=env, stderr=open(bench.path("daemon.log"), "w"))

    def __enter__(self):
        time.sleep(SETTLE_S)
        if self.process.poll() is not None:
            self.__exit__()
            said = pathlib.Path(self.bench.path("daemon.log")).read_text(encoding="utf-8")
            raise Unavailable(said.strip().splitlines()[-1])
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()
        os.killpg(self.work.pid, signal.SIGKILL)
        self.work.wait()

    def packed(self):
        """(samples, bytes) of the first part, once it is over and packed."""
        part = sorted((self.dir / "samples" / "current").iterdir())[0]
        self.process.send_signal(signal.SIGHUP)
        before = part.stat().st_ino
        for _ in range(600):
            time.sleep(0.1)
            if part.stat().st_ino != before:
                break
        size = sum(f.lstat().st_blocks * 512 for f in [part, *part.rglob("*")])
        return self.bench.samples_of("assay", str(part)), size

    def stored(self):
        """(samples, bytes) of all parts."""
        samples = size = 0
        for part in (self.dir / "samples" / "current").iterdir():
            samples += self.bench.samples_of("assay", str(part))
            size += sum(f.stat().st_size for f in part.rglob("*.segment"))
        return samples, size


def run(bench, hz):
    with Daemon(bench, hz) as daemon:
        pid = daemon.process.pid
        first, cpu = daemon.stored(), cpu_seconds(pid)
        start = time.monotonic()
        time.sleep(MEASURED_S)
        cpu = 100 * (cpu_seconds(pid) - cpu) / (time.monotonic() - start)
        memory = megabytes(pid, "VmHWM"), megabytes(pid, "RssAnon")
        last = daemon.stored()
        packed = daemon.packed()
    samples = last[0] - first[0]
    return cpu, *memory, samples, last[1] / max(last[0], 1), packed[1] / max(packed[0], 1)


def measure(bench, rounds):
    if os.geteuid():
        raise Unavailable("the daemon needs root")
    rows = []
    for hz, (most_cpu, most_memory) in RATES.items():
        runs = list(zip(*[run(bench, hz) for _ in range(rounds)]))
        rows.append([hz, spread(runs[3], "{:.0f}"), spread(runs[0], "{:.2f}"), f"≤ {most_cpu}",
                     spread(runs[1], "{:.0f}"), spread(runs[2], "{:.0f}"),
                     f"≤ {most_memory}" if most_memory else "", spread(runs[4], "{:.1f}"),
                     spread(runs[5], "{:.1f}"), "≤ 8" if hz == 49 else ""])
    return table(["Hz", "samples", "% of a CPU", "to reach", "MB peak", "of them anonymous",
                  "to reach", "bytes a sample, written", "packed", "to reach"], rows)


PARTS = {"daemon": Part("the daemon's own cost, two CPUs building C", 1, measure)}
