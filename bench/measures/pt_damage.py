# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged Intel PT: how many branches are decoded of it, how many are wrong, and which of those are marked.

The traces are the generator's, whose branches are known. A branch is correct if it stands where it was taken: lines
that diff(1) finds in the truth, too. A stretch that is not marked begins at a PSB, and so its branches are compared with
those behind the same PSB of the whole trace.

PT_DAMAGE_RESULTS=FILE keeps the counts of each trace, a line each: a run that was stopped goes on with the next trace.
"""

import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess

from harness import Part, Unavailable, table

INSNS = {"gzip": 3_000_000, "python3": 2_000_000}
PSB_BYTES = [2048, 8192, 16384, 32768, 65536]
SEEDS = 10  # of each kind and distance of PSBs: 200 traces
SPOTS = 2   # damaged places of a trace
AUXTRACE, HEADER = 71, 48
PROGRAMS = {"gzip": ["-9", "-c", "text"], "python3": ["-S", "-E", "-c", "import json; print(json.dumps(list(range(999))))"]}


# Each damages the trace, and does the same to the offsets that its bytes had.
def flip(trace, offsets, at, rng):
    trace[at] ^= 1 << rng.randrange(8)


def drop(trace, offsets, at, rng):
    n = rng.randrange(1, 64)
    for row, padding in (trace, bytes(n)), (offsets, [-1] * n):
        del row[at:at + n]
        row += padding


def zero(trace, offsets, at, rng):
    n = rng.randrange(1, 64)
    trace[at:at + n] = bytes(n)


def duplicate(trace, offsets, at, rng):
    n = rng.randrange(1, 64)
    for row in trace, offsets:
        row[at:at] = row[at:at + n]
        del row[-n:]


KINDS = {"a flipped bit": flip, "bytes dropped": drop, "bytes zeroed": zero, "bytes doubled": duplicate}


class Trace:
    def __init__(self, bench, program, psb_bytes):
        qemu, plugin = shutil.which("qemu-x86_64"), bench.build / "tests" / "pt" / "libpt_qemu.so"
        if not qemu or not plugin.exists():
            raise Unavailable("qemu-user is not installed (Debian: qemu-user)")
        path, truth = bench.path("whole.data"), bench.path("truth")
        with open(bench.path("text"), "wb") as text:
            text.write(open(bench.assay, "rb").read())
        subprocess.run([qemu, "-plugin", f"{plugin},out={path},truth={truth},limit={INSNS[program]},mtc=on,psb={psb_bytes}",
                        shutil.which(program)] + PROGRAMS[program], cwd=bench.scratch, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONHASHSEED": "0"})
        self.file = open(path, "rb").read()
        self.at = self.file.index(b"\x02\x82" * 8)
        kind, size = struct.unpack_from("<I4xQ", self.file, self.at - HEADER)
        assert kind == AUXTRACE
        self.end = self.at + size
        self.truth = bench.path(f"{program}.{psb_bytes}.truth")
        with open(self.truth, "w") as out:
            for line in open(truth):
                _, begin, _, to = line.split()
                if begin != "0" and to != "0":
                    out.write(f"{begin} {to}\n")
        self.n_branches = sum(1 for _ in open(self.truth))
        self.periods = {s.offset: s.lines for s in decode(ours(bench, path), bench.path("found"), bench.env)}
        assert open(bench.path("found")).read() == open(self.truth).read()

    def damaged(self, damage, rng, path):
        """Writes it to a file. Returns the offsets that its bytes had."""
        trace = bytearray(self.file[self.at:self.end])
        offsets = list(range(len(trace)))
        for _ in range(SPOTS):
            damage(trace, offsets, rng.randrange(4096, len(trace) - 4096), rng)
        assert len(trace) == len(offsets) == self.end - self.at
        with open(path, "wb") as out:
            out.write(self.file[:self.at] + trace + self.file[self.end:])
        return offsets


BRANCH = re.compile(r"([0-9a-f]+) +=> +([0-9a-f]+)")
PSB = re.compile(r"psb offs: (0x[0-9a-f]+|0)")
UNVERIFIED = re.compile(r"trace unverified .* offset (0x[0-9a-f]+|0) instructions (\d+)")


class Stretch:
    """Branches from a PSB to the next."""

    def __init__(self, offset):
        self.offset, self.lines, self.is_marked = offset, [], False


def ours(bench, path):
    return [bench.assay, "script", "-i", path, "--itrace=bep", "-F", "event,ip,addr,synth"]


def stretches(output, path):
    """Writes the branches to `path`, one a line, and returns their stretches."""
    found = [Stretch(0)]
    with open(path, "w") as out:
        for line in output:
            branch = BRANCH.search(line)
            if branch:
                if branch[1].strip("0") and branch[2].strip("0"):
                    found[-1].lines.append(f"{branch[1].lstrip('0')} {branch[2].lstrip('0')}\n")
                    out.write(found[-1].lines[-1])
                continue
            psb, unverified = PSB.search(line), UNVERIFIED.search(line)
            if psb and int(psb[1], 16):
                found.append(Stretch(int(psb[1], 16)))
            if unverified:
                for stretch in reversed(found):
                    stretch.is_marked = True
                    if stretch.offset <= int(unverified[1], 16):
                        break
    return found


def decode(argv, path, env):
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", env=env) as child:
        return stretches(child.stdout, path)


def wrong_unmarked(bench, trace, offsets, found):
    """The lines of stretches without a mark that are not those of the whole trace. A PSB may be gone, and its period with it."""
    wrong = 0
    ends = [offsets[stretch.offset] for stretch in found[1:]] + [len(offsets)]
    for stretch, end in zip(found, ends):
        begin = offsets[stretch.offset]
        true = [line for at, lines in trace.periods.items() if begin <= at < end for line in lines]
        if stretch.is_marked or stretch.lines == true:
            continue
        for name, lines in ("true", true), ("false", stretch.lines):
            with open(bench.path(name), "w") as out:
                out.writelines(lines)
        wrong += len(wrong_lines(bench.path("true"), bench.path("false")))
    return wrong


def wrong_lines(truth, path):
    out = subprocess.run(["diff", "--speed-large-files", "--unchanged-line-format=", "--old-line-format=",
                          "--new-line-format=%dn\n", truth, path], stdout=subprocess.PIPE, text=True).stdout
    return [int(n) - 1 for n in out.split()]


def count(bench, trace, damage, name):
    """The numbers of a row of the table, of one damaged trace."""
    damaged, found = bench.path("damaged.data"), bench.path("found")
    offsets = trace.damaged(damage, random.Random(name), damaged)
    theirs = decode([bench.perf, "script", "-i", damaged, "--itrace=be", "-F", "ip,addr"], found, bench.env)
    wrong_of_perf = len(wrong_lines(trace.truth, found))
    mine = decode(ours(bench, damaged), found, bench.env)
    wrong = len(wrong_lines(trace.truth, found))
    return [trace.n_branches, sum(len(s.lines) for s in theirs) - wrong_of_perf, wrong_of_perf,
            sum(len(s.lines) for s in mine) - wrong, wrong, wrong_unmarked(bench, trace, offsets, mine),
            sum(len(s.lines) for s in mine if s.is_marked)]


def measure(bench, rounds):
    path = os.environ.get("PT_DAMAGE_RESULTS")
    known = dict(map(json.loads, pathlib.Path(path).read_text().splitlines())) if path and os.path.exists(path) else {}
    counts = {kind: [0] * 7 for kind in KINDS}
    for psb_bytes in PSB_BYTES:
        for program in PROGRAMS:
            names = [(kind, f"{program} {psb_bytes} {kind} {seed}") for kind in KINDS
                     for seed in range(SEEDS // len(PROGRAMS) * rounds)]
            trace = None
            for kind, name in names:
                if name not in known:
                    trace = trace or Trace(bench, program, psb_bytes)
                    known[name] = count(bench, trace, KINDS[kind], name)
                    if path:
                        with open(path, "a") as out:
                            out.write(json.dumps([name, known[name]]) + "\n")
                counts[kind] = [a + b for a, b in zip(counts[kind], known[name])]
    rows = [[kind, f"{c[0]}", f"{c[1]}", f"{c[3]}", f"{c[2]}", f"{c[4]}", f"{c[5]}", f"{100 * c[6] / (c[3] + c[4]):.2f} %"]
            for kind, c in counts.items()]
    return table(["damage", "taken", "correct: perf", "correct: assay", "wrong: perf", "wrong: assay", "… outside of stretches",
                  "in unverified stretches"], rows)


PARTS = {"pt-damage": Part("Branches of 200 damaged Intel PT traces", 1, measure)}
