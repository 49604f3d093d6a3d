#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares `assay script` with `perf script`, line for line.

Usage: compare_script.py [-- FIELD OPTIONS --] FILE...   ($ASSAY and $PERF name the programs)
Prints one line a file: the number of equal lines, and the number of lines for each difference that
docs/script.md lists (by its name there). Then it prints all other differences. Exit status 1 if there is one,
77 without perf.
"""
import collections
import concurrent.futures
import functools
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys

ASSAY = os.environ.get("ASSAY", "assay")
PERF = os.environ.get("PERF", "perf")

PLACE = re.compile(r"^(?P<before>(?:.*: +|\t *| *))(?P<ip>[0-9a-f]+) (?P<sym>\S.*?)(?P<off>\+0x[0-9a-f]+)? \((?P<dso>[^()]*(?:\(deleted\))?)\)(?P<after>.*)$")


BRANCH_SYMBOL = re.compile(r"([0-9a-f]{16})?(?:\[unknown\]|[\w.]+\+0x[0-9a-f]+)(?=/)")


def lines_of(command):
    run = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    return run, run.stdout.decode(errors="replace").splitlines()


def module(dso):
    """A module's name from [name] or its path."""
    found = re.match(r"^\[(\w+)\]$", dso) or re.match(r".*/([\w-]+)\.ko(\.\w+)?$", dso)
    return found.group(1).replace("-", "_") if found else None


@functools.cache
def perf_version():
    text = subprocess.run([PERF, "--version"], capture_output=True, text=True).stdout
    return tuple(int(n) for n in re.findall(r"\d+", text)[:2])


def layout(line):
    """Of a newer perf than 6.1.

    It has wider columns, and callers' addresses instead of their places in files. It has a blank before a branch's image,
    and further columns of branches. perf 7 also has a modifier H of events that leave guests out. It prints CPU 0 for a
    CPU that this machine does not have.
    """
    if perf_version() <= (6, 1):
        return line
    line = re.sub(" +", " ", line).removeprefix(" ")
    line = re.sub(r" (\([^()]*\)/)", r"\1", line)
    line = re.sub(r"/(\d+)/(\w*)/-(?= |$)", r"/\1/\2", line)
    if perf_version() >= (7, 0):
        line = re.sub(r":H(?=:? |:?$)", "", line)
        line = re.sub(r" \[(\d+)\] ", lambda cpu: " [000] " if int(cpu[1]) >= os.cpu_count() else cpu[0], line, count=1)
    return re.sub(r"^(\t *)[0-9a-f]*([0-9a-f]{3} )", r"\1\2", line)


def difference(ours, theirs):
    """The name in docs/script.md of how two lines differ, or None."""
    if re.sub(r"^ *:-?\d+ ", "", theirs) == re.sub(r"^ *\S.{0,14}? (?= *-?\d)", "", ours, count=1):
        return "untold thread"
    if "[unknown]/[unknown]/" in ours and BRANCH_SYMBOL.sub(r"\1", ours) == BRANCH_SYMBOL.sub(r"\1", theirs):
        return "another kernel"
    a, b = PLACE.match(ours), PLACE.match(theirs)
    if a and b and a["sym"] == "[unknown]" == a["dso"] and a["ip"][-3:] == b["ip"][-3:] and ours.startswith("\t"):
        return "left by exec"
    if not a or not b or (a["before"], a["ip"], a["after"]) != (b["before"], b["ip"], b["after"]):
        return None
    if a["dso"] == b["dso"] and a["off"] and a["off"] == b["off"]:
        return "alias"
    if a["dso"] == b["dso"] and a["sym"] == "[unknown]" and b["dso"].startswith("[kernel"):
        return "another kernel"
    if re.sub(r" \(deleted\)$", "", b["dso"]) == a["dso"] and a["sym"] == b["sym"]:
        return "deleted file"
    if a["sym"] == b["sym"] and module(a["dso"]) and module(a["dso"]) == module(b["dso"]):
        return "module's path"
    if a["dso"] == "[bpf:%s]" % b["dso"] and a["sym"] == b["sym"]:
        return "BPF program"
    if b["dso"].startswith("/tmp/perf-") and a["dso"] == b["dso"]:
        return "perf map"
    if a["dso"] == b["dso"] and (b["sym"] == "[unknown]" or "@plt" in a["sym"] + b["sym"]):
        return "unnamed by perf"
    if a["dso"] == b["dso"]:
        return "another name"
    return None


