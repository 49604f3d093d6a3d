#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries each feature of this machine's processor that assay uses, on programs whose truth is known.

    tests/hardware_check.py ASSAY [FILE]      FILE: default hardware.json

Each feature has one line: passed, FAILED or skipped, and the numbers or the reason. FILE has the same for
machines. You can send it in: it has the processor, the kernel's release, the states of `assay doctor` and
these lines, and no names of hosts, users, programs or folders.
"""
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile

LIMIT_S = 120
# Two instructions each, in a function of its own; main() calls it through a second one.
PROGRAM = r"""
#include <stdlib.h>
__attribute__((noinline)) void known_loop(unsigned long n)
{
#if defined(__x86_64__)
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
#elif defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1; b.ne 1b" : "+r"(n) : : "cc");
#else
#error no loop for this architecture
#endif
}
__attribute__((noinline)) void known_caller(unsigned long n)
{
	known_loop(n);
	__asm__ volatile("");
}
int main(int argc, char **argv)
{
	known_caller(argc > 1 ? strtoul(argv[1], NULL, 10) : 1);
	return 0;
}
"""
LONG, SHORT = 500_000_000, 100_000
PMUS = "/sys/bus/event_source/devices"


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


class Machine:
    def __init__(self, assay, folder):
        self.assay, self.folder = os.path.abspath(assay), folder
        self.environment = dict(os.environ, HOME=folder, XDG_CACHE_HOME=folder, LC_ALL="C.UTF-8")
        said = self.run("doctor", "--format", "json", may_fail=True)
        try:
            self.checks = json.loads(said)["checks"]
        except (ValueError, KeyError):
            self.checks = []

    # Its output, or its messages.
    def run(self, *arguments, may_fail=False, errors=False):
        try:
            done = subprocess.run([self.assay, *arguments], cwd=self.folder, env=self.environment, timeout=LIMIT_S,
                                  capture_output=True, text=True, errors="replace", check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"assay {arguments[0]} did not end within {LIMIT_S} s") from None
        if done.returncode and not may_fail:
            raise Failed(f"assay {arguments[0]} ended with {done.returncode}")
        return done.stderr if errors else done.stdout

    def needs(self, check):
        if not self.checks:
            raise Failed("assay doctor gave no list of checks")
        found = next((row for row in self.checks if row["name"] == check), None)
        if not found or found["state"] == "missing":
            raise Skipped(f"{found['finding'] if found else f'no {check} here'} ('assay doctor' explains more)")

    def counts(self, events, *command):
        self.run("stat", "-e", events, "--format", "json", "-o", "counts", "--", *command)
        with open(os.path.join(self.folder, "counts"), encoding="utf-8") as counts:
            return json.load(counts)

    # The share of the samples that is in known_loop.
    def share(self, event, *options):
        self.run("record", "-q", "-e", event, *options, "-o", "samples", "--", "./known", str(LONG))
        report = json.loads(self.run("report", "-i", "samples", "--format", "json", "--by", "symbol"))
        rows = report["rows"]
        total = sum(row["samples"] for row in rows)
        own = sum(row["samples"] for row in rows if row.get("symbol") == "known_loop")
        if total < 20:
            raise Failed(f"{total} samples")
        if own < 0.9 * total:
            raise Failed(f"{own} of {total} samples are in the loop")
        return f"{own} of {total} samples are in the loop"


def pmus(pattern):
    try:
        return sorted(name for name in os.listdir(PMUS) if re.fullmatch(pattern, name))
    except OSError:
        return []


def timer(m):
    return m.share("cpu-clock:u")


def call_stacks(m):
    m.run("record", "-q", "-g", "-e", "cpu-clock:u", "-o", "stacks", "--", "./known", str(LONG))
    folded = m.run("export", "-i", "stacks", "--format", "folded", "-o", "-")
    own = whole = 0
    for line in folded.splitlines():
        stack, count = line.rsplit(" ", 1)
        if stack.endswith("known_loop"):
            own += int(count)
            whole += int(count) if "main;known_caller;known_loop" in stack else 0
    if own < 20 or whole < 0.99 * own:
        raise Failed(f"{whole} of {own} stacks are whole")
    return f"{whole} of {own} stacks are whole"


def counters(m):
    m.needs("hardware counters")
    wanted = 2 * LONG
    counted = m.counts("instructions:u", "./known", str(LONG))["counts"][0]["count"] or 0
    if not wanted <= counted <= 1.01 * wanted:
        raise Failed(f"{counted} instructions, {wanted} in the loop")
    return f"{counted} instructions, {wanted} in the loop"


def counter_sampling(m):
    m.needs("hardware counters")
    return m.share("cycles:u")


def precise(m):
    m.needs("precise sampling")
    return m.share("cycles:upp")


# All branches of the loop are from its last instruction to its first.
def branch_stacks(m):
    m.needs("hardware counters")
    said = m.run("record", "-b", "-e", "cycles:u", "-o", "lbr.data", "--", "./known", str(LONG), may_fail=True, errors=True)
    if "keeps no branch stacks" in said:
        raise Skipped("this processor, or this virtual machine, keeps none")
    if not os.path.exists(os.path.join(m.folder, "lbr.data")):
        raise Failed("assay record -b made no file")
    text = m.run("script", "-i", "lbr.data", "-F", "brstacksym")
    pairs = re.findall(r"(\S+)/(\S+?)/[MPN-]/", text)
    loop = [(int(start, 16), int(end, 16)) for pair in pairs
            for start, end in re.findall(r"^known_loop\+(0x[0-9a-f]+) known_loop\+(0x[0-9a-f]+)$", " ".join(pair))]
    if len(pairs) < 100 or len(loop) < 0.9 * len(pairs):
        raise Failed(f"{len(loop)} of {len(pairs)} branches are in the loop")
    kinds = set(loop)
    length = {"x86_64": 3, "aarch64": 4}[platform.machine()]
    if len(kinds) != 1 or any(start - end != length for start, end in kinds):
        raise Failed(f"{len(kinds)} different branches in the loop, which has one")
    return f"{len(loop)} of {len(pairs)} branches are the loop's"


def topdown(m):
    if "has no events" in m.run("stat", "--topdown", "--", "true", may_fail=True, errors=True):
        raise Skipped("assay knows no events of this processor for it")
    m.run("stat", "--topdown", "--format", "json", "-o", "counts", "--", "./known", str(LONG))
    with open(os.path.join(m.folder, "counts"), encoding="utf-8") as counts:
        shares = json.load(counts).get("topdown", [])
    total = sum(share["share"] for share in shares if share["level"] == 1)
    if not 0.9 <= total <= 1.1:
        raise Failed(f"the shares of level 1 add up to {total:.2f}")
    return ", ".join(f"{share['name']} {share['share']:.2f}" for share in shares)


def kinds_of_cores(m):
    kinds = pmus("cpu_(core|atom|lowpower)|armv8_.*")
    if len(kinds) < 2:
        raise Skipped("one kind of cores")
    counted = m.counts("instructions:u", "./known", str(LONG))["counts"]
    total = sum(row["count"] or 0 for row in counted)
    if len(counted) != len(kinds) or not 2 * LONG <= total <= 2.02 * LONG:
        raise Failed(f"{len(counted)} counts, {total} instructions")
    return f"{len(counted)} kinds, {total} instructions"


def ibs(m):
    if not pmus("ibs_op"):
        raise Skipped("no PMU ibs_op here")
    return m.share("ibs_op//u")


def intel_pt(m):
    m.needs("Intel PT")
    m.run("record", "-q", "-e", "intel_pt//u", "-o", "pt.data", "--", "./known", str(SHORT))
    text = m.run("script", "-i", "pt.data", "--itrace=i1i", "-F", "sym")
    decoded = sum(1 for line in text.splitlines() if "known_loop" in line)
    # The loop, and some instructions before and behind it.
    if not 2 * SHORT <= decoded <= 2 * SHORT + 20:
        raise Failed(f"{decoded} instructions decoded, {2 * SHORT} in the loop")
    return f"{decoded} instructions decoded, {2 * SHORT} in the loop"


def whole_machine(m):
    m.needs("BPF")
    m.run("record", "-q", "-a", "-g", "-o", "all", "--", "./known", str(LONG))
    rows = json.loads(m.run("report", "-i", "all", "--format", "json", "--by", "symbol", "comm:known"))["rows"]
    own = sum(row["samples"] for row in rows if row.get("symbol") == "known_loop")
    if own < 20:
        raise Failed(f"{own} samples in the loop")
    return f"{own} samples in the loop"


FEATURES = [
    ("timer sampling", timer),
    ("call stacks", call_stacks),
    ("hardware counters", counters),
    ("sampling by cycles", counter_sampling),
    ("precise sampling", precise),
    ("branch stacks (LBR)", branch_stacks),
    ("top-down", topdown),
    ("kinds of cores", kinds_of_cores),
    ("IBS", ibs),
    ("Intel PT", intel_pt),
    ("whole machine by BPF", whole_machine),
]


def processor():
    wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "CPU implementer", "CPU part", "CPU variant")
    found = {}
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
        for line in info:
            key, _, value = line.partition(":")
            if key.strip() in wanted:
                found.setdefault(key.strip(), value.strip())
    return found


def try_feature(machine, name, run):
    try:
        result, said = "passed", run(machine)
    except Skipped as why:
        result, said = "skipped", str(why)
    except Failed as why:
        result, said = "FAILED", str(why)
    except Exception as why:  # pylint: disable=broad-except
        # An odd machine is what this is for. The message could have a path.
        result, said = "FAILED", type(why).__name__
    print(f"{name:<24}{result:<10}{said}")
    return {"name": name, "result": result.lower(), "said": said}


def compile_known(folder):
    compiler = os.environ.get("CC", "cc")
    try:
        subprocess.run([*shlex.split(compiler), "-O1", "-fno-omit-frame-pointer", "-o", "known", "known.c"], cwd=folder, check=True)
    except (OSError, subprocess.CalledProcessError) as why:
        sys.exit(f"'{compiler}' can't compile the test program ({why}). Set CC to a C compiler for this machine.")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    output = sys.argv[2] if len(sys.argv) == 3 else "hardware.json"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "known.c"), "w", encoding="utf-8") as source:
            source.write(PROGRAM)
        compile_known(folder)
        machine = Machine(sys.argv[1], folder)
        results = [try_feature(machine, name, run) for name, run in FEATURES]
        version = machine.run("--version").split("\n", maxsplit=1)[0]
    with open(output, "w", encoding="utf-8") as out:
        json.dump({"format": 1, "assay": version, "kernel": platform.release(), "architecture": platform.machine(),
                   "processor": processor(), "doctor": {row["name"]: row["state"] for row in machine.checks},
                   "features": results}, out, indent=1)
        out.write("\n")
    n = {result: sum(row["result"] == result for row in results) for result in ("passed", "failed", "skipped")}
    print(f"{n['passed']} passed, {n['failed']} failed, {n['skipped']} skipped. The results are in {output}.")
    print("The file has no private data. Please send it in: docs/limits.md names the hardware that nobody has tried.")
    sys.exit(1 if n["failed"] else 0)


if __name__ == "__main__":
    main()
