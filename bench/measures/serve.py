# SPDX-License-Identifier: GPL-2.0-or-later
"""assay serve over a synthetic day of 50 million samples on 16 CPUs: times of answers, memory, and a load of requests with hostile clients beside it.

There is no peer: the other profilers' servers keep their own stores.
"""

import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import threading
import time
import urllib.parse

from harness import Part, spread, table
from measures.history import NO_TIERS

HOUR = {"since": "2026-06-01T12:20:07Z", "until": "2026-06-01T13:20:07Z"}
DAY = {"since": "2026-06-01T00:20:07Z", "until": "2026-06-01T23:59:53Z"}
CLIENTS, SECONDS, RATE, NEW = 20, 60, 200, 20


class Server:
    """A run of assay serve, logged in."""

    def __init__(self, bench, *sources):
        self.process = subprocess.Popen([bench.assay, "serve", *sources], stdout=subprocess.PIPE, text=True)
        url = self.process.stdout.readline().strip()
        self.address = re.match(r"http://([^/]*)/", url).group(1)
        answer = self.ask(url.split(self.address, 1)[1])
        self.cookie = answer[1]["Set-Cookie"].split(";")[0]

    def ask(self, path, **query):
        """(status, headers, bytes, seconds)"""
        begin = time.monotonic()
        connection = http.client.HTTPConnection(self.address, timeout=120)
        headers = {"Cookie": self.cookie} if hasattr(self, "cookie") else {}
        connection.request("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""), headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), len(body), time.monotonic() - begin

    def memory(self):
        """Resident bytes of serve itself, and of its workers."""
        own = workers = 0
        for line in subprocess.run(["ps", "-o", "pid=,ppid=,rss=", "-p", str(self.process.pid), "--ppid", str(self.process.pid)],
                                   capture_output=True, text=True, check=True).stdout.splitlines():
            pid, parent, rss = map(int, line.split())
            own += rss * 1024 * (pid == self.process.pid)
            workers += rss * 1024 * (parent == self.process.pid)
        return own, workers

    def end(self):
        self.process.terminate()
        self.process.wait()


def answers(server, rounds):
    rows = []
    questions = {
        "page with the flame graph of an hour": ("page", HOUR),
        "flame graph of an hour as SVG": ("svg", HOUR),
        "page with the flame graph of the day": ("page", DAY),
        "functions of an hour": ("top", HOUR),
        "series of the day by comm": ("series", {**DAY, "by": "comm"}),
    }
    for name, (api, query) in questions.items():
        times = []
        watch = Watch(server)
        for i in range(rounds):
            # Each is another question, as the second begins later; so no answer is kept.
            moved = {**query, "since": query["since"].replace("20:07", f"20:{8 + i:02}")}
            status, _, size, seconds = server.ask(f"/api/v1/{api}", source="day", **moved)
            assert status == 200, (name, status)
            times.append(seconds)
        worker = watch.end()
        kept = server.ask(f"/api/v1/{api}", source="day", **moved)[3]
        rows.append([name, spread(times, "{:.2f}"), f"{kept * 1000:.1f}", f"{size / 1e6:.2f}", f"{worker / 1e6:.0f}"])
    return rows


def in_browser(bench, day, rounds):
    """What a person waits for: bench/serve.mjs. The log-in address is for the browser alone, and each round has a server that has kept nothing."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    if not chromium or not (root / "tests/npm/node_modules/playwright-core").is_dir():
        return "In a browser: not measured, as Chromium or playwright-core is not installed.\n"
    results = []
    for _ in range(rounds):
        process = subprocess.Popen([bench.assay, "serve", day], stdout=subprocess.PIPE, text=True)
        try:
            output = bench.run(["node", str(root / "bench/serve.mjs"), process.stdout.readline().strip(), HOUR["since"], HOUR["until"]],
                               env=dict(bench.env, CHROMIUM=chromium, HOME=os.environ.get("HOME", "/root"))).output
        finally:
            process.terminate()
            process.wait()
        results.append(json.loads(output))
    ms = {name: spread([result[name] for result in results], "{:.0f}") for name in results[0]}
    return (f"In a browser, {rounds} rounds: first paint {ms['paint']} ms (to reach: 300), another selector {ms['selector']} ms, "
            f"the same again {ms['again']} ms (300), flame graph of an hour {ms['graph']} ms.\n")


class Watch:
    """The most memory that workers of a server have had together, looked at 50 times a second."""

    def __init__(self, server):
        self.server, self.most, self.ended = server, 0, threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.ended.wait(0.02):
            self.most = max(self.most, self.server.memory()[1])

    def end(self):
        self.ended.set()
        self.thread.join()
        return self.most


def load(server):
    """Requests at a constant rate, 19 of 20 repeated. Returns the times of both kinds, and other states than 200."""
    repeated, new, refused, other = [], [], [], []

    def one(i):
        if i % NEW:
            status, _, _, seconds = server.ask("/api/v1/top", source="day", **DAY)
        else:
            minute, second = divmod(i // NEW, 60)
            status, headers, _, seconds = server.ask("/api/v1/top", source="day", since=f"2026-06-01T12:{minute % 60:02}:{second:02}Z",
                                                     until=f"2026-06-01T13:{minute % 60:02}:{second:02}Z")
        if status == 200:
            (repeated if i % NEW else new).append(seconds)
        elif status == 429 and not i % NEW and "Retry-After" in headers:
            refused.append(seconds)
        else:
            other.append(status)

    server.ask("/api/v1/top", source="day", **DAY)
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(128) as pool:
        for i in range(RATE * SECONDS):
            time.sleep(max(0, begin + i / RATE - time.monotonic()))
            pool.submit(one, i)
    return repeated, new, refused, other


def hostile(server, ended):
    """2,000 connections that send a byte now and then, headers of 1 MB, and bodies without end."""
    host, port = server.address.rsplit(":", 1)
    open_ones = []
    while not ended.is_set():
        try:
            s = socket.create_connection((host, int(port)), 5)
            open_ones.append(s)
            s.sendall([b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\nX: " + b"x" * 1000000,
                       b"POST /login HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 65536][len(open_ones) % 3])
        except OSError:
            pass
        if len(open_ones) > 2000:
            open_ones.pop(0).close()
        time.sleep(0.005)
    for s in open_ones:
        s.close()


def p99(times):
    return statistics.quantiles(times, n=100)[98] if len(times) > 1 else float("nan")


def load_row(name, result):
    repeated, new, refused, other = result
    return [name, str(len(repeated)), f"{p99(repeated) * 1000:.0f}", str(len(new)), f"{p99(new):.2f}", str(len(refused)), str(len(other))]


def measure(bench, rounds):
    day = bench.path("day")
    bench.run([bench.tool("history"), day])
    # As a daemon leaves it on the same day: packed, and not merged to minutes, hours and days.
    bench.run_over([], [bench.assay, "retain", "-q", day, *NO_TIERS])
    browser = in_browser(bench, day, rounds)
    server = Server(bench, day)
    try:
        first = spread([server.ask(path)[3] * 1000 for path in ["/", "/serve.js", "/serve.css"] * rounds], "{:.1f}")
        rows = answers(server, rounds)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda i: server.ask("/api/v1/page", source="day", **{**HOUR, "by": ["comm", "cpu", "app", "process"][i % 4]}), range(CLIENTS)))
        own, _ = server.memory()
        loads = [load_row("alone", load(server))]
        ended = threading.Event()
        attack = threading.Thread(target=hostile, args=(server, ended))
        attack.start()
        loads.append(load_row("beside hostile clients", load(server)))
        ended.set()
        attack.join()
        after, _ = server.memory()
    finally:
        server.end()
    return table(["answer", "s, new", "ms, kept", "MB", "MB of its worker"], rows) + "\n" + table(
        [f"{RATE} requests/s for {SECONDS} s", "repeated", "p99 ms", "new", "p99 s", "429", "others"], loads) + (
        f"\n{browser}Files of the page: {first} ms each. Memory of serve: {own / 1e6:.0f} MB after {CLIENTS} clients, {after / 1e6:.0f} MB at the end.\n"
        "To reach: an hour in 0.4 s, the day in 1.2 s, 150 MB; p99 of repeated 100 ms, of new 2 s or 429, no others.\n")


PARTS = {"serve": Part("assay serve: answers, memory, 200 requests a second, hostile clients", 3, measure)}
