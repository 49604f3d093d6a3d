#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares assay's stacks of compiled languages with notes that the programs themselves take, at random instructions.

random_stops_code.py N LANGUAGE…: stops a program of each language (java, java-usual, js, go) N times, by SIGSTOP. `assay record -e sched:sched_switch` has the stack of each stop.
For Go, it is `assay record --off-cpu`: only the kernel reads the stack of the goroutine, if its thread is on another one.
Each function of the program notes its begin and its end in memory that this test reads while the program is stopped. So the notes are right at each instruction,
but for the innermost function: it may have begun and not noted it yet, or noted its end and not returned. Prints a line for each language, and fails if too many
names are wrong, or too many frames are missing.

    LANGUAGE: N stops, M frames, R right (S %), X missing, B begun, W wrong

Functions of libraries are not compared. Frames that are begun are innermost ones that the notes do not have: one, or several behind which the whole stack is right.
Optimising compilers move instructions: a function that is inlined and has noted its end can still have one, which runs before its caller notes the next begin.
Moved instructions also run where another function is noted: then the runtime's own table has a wrong name, and assay has it, too. So a few names may be wrong.
`java` runs with an option that has the compiler note where it inlined a method, at each instruction; `java-usual` without it. `go` leaves out stops in Go's scheduler,
where a thread runs no goroutine.
"""
import json
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from random_stops import common  # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
RIGHT = {"java": 97, "java-usual": 97, "js": 97, "go": 99.5}  # percent of frames, of many stops
FEW_RIGHT = {"go": 2}  # less, of few stops; others: 10
MANY = 2000
WRONG = {"java": 0.5, "java-usual": 0.1, "js": 0.1}  # percent of frames, of many stops; others: 0
FEW_WRONG = {"go": 0}  # more, of few stops; others: 2, for a program of which a moved instruction runs often
MARK_SIZE = 64
BEGUN_MAX = 3  # frames; functions of three inlined in each other are this deep
WARM_S = 3  # the compilers have made most of their code
MOST_IDLE = 0.75  # of Go's stops: at a load of 20, up to 57 of 100 were in the scheduler
DEADLINE_S = int(os.environ.get("ASSAY_TEST_DEADLINE", 120))


class FileNotes:
    """The words in a file that the program maps: the number of its thread, the depth, and the functions."""

    def __init__(self, folder):
        self.path = f"{folder}/notes"
        with open(self.path, "w+b") as f:
            f.truncate(4096)
            self.map = mmap.mmap(f.fileno(), 4096)
        self.argument = self.path

    def find(self, _pid):
        return True

    def words(self):
        return struct.unpack("1024i", self.map[:4096])


class MemoryNotes:
    """The same words, in memory of the program behind a mark."""

    def __init__(self, _folder):
        self.argument = "".join(random.choice("abcdefghijklmnop") for _ in range(MARK_SIZE))
        self.memory, self.at = None, 0

    def find(self, pid):
        self.memory = open(f"/proc/{pid}/mem", "rb", buffering=0)
        for line in open(f"/proc/{pid}/maps", encoding="utf-8"):
            start, end = (int(x, 16) for x in line.split()[0].split("-"))
            if not line.split()[1].startswith("rw") or end - start > 1 << 28:
                continue
            try:
                text = os.pread(self.memory.fileno(), end - start, start)
            except OSError:
                continue
            for found in re.finditer(self.argument.encode(), text):
                self.at = start + found.start() + MARK_SIZE
                if self.words()[0] == pid:
                    return True
        return False

    def words(self):
        return struct.unpack("1024i", os.pread(self.memory.fileno(), 4096, self.at))


def usual_java(folder):
    subprocess.run(["javac", "-d", folder, f"{HERE}/programs/lang/stops.java"], check=True)
    return ["java", "-Xmx128m", *os.environ.get("JAVA_FLAGS", "").split(), "-cp", folder, "stops"]


def java_with_places(folder):
    java, *words = usual_java(folder)
    return [java, "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", *words]


def go_command(folder):
    program = f"{folder}/stops"
    if "GO_PROGRAM" in os.environ:  # of another version
        return [os.environ["GO_PROGRAM"]]
    subprocess.run(["go", "build", *os.environ.get("GO_FLAGS", "").split(), "-o", program, f"{HERE}/programs/lang/stops.go"], check=True,
                   env={**os.environ, "HOME": folder, "GOCACHE": f"{folder}/cache", "GO111MODULE": "off", "CGO_ENABLED": "0"})
    return [program]


def js_command(_folder):
    return ["node", *os.environ.get("NODE_FLAGS", "").split(), f"{HERE}/programs/lang/stops.js"]


JAVA_NAME = re.compile(r"^stops(?:\$\w+)?\.(lambda\$s_\w+|\w+?)(?:\$\d+)?$")

GO_NAME = re.compile(r"^main\.(?:list\.)?([\w.]+)$")
NO_GOROUTINE = re.compile(r"^runtime\.(schedule|mcall|goschedImpl|preemptPark)$")

# the command, where the notes are, and the part of a frame's name that is a function's
LANGUAGES = {
    "java": (java_with_places, FileNotes, JAVA_NAME),
    "java-usual": (usual_java, FileNotes, JAVA_NAME),
    "go": (go_command, FileNotes, GO_NAME),
    "js": (js_command, MemoryNotes, re.compile(r"^(get \w+|\w+)$")),
}


def state(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def stop_often(program, notes, n):
    """[(time before, the functions)] of each stop."""
    stops = []
    tid = notes.words()[0]
    for _ in range(n):
        time.sleep(random.uniform(0.0005, 0.003))
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        os.kill(program.pid, signal.SIGSTOP)
        while state(program.pid, tid) not in "TZX":
            pass
        words = notes.words()
        time.sleep(0.03)  # assay reads code while the process has it
        stops.append((before, words[2:2 + words[1]][::-1]))
        os.kill(program.pid, signal.SIGCONT)
    return stops


def record_command(language, session, pid, tid):
    if language == "go":
        return ["assay", "record", "-q", "-o", session, "-p", str(pid), "-e", "cpu-clock", "-F", "11", "--off-cpu"]
    return ["assay", "record", "-q", "-o", session, "-e", "sched:sched_switch", "--filter", f"prev_state == 4 && prev_pid == {tid}", "--call-graph", "dwarf",
            "--stack-size", "65528", "-p", str(pid)]


def rows_of(session, tid):
    command = ["assay", "script", "-i", session, "--frames", "both", "--max-stack", "1000", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as script:
        for line in script.stdout:
            row = json.loads(line)
            if row["tid"] != tid or row["event"] not in ("sched:sched_switch", "off-cpu:stopped"):
                continue
            frames = [str(f.get("symbol", "")) or str(f.get("image", "")) for f in row["frames"]]
            while any(f.startswith("[woken by]") for f in frames):  # those of the waker come first
                frames.pop(0)
            yield row["time_ns"] - (row["period"] if row["event"] == "off-cpu:stopped" else 0), frames  # a wait has the time of its end


def functions_in(symbols, names, shape):
    """The program's own functions of a stack."""
    return [m.group(1) for m in map(shape.match, symbols) if m and m.group(1) in names]


