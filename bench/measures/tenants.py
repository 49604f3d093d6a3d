# SPDX-License-Identifier: GPL-2.0-or-later
"""What the attacks of an ordinary user cost root's daemon and root's `record -a`.

tests/programs/attack.c runs as `nobody`, in a session of its own, beside one busy program on each
CPU. Memory is the largest resident memory of the daemon, its opener and its parser, added up. The
rate counts samples of all CPUs, in proportion to the time before the attack.
"""

import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from harness import Part, Unavailable, table
from measures.ctl import Client
from measures.daemon import megabytes

KINDS = ("jitdump", "perf-map", "maps", "comms", "threads", "forks", "execs", "files", "swap", "crowd")
HZ = 199
SETTLE_S = 8
BEFORE_S = 5
ATTACK_S = 15
READY_S = 60
ASK_EVERY_S = 0.05
MOST_MB = 150
MOST_MS = 100


def with_children(pid):
    """The process and all below it: keeper, opener and parsers. One that ends meanwhile is left out."""
    found = [pid]
    try:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text(encoding="ascii").split():
                found += with_children(int(child))
    except OSError:
        pass
    return found


def peak_mb(pid):
    total = 0
    for one in with_children(pid):
        try:
            total += megabytes(one, "VmHWM")
        except OSError:
            continue
    return total


class Attack:
    """One attack, by `nobody`, in a folder that the attacker owns."""

    def __init__(self, bench, kind):
        self.folder = tempfile.mkdtemp(prefix="tenant-")
        program = shutil.copy(bench.program("attack"), self.folder)
        shutil.chown(self.folder, "nobody")
        os.chmod(self.folder, 0o755)
        self.process = subprocess.Popen(
            ["setsid", "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", program,
             kind, self.folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def __enter__(self):
        deadline = time.monotonic() + READY_S
        os.set_blocking(self.process.stdout.fileno(), False)
        while time.monotonic() < deadline and not self.process.stdout.read():
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Watched:
    """A daemon, with a busy program on each CPU."""

    def __init__(self, bench):
        self.dir = bench.path("tenants")
        bench.remove(self.dir)
        self.work = [subprocess.Popen([bench.program("split"), "100000s"], stdout=subprocess.DEVNULL)
                     for _ in range(os.cpu_count())]
        self.process = subprocess.Popen(
            [bench.assay, "daemon", "--session-dir", self.dir, "-e", "cpu-clock", "-F", str(HZ),
             "--max-cpu", "0"], env=bench.env, stderr=subprocess.DEVNULL)

    def __enter__(self):
        time.sleep(SETTLE_S)
        if self.process.poll() is not None:
            self.__exit__()
            raise Unavailable("the daemon ended")
        self.client = Client(os.path.join(self.dir, "control"))
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        for work in self.work:
            work.kill()
            work.wait()

    def count(self, seconds):
        """Samples a second, lost samples a second, milliseconds of each answer."""
        first, start, took = self.client.ask("status")[1], time.monotonic(), []
        while time.monotonic() - start < seconds:
            ms, last = self.client.ask("status")
            took.append(ms)
            time.sleep(ASK_EVERY_S)
        wall = time.monotonic() - start
        return (last["samples"] - first["samples"]) / wall, (last["lost"] - first["lost"]) / wall, took


def of_daemon(bench, kind):
    with Watched(bench) as watched:
        before, _, _ = watched.count(BEFORE_S)
        with Attack(bench, kind):
            rate, lost, took = watched.count(ATTACK_S)
        return (peak_mb(watched.process.pid), statistics.median(took), max(took),
                (rate + lost) / max(before, 1), 100 * lost / max(rate + lost, 1))


def of_record(bench, kind):
    session = bench.path("tenants.assay")
    bench.remove(session)
    with Attack(bench, kind):
        bench.run([bench.assay, "record", "-q", "-a", "-e", "cpu-clock", "-F", str(HZ), "-o", session,
                   "--duration", str(ATTACK_S)])
    info = json.loads(bench.run([bench.assay, "info", "--format", "json", session]).output)
    stored, lost = info["samples"], info["lost"]
    return info["end"]["own_peak_bytes"] / 1048576, 100 * lost / max(stored + lost, 1)


def measure(bench, rounds):
    if os.geteuid():
        raise Unavailable("the daemon needs root")
    rows = []
    for kind in KINDS:
        daemon = [of_daemon(bench, kind) for _ in range(rounds)]
        record = [of_record(bench, kind) for _ in range(rounds)]
        memory, median, longest, rate, lost = (max(column) for column in zip(*daemon))
        peak, record_lost = (max(column) for column in zip(*record))
        rows.append([kind, f"{memory:.0f}", f"{median:.1f}", f"{longest:.0f}", f"{rate:.2f}",
                     f"{lost:.2f}", f"{peak:.0f}", f"{record_lost:.2f}"])
    rows.append(["goal", f"≤ {MOST_MB}", "", f"≤ {MOST_MS}", "1", "≤ 1", f"≤ {MOST_MB}", "≤ 1"])
    return table(["attack", "daemon, peak MB", "status, median ms", "longest ms", "rate, of before",
                  "lost %", "record -a, peak MB", "lost %"], rows)


PARTS = {"tenants": Part("attacks of an ordinary user on root's daemon and `record -a`", 1, measure)}
