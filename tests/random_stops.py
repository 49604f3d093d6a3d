#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares assay's stacks of interpreted programs with the interpreters' own, at random instructions.

random_stops.py N LANGUAGE…: stops a program of each language N times, by SIGSTOP. `assay record -a --off-cpu` has the stack of each stop. Before the
program goes on, SIGUSR1 has Python and Ruby write their stack; the signal's handler runs at the very instruction of the stop. The stacks of PHP and
Perl are read in the memory of the stopped program (stopped_frames.py). Prints a line for each language, and fails if a name is wrong, a function is
called by one that does not call it, or too many frames are missing.

    LANGUAGE: N stops, M frames, R right (S %), X missing, B begun, W wrong

A frame that is begun is the innermost one, of a call that the interpreter does not show before its first instruction.
"""
import bisect
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import stopped_frames

HERE = os.path.dirname(os.path.realpath(__file__))
RIGHT = 99.5  # percent of frames, of many stops
FEW_RIGHT = 95  # percent of frames, of many stops and of few; assay counts those that it leaves out as losses
MANY = 2000
RUNS = 20  # at most: the handler of a signal can crash the interpreter, about once in 400 stops
DEADLINE_S = int(os.environ.get("ASSAY_TEST_DEADLINE", 120))
DUMP_MAX = 100  # frames, in Python's dump


def python_frames(text):
    """The functions of each stack, innermost first. None: faulthandler of 3.14.10 met a frame that it does not take for one."""
    for stack in text.split("Stack (most recent call first):\n")[1:]:
        yield None if "  <invalid frame>\n" in stack else re.findall(r'^  File ".*", line (?:\d+|\?\?\?) in (.*)$', stack, re.M)


def ruby_frames(text):
    """rb_backtrace() writes the outermost call first; functions of C are among them."""
    for stack in re.split(r"(?m)(?=^\tfrom .*:in `<main>'$)", text)[1:]:
        yield re.findall(r"(?m)^\tfrom .*:in `(.*)'$", stack)[::-1]


# the command, the program, and the reader of the stacks that the interpreter writes
LANGUAGES = {
    "python": ("python3", "stops.py", python_frames),
    "ruby": ("ruby", "stops.rb", ruby_frames),
    "php": ("php", "stops.php", None),
    "perl": ("perl", "stops.pl", None),
}
# Functions, and those that each of them calls: the reader of memory could take an old frame for a new one, as assay could.
CALLS = {
    "php": """
        <main>: everything inner leaf
        everything: <main> Shape::__get Shape::__toString Shape::apply array_map delegated destruction fibers iterator_to_array numbers
        everything: preg_replace_callback range recursion strlen thrower usort
        usort: Shape::compare
        Shape::compare: Shape::key
        Shape::key: inner
        Shape::__get: inner
        Shape::__toString: inner
        Shape::apply: {closure}
        array_map: {closure} inner
        preg_replace_callback: {closure}
        {closure}: Fiber::suspend Shape::key inner recursion
        fibers: Fiber::__construct Fiber::isTerminated Fiber::resume Fiber::start
        Fiber::start: {closure}
        Fiber::resume: {closure}
        iterator_to_array: delegated
        delegated: inner numbers
        numbers: inner
        recursion: leaf recursion
        thrower: Error::__construct inner thrower
        destruction: Gone::__destruct inner
        Gone::__destruct: inner""",
    "perl": """
        <main>: main::everything
        main::everything: (eval) Shape::__ANON__ Shape::add Shape::key Tied::FETCH Tied::STORE main::__ANON__ main::by_key
        main::everything: main::destruction main::inner main::recursion main::thrower
        (eval): main::inner main::leaf
        Shape::__ANON__: main::inner
        Shape::add: Shape::key
        Shape::key: main::inner
        Tied::FETCH: main::inner
        Tied::STORE: main::inner
        main::__ANON__: Shape::key main::inner
        main::by_key: main::inner
        main::recursion: main::leaf main::recursion
        main::thrower: main::inner main::thrower
        main::destruction: Gone::DESTROY main::inner
        Gone::DESTROY: main::inner""",
}
IMAGES = re.compile(r"\.(py|rb|php|pl)$|^\[(ruby|php)\]$|^\(eval|^<internal|eval\(\)'d code$")


def last_part(language, name):
    """assay's names are qualified; those of the dumps are not."""
    if language == "python" and "." in name:
        return name.rsplit(".", 1)[1]
    return name


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def stop(pid):
    """Stops the process somewhere. True: it lives."""
    time.sleep(random.uniform(0.0005, 0.003))
    os.kill(pid, signal.SIGSTOP)
    while state(pid) not in "TZX":
        pass
    return state(pid) == "T"


def go_on(pid):
    """Returns the time; the wait ends later."""
    time.sleep(0.002)  # waits below 1 ms do not count
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    os.kill(pid, signal.SIGCONT)
    return now


def read_often(pid, n, language):
    """n stacks, as the memory of the stopped process has them; and the times when it went on."""
    reader, stacks, times = stopped_frames.READERS[language](pid), [], []
    while len(stacks) < n and stop(pid):
        stacks.append(reader.frames())
        times.append(go_on(pid))
    return stacks, times