def wait_for_names(program, notes, session, names, shape):
    """The first stops find nothing: assay reads the runtime's file."""
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        stop_often(program, notes, 5)
        time.sleep(1)
        if any(functions_in(symbols, names, shape) for _, symbols in rows_of(session, notes.words()[0])):
            return
    sys.exit("no stop has a function of the program")


def record_stops(language, n):
    """Pairs: the functions of the notes, and assay's; innermost first."""
    command_of, notes_of, shape = LANGUAGES[language]
    with tempfile.TemporaryDirectory() as folder:
        notes, session = notes_of(folder), f"{folder}/s"
        program = subprocess.Popen([*command_of(folder), notes.argument], stdout=subprocess.PIPE, text=True)
        names = [name.replace("get_", "get ") for name in program.stdout.readline().split()]
        time.sleep(WARM_S)
        if not notes.find(program.pid):
            sys.exit(f"{language}: the notes are not in the memory of the program")
        tid = notes.words()[0]
        recorder = subprocess.Popen(record_command(language, session, program.pid, tid))
        wait_for_names(program, notes, session, set(names), shape)
        stops = stop_often(program, notes, n)
        time.sleep(0.2)
        recorder.send_signal(signal.SIGINT)
        recorder.wait()
        program.kill()
        program.wait()
        rows = list(rows_of(session, tid))
        if os.environ.get("SHOW"):
            print(subprocess.run(["assay", "info", "-i", session], stdout=subprocess.PIPE, text=True, check=False).stdout)
    pairs, at = [], 0
    for (before, functions), (after, _) in zip(stops, [*stops[1:], (1 << 63, ())]):
        while at < len(rows) and rows[at][0] < before:
            at += 1
        if at == len(rows) or rows[at][0] > after:
            continue  # the stack of this stop was lost
        while at + 1 < len(rows) and rows[at + 1][0] <= after:
            at += 1
        pairs.append(([names[i] for i in functions], functions_in(rows[at][1], names, shape), rows[at][1]))
    return pairs


