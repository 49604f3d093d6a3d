# SPDX-License-Identifier: GPL-2.0-or-later
"""Bytes of the blocks of a fleet (docs/fleet.md) on five loads, each recorded alone with its children.

The loads run at the same time, for SECONDS (default 600) at RATE Hz (default 99).
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

from harness import Part, size_of, table

SECONDS = int(os.environ.get("SECONDS", "600"))
RATE = int(os.environ.get("RATE", "99"))
SOURCES = pathlib.Path(__file__).resolve().parents[2]

# An agent that looks at an otherwise idle machine.
IDLE = """
import pathlib, time
while True:
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            file.read_text().split()
        except OSError:
            pass
    time.sleep(1)
"""
BUILD = 'while :; do for f in {sources}/src/base/*.c {sources}/src/elf/*.c; do gcc -O2 -g -I{sources}/src -I{sources}/build -D_GNU_SOURCE -c -o /dev/null "$f"; done; done'
DATABASE = """set -e
initdb -D {folder}/pg -A trust >/dev/null
postgres -D {folder}/pg -k {folder} -c listen_addresses= -c fsync=off &
until pg_isready -q -h {folder}; do sleep 0.2; done
createdb -h {folder} bench
pgbench -h {folder} -i -q -s 5 bench 2>/dev/null
pgbench -h {folder} -c 4 -T {seconds} bench >/dev/null
kill %1
wait"""
WEB = """
const http = require('http'), zlib = require('zlib');
const rows = Array.from({ length: 200 }, (_, i) => ({ id: i, name: 'row ' + i, tags: ['a', 'b', String(i * 7)] }));
const server = http.createServer((request, answer) => {
	const chosen = rows.filter((row) => row.id % 7 === request.url.length % 7).sort((a, b) => a.name < b.name ? -1 : 1);
	answer.setHeader('Content-Encoding', 'gzip');
	answer.end(zlib.gzipSync(JSON.stringify(chosen)));
}).listen(0, '127.0.0.1', () => {
	const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
	let n = 0;
	const ask = () => http.get({ port: server.address().port, path: '/' + 'x'.repeat(n++ % 20), agent }, (got) => got.resume().on('end', ask));
	for (let i = 0; i < 8; i++) ask();
});
"""
PYTHON = """
import collections, json, random, re, statistics
while True:
    rows = [{"id": i, "name": f"row {random.random()}", "of": [i % 7, i % 11]} for i in range(2000)]
    text = json.dumps(rows)
    back = json.loads(text)
    words = collections.Counter(w for row in back for w in re.findall(r"[0-9]+", row["name"]))
    back.sort(key=lambda row: row["name"])
    statistics.pstdev(row["id"] for row in back)
"""


def loads(folder):
    shell = {"build": BUILD, "database": DATABASE}
    words = {"sources": SOURCES, "folder": folder, "seconds": SECONDS}
    argv = {name: ["bash", "-c", text.format(**words)] for name, text in shell.items()}
    argv["web server"] = ["node", "-e", WEB]
    argv["idle"] = [sys.executable, "-c", IDLE]
    argv["Python"] = [sys.executable, "-c", PYTHON]
    return argv


def sizes(bench, folder):
    """Samples, blocks, bytes as recorded, as packed and of the blocks, and CPU seconds for the blocks."""
    history = folder / "history"
    recorded = size_of(str(folder / "rec" / "samples"))
    part = time.strftime("%Y%m%dT%H%M%S.000Z", time.gmtime(os.stat(folder / "rec").st_mtime - SECONDS))
    (history / "samples" / "current").mkdir(parents=True)
    (folder / "rec").rename(history / "samples" / "current" / part)
    begin = os.times()
    said = subprocess.run([bench.assay, "retain", history, "--level", "functions", "-o", folder / "blocks"],
                          capture_output=True, text=True, check=True).stderr
    cpu = sum(os.times()[2:4]) - sum(begin[2:4])
    subprocess.run([bench.assay, "retain", "-q", history, "--tier", "minutes=never", "--tier", "hours=never", "--tier", "days=never"],
                   capture_output=True, check=True)
    blocks, samples = int(re.search(r"(\d+) blocks? made", said).group(1)), int(re.search(r"(\d+) samples?", said).group(1))
    block_bytes = int(re.search(r"in (\d+) bytes", said).group(1))
    return samples, blocks, recorded, size_of(str(history)), block_bytes, cpu


def measure(bench, _rounds):
    folder = pathlib.Path(bench.path("blocks"))
    running, rows = [], []
    for name, argv in loads(folder / "database").items():
        own = folder / name.replace(" ", "-")
        own.mkdir(parents=True)
        user = []
        if name == "database" and os.geteuid() == 0:
            os.chmod(folder.parent, 0o755)
            os.chown(own, 65534, 65534)
            user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        running.append((name, own, subprocess.Popen([bench.assay, "record", "-q", "-e", "cpu-clock", "-F", str(RATE), "--duration", str(SECONDS),
                                                     "-o", own / "rec", "--", *user, *argv], stdout=subprocess.DEVNULL,
                                                    start_new_session=True)))
    for _, _, process in running:
        process.wait()
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
    load = os.getloadavg()[1]
    for name, own, _ in running:
        samples, blocks, recorded, packed, block_bytes, cpu = sizes(bench, own)
        if not samples:
            rows.append([name] + ["0"] * 2 + ["–"] * 5)
            continue
        rows.append([name, f"{samples:,}", str(blocks), f"{recorded / samples:.2f}", f"{packed / samples:.2f}",
                     f"{block_bytes / samples:.2f}", f"{300 * block_bytes / samples:.0f}", f"{cpu:.2f}"])
    return f"{SECONDS} s at {RATE} Hz; load average at the end {load:.0f}.\n\n" + table(
        ["load", "samples", "blocks", "as recorded, bytes a sample", "packed", "blocks", "bytes a second at 300 samples a second",
         "CPU seconds for the blocks"], rows)


PARTS = {"blocks": Part("bytes a sample of the blocks of a fleet, on five loads", 1, measure)}
