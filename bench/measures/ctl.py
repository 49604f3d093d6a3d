# SPDX-License-Identifier: GPL-2.0-or-later
"""The time of the daemon's answers while two CPUs build C, and their cost.

A dump is timed from the request to its answer. A reader must then find the samples that an earlier
status had. Status requests come at a fixed rate over one connection.
"""

import json
import os
import socket
import statistics
import time

from harness import Part, Unavailable, spread, table
from measures.daemon import Daemon, cpu_seconds

DUMPS = 100
STATUS_HZ = 1000
STATUS_S = 20


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.lines = self.socket.makefile("r", encoding="utf-8")

    def ask(self, request):
        """(milliseconds, answer)."""
        line = json.dumps({"request": request}).encode() + b"\n"
        start = time.perf_counter()
        self.socket.sendall(line)
        answer = self.lines.readline()
        took = (time.perf_counter() - start) * 1000
        reply = json.loads(answer)
        if not reply["ok"]:
            raise Unavailable(f"{request}: {reply['error']}")
        return took, reply


def worst(values):
    return "{:.1f}, 99 %: {:.1f}, longest {:.1f}".format(
        statistics.median(values), statistics.quantiles(values, n=100)[98], max(values))


def dumps(daemon, client):
    """Milliseconds of each, and of how many something was missing for a reader."""
    took, missing = [], 0
    for i in range(DUMPS):
        before = client.ask("status")[1]["samples"]
        took.append(client.ask("dump")[0])
        if i % 10 == 0:
            missing += daemon.stored()[0] < before
        time.sleep(0.05)
    return took, missing



def statuses(pid, client):
    """Milliseconds of each, the rate, samples lost meanwhile, and the daemon's CPU time in %."""
    first, cpu, start = client.ask("status")[1], cpu_seconds(pid), time.monotonic()
    took = []
    for i in range(STATUS_HZ * STATUS_S):
        due = start + i / STATUS_HZ
        now = time.monotonic()
        if due > now:
            time.sleep(due - now)
        took.append(client.ask("status")[0])
    wall = time.monotonic() - start
    last = client.ask("status")[1]
    return (took, len(took) / wall, last["samples"] - first["samples"], last["lost"] - first["lost"],
            100 * (cpu_seconds(pid) - cpu) / wall)


def idle(pid):
    cpu, start = cpu_seconds(pid), time.monotonic()
    time.sleep(STATUS_S)
    return 100 * (cpu_seconds(pid) - cpu) / (time.monotonic() - start)


def measure(bench, rounds):
    if os.geteuid():
        raise Unavailable("the daemon needs root")
    rows = []
    for hz in (49, 997):
        with Daemon(bench, hz) as daemon:
            pid, client = daemon.process.pid, Client(str(daemon.dir / "control"))
            for _ in range(rounds):
                dump, missing = dumps(daemon, client)
                unasked = idle(pid)
                took, rate, samples, lost, cpu = statuses(pid, client)
                rows.append([hz, worst(dump), missing, "{:.0f}".format(rate), worst(took), samples,
                             lost, spread([unasked]), spread([cpu])])
    return table(["Hz", "dump, ms", "incomplete", "status a second", "one of them, ms",
                  "samples meanwhile", "lost", "% of a CPU unasked", "asked"], rows) + (
        f"\nTo reach: a dump within 50 ms and none incomplete; {STATUS_HZ} requests a second, "
        "nothing lost.\n")


PARTS = {"ctl": Part("asking the daemon, two CPUs building C", 1, measure)}