def has_begun(expected, found, same):
    """Whether the notes may not have the innermost function yet: the one that they have as innermost is among its callers."""
    if not expected or expected[0] not in found[1:]:
        return False
    at = found.index(expected[0], 1)
    return 1 + common(expected[1:], found[at + 1:]) == same


def begun_and_wrong(expected, found):
    """Of the names that the notes do not have: how many may have begun, and how many are wrong."""
    same = common(expected, found)
    extra = len(found) - same
    if extra <= BEGUN_MAX and found[extra:] == expected:
        return extra, 0
    is_begun = has_begun(expected, found, same)
    return is_begun, extra - is_begun


def compare(language, n):
    pairs = record_stops(language, n)
    is_idle = [language == "go" and any(map(NO_GOROUTINE.match, whole)) for _, _, whole in pairs]
    n_idle = sum(is_idle)
    lost = [found for (_, found, _), idle in zip(pairs, is_idle) if idle and found]  # no goroutine calls the scheduler's next one
    pairs = [pair for pair, idle in zip(pairs, is_idle) if not idle]
    total = right = begun = 0
    wrong = sum(map(len, lost))
    for expected, found, whole in pairs:
        same = common(expected, found)
        total += len(expected)
        right += same
        more_begun, more_wrong = begun_and_wrong(expected, found)
        begun += more_begun
        wrong += more_wrong
        if os.environ.get("SHOW") and found[more_begun:] != expected:
            print(f"expected {' '.join(expected)}\nfound    {' '.join(found)}\nwhole    {' '.join(whole)}\n")
    share = 100 * right / max(total, 1)
    print(f"{language}: {len(pairs)} stops, {total} frames, {right} right ({share:.2f} %), {total - right} missing, {begun} begun, {wrong} wrong", flush=True)
    if n_idle:
        print(f"{language}: {n_idle} stops more in the scheduler")
    least, most = RIGHT[language], WRONG.get(language, 0)
    if n < MANY:
        least, most = least - FEW_RIGHT.get(language, 10), most + FEW_WRONG.get(language, 2)
    return len(pairs) + n_idle > n * 0.95 and n_idle < n * MOST_IDLE and share >= least and 100 * wrong <= total * most


if __name__ == "__main__":
    sys.exit(0 if all([compare(language, int(sys.argv[1])) for language in sys.argv[2:]]) else 1)
