#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The real loads whose recordings are the histories of bench/fleet-sim.

bench/fleet_loads.py [--seconds S] [--assay PATH] DIR

Each load is a line of shell. It runs again and again in a folder of its own, DIR/NAME, and assay records it for S seconds. A load that DIR has is not
recorded again. A load whose program is missing here has no recording.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = 40
AT_ONCE = 5  # recordings
SOURCE_HZ = 997
NUMBERS = "[ -e numbers ] || seq 1 200000 | sort -R --random-source=/usr/bin/env >numbers; "
PYTHON = "python3 -c '%s'"
# The program that a load needs, if its name does not begin with it.
PROGRAMS = {"build": "gcc", "build-cxx": "g++", "build-clang": "clang", "build-rust": "rustc", "python-json": "python3", "python-text": "python3", "python-tools": "python3",
            "python-web": "python3", "sqlite": "sqlite3", "postgres": "pgbench", "browser": "chromium", "shell": "bash", "idle": "cat"}
# Words in braces are of words_of(). A load with a server starts it once, and ends with it.
LOADS = {
    "build": "for f in {root}/src/base/*.c {root}/src/store/*.c; do gcc -O2 -g -D_GNU_SOURCE -I{root}/src -I{build}/src -c -o /dev/null $f; done",
    "build-cxx": "echo '#include <regex>\n#include <map>\nint main() {{ std::map<int, std::regex> m; return m.size(); }}' >a.cc; g++ -O1 -c -o /dev/null a.cc",
    "build-clang": "for f in {root}/src/profile/*.c; do clang -O2 -g -D_GNU_SOURCE -I{root}/src -I{build}/src -c -o /dev/null $f 2>/dev/null; done",
    "build-rust": "echo 'fn main() {{ let m: std::collections::BTreeMap<_, _> = std::env::args().enumerate().collect(); println!(\"{{m:?}}\"); }}' >a.rs; "
                  "rustc -O -o a a.rs",
    "gzip": "gzip -9 <{binary} >/dev/null",
    "xz": "xz -4 <{binary} >/dev/null",
    "bzip2": "bzip2 <{binary} >/dev/null",
    "zstd": "zstd -12 -q <{binary} >/dev/null",
    "sort": NUMBERS + "sort numbers >/dev/null; sort -n numbers | uniq -c >/dev/null",
    "awk": NUMBERS + "awk '{{ n[$1 % 997] += $1 }} END {{ for (i in n) print i, n[i] }}' numbers >/dev/null",
    "perl": "perl -e 'for (1..300000) {{ $n{{$_ % 1009}} .= chr(65 + $_ % 26); }} print scalar(grep /ABC/, values %n)' >/dev/null",
    "ruby": "ruby -e 'p (1..300000).map {{ |i| i.to_s.reverse }}.sort.group_by(&:size).keys' >/dev/null",
    "php": "php -r '$a = range(1, 300000); shuffle($a); sort($a); echo md5(json_encode($a));' >/dev/null",
    "python-json": PYTHON % "import json; [json.loads(json.dumps([{{\"id\": i, \"of\": [i % 7, str(i)]}} for i in range(3000)])) for _ in range(60)]",
    "python-text": PYTHON % "import re, collections, sys, inspect; t = inspect.getsource(inspect); [collections.Counter(re.findall(r\"[a-z_]+\", t)).most_common(9) for _ in range(90)]",
    "python-tools": PYTHON % "import compileall, tokenize, ast, glob; [ast.unparse(ast.parse(open(f, errors=\"replace\").read())) for f in sorted(glob.glob(\"/usr/lib/python3*/*.py\"))[:60]]",
    "python-web": PYTHON % "import http.server, threading, urllib.request; s = http.server.ThreadingHTTPServer((\"127.0.0.1\", 0), http.server.SimpleHTTPRequestHandler); "
                  "threading.Thread(target=s.serve_forever, daemon=True).start(); [urllib.request.urlopen(\"http://127.0.0.1:%%d/\" %% s.server_port).read() for _ in range(2000)]"
                  + " 2>/dev/null",
    "sqlite": "sqlite3 :memory: 'create table t(a, b); with recursive c(i) as (select 1 union all select i + 1 from c limit 200000) "
              "insert into t select i, hex(randomblob(4)) from c; create index x on t(b); select count(*), max(b) from t group by a % 17;' >/dev/null",
    "postgres": "runuser -u nobody -- bash -c 'initdb -D {scratch}/pg -A trust >/dev/null 2>&1; postgres -D {scratch}/pg -k {scratch} -c listen_addresses= -c fsync=off >/dev/null 2>&1 & "
                "until pg_isready -q -h {scratch} -d postgres; do sleep 0.2; done; pgbench -h {scratch} -i -q -s 3 postgres >/dev/null 2>&1; "
                "pgbench -h {scratch} -c 4 -T {seconds} postgres >/dev/null 2>&1'",
    "node": "node -e 'const z = require(\"zlib\"); for (let i = 0; i < 300; i++) z.gzipSync(JSON.stringify(Array.from({{length: 2000}}, (_, k) => ({{id: k, n: \"row \" + i * k}}))))'",
    "node-web": "node -e 'const h = require(\"http\"), s = h.createServer((q, a) => a.end(JSON.stringify([...q.url].map((c, i) => c.charCodeAt(0) * i)))).listen(0, () => {{ "
                "const go = (n) => n ? h.get({{port: s.address().port, path: \"/\" + \"x\".repeat(n % 90)}}, (r) => r.resume().on(\"end\", () => go(n - 1))) : process.exit(); go(9000); }})'",
    "java": "[ -e Work.class ] || {{ echo 'public class Work {{ public static void main(String[] a) {{ for (int r = 0; r < 300; r++) {{ "
            "var m = new java.util.HashMap<String, Integer>(); for (int i = 0; i < 20000; i++) m.merge(\"k\" + i % 4099, i, Integer::sum); }} }} }}' >Work.java; javac Work.java; }}; java Work",
    "javac": "for i in $(seq 40); do echo \"public class A$i {{ int f(int x) {{ return x > $i ? f(x - 1) : java.util.List.of(x).stream().mapToInt(n -> n).sum(); }} }}\" >A$i.java; done; javac A*.java",
    "browser": "echo '<body><script>for (let i = 0; i < 4000; i++) {{ const p = document.createElement(\"p\"); p.textContent = \"row \" + i; document.body.append(p); }}</script>' >a.html; "
               "timeout 20 chromium --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/profile --dump-dom file://$PWD/a.html >/dev/null 2>&1",
    "openssl": "openssl speed -seconds 1 -evp sha256 >/dev/null 2>&1",
    "openssl-rsa": "openssl genrsa 3072 >/dev/null 2>&1",
    "cmake": "mkdir -p src; echo 'project(p C)\nadd_executable(p p.c)' >src/CMakeLists.txt; echo 'int main(void) {{ return 0; }}' >src/p.c; rm -rf out; cmake -S src -B out >/dev/null 2>&1; "
             "cmake --build out >/dev/null 2>&1",
    "jq": "[ -e rows.json ] || seq 1 60000 | awk '{{ print \"{{\\\"id\\\":\" $1 \",\\\"of\\\":[\" $1 % 7 \"]}}\" }}' >rows.json; jq -s 'group_by(.of[0]) | map(length)' rows.json >/dev/null",
    "git": "git -C {root} log --stat -n 300 >/dev/null; git -C {root} grep -c static >/dev/null",
    "tar": "tar -cf - {root}/src | md5sum >/dev/null",
    "find": "find /usr/share -name '*.h' -newer /etc/passwd | wc -l >/dev/null",
    "shell": "for i in $(seq 200); do x=$(echo $i | sed 's/1/one/'); [ \"$x\" ] && printf '%s\\n' \"$x\"; done | sort | uniq -c >/dev/null",
    "idle": "cat /proc/[0-9]*/stat >/dev/null 2>&1; sleep 1",
}