def is_in_handler(pid):
    """A handler of a signal blocks it."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        blocked = int(re.search(r"(?m)^SigBlk:\s*(\w+)", f.read()).group(1), 16)
    return bool(blocked >> signal.SIGUSR1 - 1 & 1)


def stop_often(pid, n, dump):
    """The times when the process went on, and the number of whole stacks: the interpreter can crash as its handler reads a frame that is half made."""
    times = []
    for i in range(n):
        before = os.path.getsize(dump)
        stop(pid)
        os.kill(pid, signal.SIGUSR1)  # it comes when the program goes on
        times.append(go_on(pid))
        until = time.monotonic() + DEADLINE_S
        while os.path.getsize(dump) == before or is_in_handler(pid):  # another signal would be the same one
            if state(pid) == "Z":
                return times, i
            if time.monotonic() > until:
                sys.exit(f"process {pid} did not write its stack")
            time.sleep(0.0005)
    return times, n


def rows_of(session, pid, event):
    """The time of each sample of an event, and the language's functions, innermost first."""
    command = ["assay", "script", "-i", session, "--pid", str(pid), "--frames", "language", "--max-stack", "1000", "--format", "json"]
    for line in subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.splitlines():
        row = json.loads(line)
        if row["event"] != event or row["tid"] != pid:
            continue
        frames = row["frames"]
        for i, frame in enumerate(row["frames"]):  # those of the waker come first
            if str(frame.get("image", "")).startswith("[woken by]") or str(frame.get("symbol", "")).startswith("[woken by]"):
                frames = row["frames"][i + 1:]
        yield row["time_ns"], [f.get("symbol", "") for f in frames if IMAGES.search(str(f.get("image", "")))]


def wait_for_frames(session, pid):
    """Until assay has read the interpreter's file: samples of the running program show its functions."""
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        time.sleep(1)
        if any(frames for _, frames in rows_of(session, pid, "cpu-clock")):
            return
    sys.exit("no sample has a function of the program")


def common(a, b):
    """The length of the longest sequence of names that both have."""
    row = [0] * (len(b) + 1)
    for x in a:
        before = 0
        for j, y in enumerate(b):
            before, row[j + 1] = row[j + 1], before + 1 if x == y else max(row[j + 1], row[j])
    return row[-1]


def n_wrong_calls(language, stack):
    """Calls of a whole stack that the program does not have."""
    rows = [row.strip().split(": ") for row in CALLS[language].split("\n") if row] if language in CALLS else []
    calls = {(caller, callee) for caller, callees in rows for callee in callees.split()}
    return sum(call not in calls for call in zip(stack[1:], stack)) if calls else 0


def record_stops(language, n):
    """At most n pairs: a stack of the interpreter, and assay's. And the number of stops."""
    interpreter, source, frames_of = LANGUAGES[language]
    with tempfile.TemporaryDirectory() as folder:
        dump, session = f"{folder}/dump", f"{folder}/s"
        written = f"{folder}/errors" if language == "ruby" else dump
        with open(f"{folder}/errors", "w+", encoding="utf-8") as errors:
            program = subprocess.Popen([interpreter, f"{HERE}/programs/lang/{source}", dump], stdout=subprocess.PIPE, stderr=errors)
            program.stdout.readline()
            recorder = subprocess.Popen(["assay", "record", "-q", "-a", "-o", session, "--collector", "bpf", "-e", "cpu-clock", "-F", "11", "--off-cpu"])
            wait_for_frames(session, program.pid)
            if frames_of:
                times, whole = stop_often(program.pid, n, written)
            else:
                oracle, times = read_often(program.pid, n, language)
                whole = len(times)
            time.sleep(0.2)
            recorder.send_signal(signal.SIGINT)
            recorder.wait()
            program.kill()
            status = program.wait()
        if frames_of:
            with open(written, encoding="utf-8", errors="replace") as f:
                oracle = list(frames_of(f.read()))
        ours = list(rows_of(session, program.pid, "off-cpu:stopped"))
    if whole < n:
        print(f"{language}: the interpreter ended with status {status} as it wrote stack {whole + 1}", flush=True)
    elif len(oracle) != n:
        sys.exit(f"{language}: {n} stops, but {len(oracle)} stacks of the interpreter")
    # A wait has the time of its end.
    pairs = [(oracle[i], frames) for at, frames in ours if 0 <= (i := bisect.bisect(times, at) - 1) < whole and oracle[i] is not None]
    if len(pairs) < whole * 0.95:
        sys.exit(f"{language}: {whole} stops, but {len(pairs)} stacks of assay")
    early = next((i for i, (_, found) in enumerate(pairs) if found), len(pairs))  # before assay had read the interpreter's file
    if early > n / 2:
        sys.exit(f"{language}: assay has no frames of {early} of {whole} stops")
    return pairs[early:], whole


def compare(language, n):
    pairs, stops = [], 0
    for _ in range(RUNS):
        if stops < n:
            more, whole = record_stops(language, n - stops)
            pairs += more
            stops += whole
    if stops < n:
        sys.exit(f"{language}: {stops} of {n} stops in {RUNS} runs")
    total = right = begun = wrong = 0
    for expected, found in pairs:
        found = [last_part(language, name) for name in found]
        if language == "python":
            found = found[:DUMP_MAX]
        same = common(expected, found)
        total += len(expected)
        right += same
        is_begun = found[1:] == expected
        begun += is_begun
        wrong += 0 if is_begun else len(found) - same
        wrong += n_wrong_calls(language, found) if found == expected else 0
        if os.environ.get("SHOW") and same != max(len(expected), len(found)):
            print(f"expected {' '.join(expected)}\nfound    {' '.join(found)}")
    share = 100 * right / total
    print(f"{language}: {len(pairs)} stops, {total} frames, {right} right ({share:.2f} %), {total - right} missing, {begun} begun, {wrong} wrong", flush=True)
    return share >= (RIGHT if n >= MANY else FEW_RIGHT) and not wrong


if __name__ == "__main__":
    sys.exit(0 if all([compare(language, int(sys.argv[1])) for language in sys.argv[2:]]) else 1)
