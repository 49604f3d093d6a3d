# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs to record allocations: a C++ build, and malloc and free in a loop.

Both run alone, below `assay record --alloc` with the preloaded library, below the same by uprobes,
and below `heaptrack -r`, which records without interpreting. A program has uprobes from its start if
it is set-uid, so that run is of a copy that belongs to another user. The CPU time of the build
includes that of the profiler.
"""

import os
import pathlib
import re
import shutil
import subprocess

from harness import Part, Unavailable, in_turn, ratios, spread, table

SOURCE = """\
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
template <int N> int work(const std::string &text)
{
	std::map<std::string, std::vector<int>> found;
	std::regex word("([a-z]+)([0-9]{" + std::to_string(N % 5 + 1) + "})");
	for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i)
		found[(*i)[1]].push_back(N);
	for (auto &each : found)
		std::sort(each.second.begin(), each.second.end(), [](int a, int b) { return a % (N + 2) < b % (N + 2); });
	return static_cast<int>(found.size());
}
"""
INSTANCES = 8
RECORDERS = ("none", "assay", "heaptrack", "assay by uprobes")
PAIRS = {"none": 20_000_000, "assay": 20_000_000, "heaptrack": 2_000_000, "assay by uprobes": 50_000}
NOBODY = 65534


def set_uid_copy(bench, program):
    """A copy that gains rights, so that the loader preloads nothing into it."""
    copy = bench.path("set-uid-" + os.path.basename(program))
    if not os.path.exists(copy):
        shutil.copy(program, copy)
        os.chown(copy, NOBODY, NOBODY)
        os.chmod(copy, 0o4755)
        bench.scratch.chmod(0o777)
    return copy


def words_of(bench, name, program, arguments):
    """The command of a recorder over a program."""
    out = bench.path("alloc.out")
    bench.remove(out)
    if name == "none":
        return [program, *arguments]
    if name == "heaptrack":
        return ["heaptrack", "-r", "-o", out, program, *arguments]
    if name == "assay by uprobes":
        program = set_uid_copy(bench, program)
    return [bench.assay, "record", "-q", "--alloc", "-o", out, "--", program, *arguments]


def recorders():
    return [name for name in RECORDERS
            if (name != "heaptrack" or shutil.which("heaptrack")) and (name != "assay by uprobes" or os.geteuid() == 0)]


def compiler(bench):
    """The compiler proper, and its arguments for a preprocessed source."""
    if not shutil.which("g++"):
        raise Unavailable("g++ is not installed")
    source, plain = bench.path("alloc.cc"), bench.path("alloc.ii")
    calls = " + ".join(f"work<{n}>(text)" for n in range(INSTANCES))
    pathlib.Path(source).write_text(SOURCE + f"int main(int, char **words) {{ std::string text = words[0]; return {calls}; }}\n")
    subprocess.run(["g++", "-E", "-o", plain, source], check=True)
    found = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, capture_output=True, text=True)
    return found.stdout.strip(), ["-quiet", "-fpreprocessed", "-O1", plain, "-o", "/dev/null"]


def measure_build(bench, rounds):
    program, arguments = compiler(bench)
    names = recorders()
    results = in_turn(names, rounds, lambda name: bench.run(words_of(bench, name, program, arguments)))
    rows = [[name, spread([r.wall for r in results[name]]), spread([r.cpu for r in results[name]]),
             *[spread(ratios([getattr(r, key) for r in results[name]], [getattr(r, key) for r in results["none"]]))
               for key in ("wall", "cpu")]] for name in names]
    return table(["recorder", "wall s", "CPU s", "wall ÷ none", "CPU ÷ none"], rows) + (
        "\nTo reach: the preloaded library slows the build down by a fifth of heaptrack's slow-down at most.\n")


def measure_pairs(bench, rounds):
    names = recorders()

    def run(name):
        said = bench.run(words_of(bench, name, bench.tool("malloc_pairs"), [str(PAIRS[name])])).output
        return float(re.search(r"^([0-9]+\.[0-9]+)$", said, re.MULTILINE).group(1))

    results = in_turn(names, rounds, run)
    return table(["recorder", "ns a pair", "more than none"],
                 [[name, spread(results[name], "{:.1f}"),
                   spread([a - b for a, b in zip(results[name], results["none"])], "{:.1f}")] for name in names])


PARTS = {
    "alloc-build": Part("the cost of --alloc for a C++ compiler, beside heaptrack", 5, measure_build),
    "alloc-pairs": Part("the cost of --alloc for malloc and free in a loop", 5, measure_pairs),
}