def words_of(args, folder):
    """What the lines of shell name. `scratch` is a folder that any user may write."""
    scratch = folder / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    scratch.chmod(0o777)
    return {"root": ROOT, "build": args.assay.parent, "binary": args.assay, "scratch": scratch, "seconds": args.seconds}


def start_recording(args, name, folder):
    loop = "while :; do " + LOADS[name].format(**words_of(args, folder)) + "; done"
    return subprocess.Popen([args.assay, "record", "-q", "-e", "cpu-clock", "-F", str(SOURCE_HZ), "--duration", str(args.seconds), "-o", "rec", "--", "bash", "-c", loop],
                            cwd=folder, env=dict(os.environ, GIT_OPTIONAL_LOCKS="0"), start_new_session=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def record_loads(args, folder):
    """Records the loads that are not in the folder yet."""
    waiting = [name for name in LOADS if not (folder / name / "rec").exists() and shutil.which(PROGRAMS.get(name, name.split("-")[0]))]
    while waiting:
        group, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        running = [start_recording(args, name, folder / name) for name in group]
        for process in running:
            process.wait()
            try:
                os.killpg(process.pid, 9)
            except ProcessLookupError:
                pass


def main():
    parser = argparse.ArgumentParser(description="Records the loads of bench/fleet-sim.")
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--assay", type=lambda text: pathlib.Path(text).resolve(), default=ROOT / "build" / "assay")
    parser.add_argument("dir", type=lambda text: pathlib.Path(text).resolve(), metavar="DIR")
    record_loads(parser.parse_args(), parser.parse_args().dir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
