# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's CPU time and losses with and without `assay ship` beside it, at 150 Hz on each CPU, while the machine builds C.

PHASES (default 6) pairs of SECONDS (default 60) with one daemon; which one of a pair comes first changes. Beside it are, both to a gateway by TLS:

- a `ship` of the daemon's history, which looks at it each second (by default, each minute);
- a `ship --once` of twelve blocks of 300 samples a second each, without a state folder, again five seconds after its end: two hours of a host.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

from fleet_front import make_certificate
from harness import Part, Unavailable, spread, table

SECONDS = float(os.environ.get("SECONDS", "60"))
PHASES = int(os.environ.get("PHASES", "6"))
HZ = 150
SETTLE_S = 20
AGAIN_S = 5


def cpu_seconds(pid):
    """Of all threads, by the scheduler's account."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


class Gateway:
    def __init__(self, bench):
        self.bench, self.fleet = bench, bench.path("fleet")
        certificate, key = make_certificate(pathlib.Path(bench.path("")))
        self.process = subprocess.Popen([bench.assay, "serve", "--fleet", self.fleet, "--listen", "127.0.0.1:0", "--tls-certificate", certificate, "--tls-key", key],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        url = re.match(r"(https://[^/]*)/", self.process.stdout.readline()).group(1)
        self.words = [bench.assay, "ship", "-q", "--to", url, "--ca", certificate]

    def words_of(self, host, state, history, *options):
        token = pathlib.Path(self.bench.path(f"token.{host}"))
        if not token.exists():
            token.touch(mode=0o600)
            token.write_text(subprocess.run([self.bench.assay, "fleet", "enroll", self.fleet, host], check=True, capture_output=True, text=True).stdout)
        return [*self.words, "--token-file", str(token), "--state", state, "--host", host, *options, history]


class Shipping:
    """Both kinds of `ship`, until the end of the block."""

    def __init__(self, bench, gateway, daemon_history, hour):
        self.gateway, self.state, self.hour = gateway, bench.path("state"), hour
        self.history, self.ended, self.rounds, self.cpu = daemon_history, threading.Event(), 0, 0.0

    def again(self):
        while not self.ended.is_set():
            shutil.rmtree(self.state, ignore_errors=True)
            process = subprocess.Popen(self.gateway.words_of("many", self.state, self.hour, "--once"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.rounds += process.returncode == 0
            self.cpu += used.ru_utime + used.ru_stime
            self.ended.wait(AGAIN_S)

    def __enter__(self):
        self.follower = subprocess.Popen(self.gateway.words_of("own", self.state + ".own", self.history, "--interval", "1"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.thread = threading.Thread(target=self.again)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.follower.terminate()
        _, _, used = os.wait4(self.follower.pid, 0)
        self.cpu += used.ru_utime + used.ru_stime


class Daemon:
    def __init__(self, bench):
        folder, words = bench.c_build(heavy=True)
        self.bench, self.dir = bench, bench.path("shipping")
        self.work = subprocess.Popen(["sh", "-c", "while :; do " + " ".join(words) + "; done"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.process = subprocess.Popen([bench.assay, "daemon", "-q", "--session-dir", self.dir, "-F", str(HZ), "--max-cpu", "0"], stderr=subprocess.DEVNULL)

    def status(self):
        return json.loads(subprocess.run([self.bench.assay, "ctl", "status", "--session-dir", self.dir, "--format", "json"], check=True, capture_output=True, text=True).stdout)

    def phase(self):
        """% of a CPU of the daemon, and of its helpers; microseconds a sample; samples a second; lost samples."""
        before, cpu, begin = self.status(), cpu_seconds(self.process.pid), time.monotonic()
        time.sleep(SECONDS)
        cpu, seconds, after = cpu_seconds(self.process.pid) - cpu, time.monotonic() - begin, self.status()
        samples = after["samples"] - before["samples"]
        return (100 * cpu / seconds, 100 * (after["helpers_cpu_s"] - before["helpers_cpu_s"]) / seconds, 1e6 * cpu / max(samples, 1), samples / seconds,
                after["lost"] - before["lost"])

    def end(self):
        os.killpg(self.work.pid, signal.SIGKILL)
        self.process.terminate()
        self.process.wait()


def measure(bench, _rounds):
    if os.geteuid():
        raise Unavailable("the daemon needs root")
    hour = bench.path("hour")
    subprocess.run([pathlib.Path(bench.assay).parent / "bench" / "history", hour, "2", str(2 * 3600 * 300), "4000"], check=True, capture_output=True)
    gateway, daemon = Gateway(bench), Daemon(bench)
    phases, rounds, ship_cpu = {"alone": [], "beside ship": []}, 0, 0.0
    try:
        time.sleep(SETTLE_S)
        for pair in range(PHASES):
            for name in sorted(phases, reverse=bool(pair % 2)):
                if name == "alone":
                    phases[name].append(daemon.phase())
                    continue
                with Shipping(bench, gateway, daemon.dir, hour) as shipping:
                    phases[name].append(daemon.phase())
                rounds, ship_cpu = rounds + shipping.rounds, ship_cpu + shipping.cpu
        load = os.getloadavg()[0]
    finally:
        daemon.end()
        gateway.process.terminate()
        gateway.process.wait()
    rows = [[name, *(spread(column, form) for column, form in zip(zip(*values), ["{:.2f}", "{:.2f}", "{:.1f}", "{:.0f}"])), sum(value[4] for value in values)]
            for name, values in phases.items()]
    return (f"{PHASES} pairs of {SECONDS:.0f} s at {HZ} Hz on each CPU; load average {load:.0f}. `ship` sent twelve blocks {rounds} times, and took "
            f"{100 * ship_cpu / (SECONDS * PHASES):.1f} % of a CPU.\n\n"
            + table(["the daemon", "% of a CPU", "its helpers, % of a CPU", "µs of the daemon a sample", "samples a second", "lost"], rows))


PARTS = {"shipping": Part("the daemon's CPU time and losses beside `assay ship`", 1, measure)}
