# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole program annotated: 1,000 source files with samples, against `perf annotate` a symbol.

perf annotates one symbol in a run, so the time of a few runs is multiplied by the number of
symbols. The program is made here, and compiling it takes half a minute. Each tool reads its own
recording of it.
"""

import pathlib
import random
import subprocess

from harness import Part, in_turn, ratios, spread, table

N_FILES = 1000
N_TIMED = 4  # symbols that perf annotates in a round

SOURCE = """\
static int step_{n}(int x, int i)
{{
	return (x >> 3) * {odd} + (i ^ x);
}}

int work_{n}(int n)
{{
	int x = {n}, y = 1;

	for (int i = 0; i < n; i++) {{
		x = step_{n}(x, i);
		if (x & 4)
			y += x % {odd};
		else
			y ^= x / {odd};
	}}
	return x + y;
}}
"""


def make_project(folder):
    """The program, of files src/DIR/fileN.c that are a screen long each."""
    src = pathlib.Path(folder)
    names = []
    for n in range(N_FILES):
        where = src / "src" / f"part{n % 10}"
        where.mkdir(parents=True, exist_ok=True)
        (where / f"file{n}.c").write_text(SOURCE.format(n=n, odd=2 * n + 3))
        names.append(str(where / f"file{n}.c"))
    calls = "".join(f"\t\tsum += work_{n}(2000);\n" for n in range(N_FILES))
    (src / "main.c").write_text(
        "".join(f"int work_{n}(int n);\n" for n in range(N_FILES)) +
        "int main(void)\n{\n\tint sum = 0;\n\n\tfor (int i = 0; i < 400; i++) {\n" + calls +
        "\t}\n\treturn sum == 42;\n}\n")
    rules = "all: app\n" + "".join(f"{n}.o: {path}\n\tcc -O1 -g -c $< -o $@\n"
                                   for n, path in enumerate(names))
    rules += "main.o: main.c\n\tcc -O0 -g -c $< -o $@\n"
    rules += "app: main.o " + " ".join(f"{n}.o" for n in range(N_FILES)) + "\n\tcc -o $@ $^\n"
    (src / "Makefile").write_text(rules)
    subprocess.run(["make", "-s", "-j2"], cwd=src, check=True)
    return str(src / "app")


def measure(bench, rounds):
    folder = bench.path("project")
    app = make_project(folder)
    perf_data, session = bench.path("annotate.perf"), bench.path("annotate.assay")
    for tool, path in (("perf", perf_data), ("assay", session)):
        bench.run_over(bench.recorder(tool, 4000, "flat", path), [app])
    random.seed(1)
    symbols = [f"work_{random.randrange(N_FILES)}" for _ in range(N_TIMED)]
    out = bench.path("annotated")
    scripts = {
        "perf annotate, a symbol": "; ".join(
            f"{bench.perf} annotate --stdio -i {perf_data} -s {s}" for s in symbols),
        "assay annotate, 1,000 files": f"{bench.assay} annotate -i {session} -t 0 -d {out}",
        "assay annotate -a, 1,000 functions":
            f"{bench.assay} annotate -i {session} -t 0 -a -s --no-pager",
    }

    def run(name):
        bench.remove(out)
        return bench.run_over([], ["sh", "-c", f"{scripts[name]} >/dev/null"], cwd=folder)

    for name in scripts:
        run(name)
    results = in_turn(list(scripts), rounds, run)
    written = sum(1 for p in pathlib.Path(out).rglob("*.c")) if pathlib.Path(out).exists() else 0
    rows = []
    for name, runs in results.items():
        share = 1 / N_TIMED if name.startswith("perf") else 1
        peer = [r.work_wall * N_FILES / N_TIMED for r in results["perf annotate, a symbol"]]
        rows.append([name, spread([r.work_wall * share for r in runs], "{:.3f}"),
                     spread([r.work_peak / 1e6 for r in runs], "{:.0f}"),
                     spread(ratios([r.work_wall for r in runs], peer), "{:.5f}")
                     if name.startswith("assay") else ""])
    return table(["whole program", "wall s", "peak MB", "÷ perf annotate of each symbol"], rows) + (
        f"\n{N_FILES} files, {written} written at last. To reach: a tenth of one perf annotate a "
        "symbol.\n")


PARTS = {"annotate": Part("1,000 source files annotated", 3, measure)}