# The two may disagree in a few places where one symbol ends and the next begins: at most so many lines.
def may_be_named_otherwise(n_lines):
    return max(3, n_lines // 100)


# The two unwinders may end in different frames, mostly before main() and behind execve(2): in at most so many samples.
def may_end_elsewhere(n_samples):
    return max(3, n_samples // 20)


def samples_of(lines):
    """The lines of each sample. A sample with a chain ends with an empty line."""
    sample = []
    for line in lines:
        sample.append(line)
        if not line:
            yield sample
            sample = []
    if sample:
        yield sample


def with_equal_ends(ours, theirs):
    """The lines without the frames that only one of the two has behind a chain's end, and the number of such chains."""
    kept, n_chains = ([], []), 0
    for pair in itertools.zip_longest(samples_of(ours), samples_of(theirs), fillvalue=[]):
        frames = [sum(line.startswith("\t") for line in sample) for sample in pair]
        same = min(frames)
        if same and frames[0] != frames[1] and all(len(sample) == n + 2 for sample, n in zip(pair, frames)):
            n_chains += 1
            pair = [sample[:1 + same] + [""] for sample in pair]
        for lines, sample in zip(kept, pair):
            lines += sample
    return *kept, n_chains


def compare(path, options):
    run_of_perf, theirs = lines_of([PERF, "script", "--no-inline", "--no-itrace", "-i", path, *options])
    if run_of_perf.returncode and not theirs:
        print(f"{path}: perf cannot read it: {run_of_perf.stderr.decode(errors='replace').strip().splitlines()[-1:]}")
        return True
    run, ours = lines_of([ASSAY, "script", "--no-itrace", "-i", path, *options])
    if run.returncode and not ours:
        print(f"{path}: assay cannot read it: {run.stderr.decode(errors='replace').strip()}")
        return False
    perf_died = signal.Signals(-run_of_perf.returncode).name if run_of_perf.returncode < 0 else None
    if perf_died:  # its last line may be cut
        theirs.pop()
        ours = ours[:len(theirs)]
    n_samples = sum(1 for _ in samples_of(theirs))
    ours, theirs, n_ends = with_equal_ends(ours, theirs)
    known, bad = collections.Counter({"chain's end": n_ends} if n_ends else {}), []
    if n_ends > may_end_elsewhere(n_samples):
        bad.append(f"{path}: {n_ends} of {n_samples} chains end elsewhere")
    for n, (a, b) in enumerate(zip(ours, theirs), 1):
        a, b = layout(a), layout(b)
        if a == b:
            continue
        how = difference(a, b)
        if how:
            known[how] += 1
        else:
            bad.append(f"{path}:{n}:\n  perf  {b}\n  assay {a}")
    if known["another name"] > may_be_named_otherwise(len(theirs)):
        bad.append(f"{path}: {known['another name']} lines have another name")
    if len(ours) != len(theirs):
        bad.append(f"{path}: perf prints {len(theirs)} lines, assay {len(ours)}")
    for line in bad[:8]:
        print(line)
    if perf_died:
        print(f"{path}: perf ended by {perf_died}: only its {len(theirs)} lines are compared")
    told = "".join(f", {n} {how}" for how, n in sorted(known.items()))
    print(f"{path}: {len(theirs)} lines{told}, {len(bad)} differ" if bad else f"{path}: {len(theirs)} lines{told}, else equal")
    return not bad


def main():
    args, options = sys.argv[1:], []
    if args and args[0] == "--":
        end = args.index("--", 1)
        options, args = args[1:end], args[end + 1:]
    if not shutil.which(PERF):
        print("perf is not installed")
        sys.exit(77)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda path: compare(path, options), args))
    sys.exit(0 if all(results) else 1)


main()
