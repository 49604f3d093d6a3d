#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares assay's counts of a perf.data with perf's: samples per event, per comm, per image.

Usage: compare_perf.py FILE...   ($ASSAY and $PERF name the programs)
Samples per depth of their call chains, too, unless the stacks were copied: the walkers differ.
Prints one line a file, and the differences. Exit status 1 if there is one, 77 without perf.
"""
import collections
import concurrent.futures
import csv
import io
import os
import re
import shutil
import subprocess
import sys

ASSAY = os.environ.get("ASSAY", "assay")
PERF = os.environ.get("PERF", "perf")


def image_name(name):
    """One spelling for things that the two name differently: the kernel, modules, memory without a file."""
    if name.startswith(("[kernel", "[guest.kernel")):
        return "[kernel]"
    if "/lib/modules/" in name or re.search(r"\.ko(\.\w+)?$", name):
        return "[" + os.path.basename(name).split(".")[0].replace("-", "_") + "]"
    if name.startswith("[bpf:"):
        return name[5:-1]
    if re.match(r"/tmp/perf-\d+\.map$|//anon|/memfd:|\[heap\]|\[stack|\[anon|/SYSV|\[vsyscall\]|\[uprobes\]|/dev/zero|.*/jit-\d+\.dump$", name):
        return "[jit]"
    name = re.sub(r"^\[(\w+) .*\]$", r"[\1]", name)  # a module of another kernel
    # One file at two places (a container's) is two for perf, and one by its build id for assay.
    return os.path.basename(re.sub(r" \(deleted\)$", "", name))


def perf_script(path, field):
    """What perf prints of that field, a line a sample."""
    run = subprocess.run([PERF, "script", "-G", "--no-itrace", "-i", path, "-F", field], capture_output=True,
                         text=True, errors="replace", stdin=subprocess.DEVNULL)
    if run.returncode:
        raise ValueError(run.stderr.strip().splitlines()[-1] if run.stderr.strip() else "perf failed")
    return [line for line in run.stdout.splitlines() if line.strip()]


def perf_counts(path):
    counts = {"event": collections.Counter(), "comm": collections.Counter(),
              "image": collections.Counter()}
    for line in perf_script(path, "event"):
        # perf 7 has a modifier H of events that leave guests out, and perf 5.10 has HG of those that do not.
        counts["event"][re.sub(r":HG?$", "", line.strip().rstrip(":").strip())] += 1
    for line in perf_script(path, "comm"):
        comm = line.strip()
        counts["comm"]["" if re.match(r":-?\d+$", comm) else comm] += 1
    for line in perf_script(path, "ip,dso"):
        found = re.match(r"\s*[0-9a-f]+ \((.*)\)\s*$", line)
        counts["image"][image_name(found.group(1)) if found else line] += 1
    return counts


def assay_counts(path):
    counts = {}
    for key in ("event", "comm", "image"):
        run = subprocess.run([ASSAY, "report", "-i", path, "--idle", "--no-pager", "--by", key,
                              "--format", "csv"], capture_output=True, text=True, errors="replace")
        counts[key] = collections.Counter()
        if run.returncode and "no samples" not in run.stderr:
            raise ValueError(run.stderr.strip())
        for row in csv.DictReader(io.StringIO(run.stdout)):
            name = row[key]
            if key == "image":
                name = image_name(name)
            if int(row["samples"]):
                counts[key]["" if name == "[unknown]" and key == "comm" else name.strip()] += int(row["samples"])
    return counts


def depths(program, path):
    """Samples by the number of addresses that `script` prints for each."""
    run = subprocess.run([program, "script", "--no-inline", "--no-itrace", "--max-stack", "500", "-i", path, "-F", "comm,ip"],
                         capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    if run.returncode:
        raise ValueError(run.stderr.strip().splitlines()[-1] if run.stderr.strip() else "script failed")
    blocks = re.split(r"\n\n+", run.stdout.strip("\n"))
    return collections.Counter(str(len(re.findall(r"(?m)^\s+[0-9a-f]+\s*$", block))) for block in blocks)


def sample_types(path):
    """The fields of the samples, as "IP|TID|TIME …" for each event."""
    run = subprocess.run([PERF, "evlist", "-v", "-i", path], capture_output=True, text=True, errors="replace",
                         stdin=subprocess.DEVNULL)
    return run.stdout


def has_recorded_chains(types):
    return "CALLCHAIN" in types and "STACK_USER" not in types


def name_unknown(theirs, ours):
    """Threads that nothing told of are ":TID" for perf; assay gives them their process's name."""
    for name in ours:
        more = ours[name] - theirs[name]
        if name and 0 < more <= theirs[""]:
            theirs[name] += more
            theirs[""] -= more


def depth_unknown(theirs, ours):
    """perf prints no chain of a pipe's samples, nor of one with a return address like -8; assay keeps the rest."""
    for depth in ours:
        more = ours[depth] - theirs[depth]
        if 0 < more <= theirs["0"]:
            theirs[depth] += more
            theirs["0"] -= more


def image_unknown(theirs, ours, n):
    """Places that perf does not find in n of its samples, and assay does.

    perf 6.17 and newer takes the first address of an off-cpu wait, in the program, for one of the kernel. And perf 7.2
    loses a thread if it reads the thread's exit before its samples. So it is in recordings without times.
    """
    for image in ours:
        more = min(ours[image] - theirs[image], n)
        if 0 < more <= theirs["[unknown]"]:
            theirs[image] += more
            theirs["[unknown]"] -= more
            n -= more


def compare(path):
    try:
        theirs = perf_counts(path)
    except ValueError as e:
        print(f"{path}: perf cannot read it: {e}")
        return True
    try:
        ours = assay_counts(path)
    except ValueError as e:
        print(f"{path}: assay cannot read it: {e}")
        return False
    types = sample_types(path)
    if has_recorded_chains(types):
        theirs["depth"], ours["depth"] = depths(PERF, path), depths(ASSAY, path)
        depth_unknown(theirs["depth"], ours["depth"])
    image_unknown(theirs["image"], ours["image"], theirs["event"]["offcpu-time"] if "|TIME" in types else sum(theirs["event"].values()))
    name_unknown(theirs["comm"], ours["comm"])
    differ = [f"{path}: {key} '{name}': perf {theirs[key][name]}, assay {ours[key][name]}"
              for key in theirs for name in sorted(set(theirs[key]) | set(ours[key]))
              if theirs[key][name] != ours[key][name]]
    for line in differ[:12]:
        print(line)
    print(f"{path}: {sum(theirs['event'].values())} samples,",
          f"{len(differ)} numbers differ" if differ else "equal")
    return not differ


def main():
    if not shutil.which(PERF):
        print("perf is not installed")
        sys.exit(77)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(compare, sys.argv[1:]))
    sys.exit(0 if all(results) else 1)


main()
