# SPDX-License-Identifier: GPL-2.0-or-later
"""Does the daemon's memory stay flat while 10,000 processes a minute come and go?

bench/storm starts 167 of them a second for ten minutes (CHURN_S). Some only fork, some execute one
of 200 programs, and some use a shell. "fixed" has as many names as programs. "fresh" has a new name
for each third process. Every 10 s, resident memory, its anonymous part and the BPF maps are read.
The slope is the least-squares line through the second half, because tables that fill after the
start are not growth.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from harness import Part, Unavailable, table
from measures.daemon import cpu_seconds, megabytes

PER_SECOND = 167
SECONDS = int(os.environ.get("CHURN_S", "600"))
EVERY_S = 10
PROGRAMS = 200


def make_programs(bench, folder):
    """Copies of storm that differ in their build id, so that each is another program."""
    text = subprocess.run(["readelf", "-n", bench.tool("storm")], capture_output=True, text=True,
                          check=True).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", text)
    if not found:
        raise Unavailable("bench/storm has no build id")
    ours = bytes.fromhex(found.group(1))
    program = pathlib.Path(bench.tool("storm")).read_bytes()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for i in range(PROGRAMS):
        path = folder / f"prog{i}"
        path.write_bytes(program.replace(ours, i.to_bytes(4, "big") + ours[4:]))
        path.chmod(0o755)


def map_megabytes(pid):
    """Of the BPF maps that the process has open, by the kernel's own account."""
    total = 0
    for entry in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            text = entry.read_text(encoding="ascii")
        except OSError:
            continue
        found = re.search(r"^map_id:.*?^memlock:\s+(\d+)|^memlock:\s+(\d+).*?^map_id:", text,
                          re.MULTILINE | re.DOTALL)
        if found:
            total += int(found.group(1) or found.group(2))
    return total / 2**20


def slope(points):
    """Of the least-squares line through (seconds, MB), in MB a minute."""
    n = len(points)
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    over = sum((x - mx) * (y - my) for x, y in points)
    return 60 * over / sum((x - mx) ** 2 for x, _ in points)


class Churn:
    """The daemon beside a storm, looked at every 10 s."""

    def __init__(self, bench, kind):
        self.bench, self.kind = bench, kind
        self.dir = pathlib.Path(bench.path("churn-" + kind))
        self.rows = []

    def status(self):
        said = self.bench.run([self.bench.assay, "ctl", "--session-dir", str(self.dir), "status",
                               "--format", "json"]).output
        return json.loads(said)

    def look(self, pid, seconds):
        status = self.status()
        self.rows.append({
            "s": seconds, "rss": megabytes(pid, "VmRSS"), "anon": megabytes(pid, "RssAnon"),
            "file": megabytes(pid, "RssFile"), "maps": map_megabytes(pid),
            "processes": status["processes"], "samples": status["samples"], "lost": status["lost"]})
        if os.environ.get("CHURN_LOG"):
            with open(os.environ["CHURN_LOG"], "a", encoding="utf-8") as log:
                print(self.kind, json.dumps(self.rows[-1]), file=log)

    def run(self):
        programs = pathlib.Path(self.bench.path("programs"))
        make_programs(self.bench, programs)
        daemon = subprocess.Popen(
            [self.bench.assay, "daemon", "--session-dir", str(self.dir), "-v", "--max-cpu", "0"],
            env=self.bench.env, stderr=open(self.bench.path("churn.log"), "w"))
        storm = None
        try:
            time.sleep(5)
            if daemon.poll() is not None:
                said = pathlib.Path(self.bench.path("churn.log")).read_text(encoding="utf-8")
                raise Unavailable(said.strip().splitlines()[-1])
            storm = subprocess.Popen(
                [self.bench.tool("storm"), str(PER_SECOND), str(SECONDS), self.kind, str(programs)],
                stdout=subprocess.PIPE, text=True)
            start, cpu = time.monotonic(), cpu_seconds(daemon.pid)
            for i in range(1, SECONDS // EVERY_S + 1):
                time.sleep(max(0, start + i * EVERY_S - time.monotonic()))
                self.look(daemon.pid, time.monotonic() - start)
            cpu = 100 * (cpu_seconds(daemon.pid) - cpu) / (time.monotonic() - start)
            made = storm.communicate()[0].split()  # late where the machine is busy
        finally:
            if storm and storm.poll() is None:
                storm.kill()
                storm.wait()
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGTERM)
                daemon.wait()
        if os.environ.get("CHURN_LOG"):
            shutil.copy(self.bench.path("churn.log"), os.environ["CHURN_LOG"] + ".daemon")
        return made, cpu


def row_of(bench, kind):
    churn = Churn(bench, kind)
    made, cpu = churn.run()
    half = churn.rows[len(churn.rows) // 2:]

    def extent(key, form="{:.1f}"):
        values = [r[key] for r in churn.rows]
        return (f"{form}, {form}, {form}").format(values[0], values[len(values) // 2], values[-1])

    slopes = [f"{slope([(r['s'], r[key]) for r in half]):+.3f}" for key in ("rss", "anon", "maps")]
    last = churn.rows[-1]
    return [kind, f"{int(made[0]) / float(made[2]) * 60:.0f}", made[1], extent("rss"), extent("anon"),
            extent("maps"), ", ".join(slopes), extent("processes", "{:.0f}"), last["samples"],
            last["lost"], f"{cpu:.2f}"]


def measure(bench, rounds):
    if os.geteuid():
        raise Unavailable("the daemon needs root")
    rows = [row_of(bench, kind) for _ in range(rounds) for kind in ("fixed", "fresh")]
    return table(["names", "processes a minute", "failed", "MB resident at 10 s, half, end",
                  "anonymous", "BPF maps", "MB a minute: resident, anonymous, maps",
                  "processes known", "samples", "lost", "% of a CPU"], rows) + (
        "\nTo reach: flat.\n")


PARTS = {"churn": Part("the daemon's memory while 10,000 processes a minute come and go", 1, measure)}
