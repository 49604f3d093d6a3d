# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs to follow waits: four TCP request-response pairs, which switch all the time.

The same work runs alone, below a script of bpftrace, and below assay. The script has the stacks of
all waits, added up. The kernel charges both to the work, so the slow-down of the work is the cost.
bpftrace is looked for in PATH; BPFTRACE may name a command with words.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time

from harness import Part, Unavailable, in_turn, ratios, spread, table

SCRIPT = """
tracepoint:sched:sched_switch {
  @s[args.prev_pid] = nsecs; @k[args.prev_pid] = kstack; @u[args.prev_pid] = ustack;
  $t = @s[args.next_pid];
  if ($t) {
    @[@k[args.next_pid], @u[args.next_pid]] = sum(nsecs - $t);
    delete(@s[args.next_pid]);
  }
}
"""
ATTACH_S = 60  # the longest time that bpftrace may take to attach
WORK = ["4", "60000"]

# The words of `assay record`, and the most that its slow-down may be, as a part of the script's.
RECORDERS = {
    "assay `record -a`": (["-a"], None),
    "assay `record -a --off-cpu`": (["-a", "--off-cpu"], 1),
    "assay `record -a --off-cpu --call-graph fp`": (["-a", "--off-cpu", "--call-graph", "fp"], 0.5),
    "assay `record -a --off-cpu --off-cpu-min 0`": (["-a", "--off-cpu", "--off-cpu-min", "0"], None),
    "assay `record -a --kernel-locks`": (["-a", "--kernel-locks"], None),
}


def bpftrace():
    words = shlex.split(os.environ.get("BPFTRACE", "bpftrace"))
    return words if shutil.which(words[0]) else None


@contextlib.contextmanager
def script(bench, words):
    """The script runs, and has attached its programs."""
    path, said = bench.path("waits.bt"), bench.path("waits.out")
    with open(path, "w", encoding="ascii") as f:
        f.write(SCRIPT)
    with open(said, "wb") as out:
        child = subprocess.Popen([*words, path], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + ATTACH_S
        while b"Attach" not in open(said, "rb").read():
            if child.poll() is not None or time.monotonic() > end:
                raise Unavailable(f"bpftrace does not attach: {open(said, errors='replace').read()[-300:]}")
            time.sleep(0.1)
        yield
    finally:
        child.send_signal(signal.SIGINT)
        child.wait()


def switches():
    """Of all CPUs, since the machine started."""
    with open("/proc/stat", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("ctxt"))


def measure(bench, rounds):
    if os.geteuid():
        raise Unavailable("waits of the whole machine need root")
    work = [bench.tool("pingpong"), *WORK]
    words = bpftrace()
    names = ["none", *(["bpftrace"] if words else []), *RECORDERS]
    rates = []

    def run(name):
        if name == "bpftrace":
            with script(bench, words):
                return bench.run_over([], work)
        out = bench.path("waits.assay")
        bench.remove(out)
        recorder = [] if name == "none" else [bench.assay, "record", "-q", "-o", out, *RECORDERS[name][0], "--"]
        before, result = switches(), bench.run_over(recorder, work)
        if name == "none":
            rates.append((switches() - before) / result.work_wall)
        return result

    results = in_turn(names, rounds, run)
    bare = results["none"]
    rows = []
    for name in names:
        runs = results[name]
        more = {key: [getattr(r, key) - getattr(b, key) for r, b in zip(runs, bare)]
                for key in ("work_wall", "work_cpu")}
        goal = RECORDERS.get(name, ([], None))[1]
        rows.append([name, spread([r.work_wall for r in runs]),
                     *(["", ""] if name == "none" else
                       [spread(ratios([getattr(r, k) for r in runs], [getattr(b, k) for b in bare]), "{:.3f}")
                        for k in more]),
                     "" if name == "none" else spread(more["work_cpu"]),
                     spread([r.own_cpu for r in runs], "{:.3f}") if name in RECORDERS else "",
                     f"≤ {goal} × the script's more" if goal else ""])
    return table(["recorder", "wall s", "wall ÷ none", "CPU ÷ none", "more CPU s", "own CPU s", "to reach"],
                 rows) + f"\nThe work alone makes {spread(rates, '{:.0f}')} switches a second on the machine.\n"


PARTS = {
    "waits": Part("what it costs to follow waits, beside bpftrace", 5, measure),
}
