#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of PHP and Perl that a stopped process is in, read in its memory; assay has no part in it.

stopped_frames.py PID LANGUAGE: prints those of a process, innermost first.

The reader begins at a global variable that the interpreter exports, and knows some versions on x86-64.
"""
import os
import struct
import subprocess
import sys


class Memory:
    """The memory of a process, and the exported symbols of its interpreter's file."""

    def __init__(self, pid, symbol):
        self.fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        for path, base in self.files(pid):
            self.symbols = self.exported(f"/proc/{pid}/root{path}", base)
            if symbol in self.symbols:
                self.path = f"/proc/{pid}/root{path}"
                return
        sys.exit(f"process {pid} has no {symbol}")

    def files(self, pid):
        """Each file of which the process has mapped code, with the address of its first byte."""
        first = {}
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            for line in maps:
                fields = line.split(None, 5)
                if len(fields) == 6 and fields[5].startswith("/"):
                    first.setdefault(fields[5].strip(), int(fields[0].split("-")[0], 16))
        return list(first.items())

    def exported(self, path, base):
        with open(path, "rb") as f:
            is_fixed = f.read(18)[16:] == b"\2\0"  # ET_EXEC
        text = subprocess.run(["nm", "-D", "--defined-only", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
        rows = [line.split() for line in text.splitlines()]
        return {row[2].split("@")[0]: int(row[0], 16) + (0 if is_fixed else base) for row in rows if len(row) == 3}

    def read(self, at, size):
        data = os.pread(self.fd, size, at)
        if len(data) != size:
            raise OSError(f"{at:#x} can't be read")
        return data

    def number(self, at, form="<Q"):
        return struct.unpack(form, self.read(at, struct.calcsize(form)))[0]

    def text(self, at, size):
        return self.read(at, size).decode(errors="replace")


PHP_FRAME = 488  # executor_globals: current_execute_data
PHP_INTERNAL = 1
PHP_OBJECT = 8
PHP_PLACES = {200: 64, 184: 56}  # of a generator: its placeholder, and the pointer to its frame
PHP_PARENT = 96  # behind that pointer


class Php:
    def __init__(self, pid):
        self.memory = Memory(pid, "executor_globals")

    def string(self, at):
        return self.memory.text(at + 24, self.memory.number(at + 16))

    def waiting(self, at):
        """Frames that wait in `yield from`, innermost first; `at` may be the frame that stands for them."""
        m = self.memory
        generator, found = m.number(at + 32), []
        place = PHP_PLACES.get(at - generator) if m.number(at + 40, "<B") == PHP_OBJECT else None
        while place and m.number(generator + place + PHP_PARENT):
            found.insert(0, m.number(generator + place))
            generator = m.number(generator + place + PHP_PARENT)
        return found

    def chain(self):
        m = self.memory
        at = m.number(m.symbols["executor_globals"] + PHP_FRAME)
        while at:
            yield from [at] if m.number(at + 24) else self.waiting(at)
            at = m.number(at + 48)

    def frames(self):
        m, found = self.memory, []
        for at in self.chain():
            function = m.number(at + 24)
            if function:
                name, scope = m.number(function + 8), m.number(function + 16)
                is_fiber = not name and m.number(function, "<B") == PHP_INTERNAL  # its start; its caller is the function that resumed it
                name = self.string(name) if name else "<main>"
                if not is_fiber:
                    found.append(f"{self.string(m.number(scope + 8))}::{name}" if scope and name != "<main>" else name)
        return found


PERL_SUB, PERL_FORMAT, PERL_EVAL = 9, 10, 11
PERL_MAIN_STACK = 1


class Perl:
    def __init__(self, pid):
        self.memory = m = Memory(pid, "PL_curinterp")
        self.version = m.number(m.symbols["PL_version"], "<B")
        # Without threads, the interpreter is a group of global variables.
        self.stack_at = m.symbols.get("PL_curstackinfo") or m.number(m.symbols["PL_curinterp"]) + (0xe0 if self.version >= 34 else 0xf0)

    def key(self, at):
        return self.memory.text(at + 8, self.memory.number(at + 4, "<i"))

    def package(self, at):
        m = self.memory
        body = m.number(at)
        names = body + 0x20 if self.version >= 36 else m.number(at + 16) + 8 * (m.number(body + 0x18) + 1)
        name, n = m.number(names), m.number(names + 0x1c, "<i")
        if n:
            name = m.number(name + (8 if n < 0 else 0))
        return self.key(name)

    def sub(self, at):
        m = self.memory
        body = m.number(at)
        if m.number(body + 0x5c, "<I") & 0x8000:
            return f"{self.package(m.number(body + 0x20))}::{self.key(m.number(body + 0x38))}"
        glob = m.number(body + 0x38)
        body = m.number(m.number(m.number(glob + 16) + 0x38) or glob)
        return f"{self.package(m.number(body + 0x28))}::{self.key(m.number(body + 0x20))}"

    def contexts(self):
        m = self.memory
        stack = m.number(self.stack_at)
        while True:
            first, last = m.number(stack + 8), m.number(stack + 0x20, "<i")
            yield from (first + 0x68 * i for i in range(last, -1, -1))
            if m.number(stack + 0x2c, "<i") == PERL_MAIN_STACK:
                return
            stack = m.number(stack + 0x10)

    def frames(self):
        m, found = self.memory, []
        for context in self.contexts():
            kind = m.number(context, "<B")
            if kind & 15 in (PERL_SUB, PERL_FORMAT) and not kind & 0x80:
                try:
                    found.append(self.sub(m.number(context + 0x48)))
                except OSError:  # the innermost one is half made
                    if found:
                        raise
            elif kind & 15 == PERL_EVAL and not kind & 0xc0:
                found.append("(eval)" if kind & 0x20 else "<main>")
        return found + ["<main>"]


READERS = {"php": Php, "perl": Perl}

if __name__ == "__main__":
    print(*READERS[sys.argv[2]](int(sys.argv[1])).frames(), sep="\n")
