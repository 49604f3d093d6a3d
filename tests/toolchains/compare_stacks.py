#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of a program, address by address, with gdb's of the same stopped process.

tests/toolchains/compare_stacks.py WALK PROGRAM [ARGUMENT...]      WALK is build/bench/walk

Prints how many stacks compare how, and those that differ. Fails if one differs, or if there are fewer than 20.
"""
import collections
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

GDB_SCRIPT = pathlib.Path(__file__).resolve().parent / "gdb_stacks.py"


def gdb_words(script, socket_path, program, *arguments):
    return ["env", f"TOOLCHAINS_SOCKET={socket_path}", "timeout", "120", "gdb", "-nx", "-q", "-batch", "-x", str(script), "--args", program, *arguments]


def is_code(pid, address):
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return any(int(start, 16) <= address < int(end, 16) for start, end, access in
               (re.match(r"(\w+)-(\w+) (\S+)", line).groups() for line in maps) if "x" in access)


def compare_one(pid, ours, theirs, stop, excuses):
    while theirs[-1:] == ["0"]:
        theirs = theirs[:-1]
    if ours == theirs:
        return "equal"
    if ours[:len(theirs)] == theirs:
        return "gdb ends earlier"
    # gdb takes data for return addresses, mostly above the first frame.
    if stop == "end" and not all(is_code(pid, int(pc, 16)) for pc in theirs):
        return "gdb goes on in data"
    if theirs[:len(ours)] != ours:
        return "other"
    if stop == "unmapped" and not is_code(pid, int(theirs[len(ours)], 16)):
        return "gdb goes on in data"
    return "ends for a reason of the language" if f"stack-{stop.removesuffix('-stack')}" in excuses else "other"


def compare(walk, gdb_command, socket_path, excuses=()):
    """(whether all is well, a text). gdb may end a stack earlier, assay for its language's reason (`excuses`)."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(socket_path))
    server.listen()
    kinds, examples = collections.Counter(), []
    server.settimeout(60)
    with subprocess.Popen(gdb_command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as gdb, \
            subprocess.Popen([walk], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as walker:
        try:
            stream = server.accept()[0].makefile("rw")
            for line in stream:
                request, theirs = line.split(" |")
                walker.stdin.write(request + "\n")
                walker.stdin.flush()
                stop, *ours = walker.stdout.readline().split()
                kind = compare_one(request.split()[0], ours, theirs.split(), stop, excuses)
                kinds[kind] += 1
                if kind == "other" and len(examples) < 3:
                    examples.append(f"ours {' '.join(ours)}: {stop}\ngdb  {theirs.strip()}")
                stream.write("\n")
                stream.flush()
        except (OSError, ValueError) as why:
            examples.append(f"{type(why).__name__} {why}")
        finally:
            server.close()
            walker.stdin.close()
            output = gdb.communicate()[0]
    total = sum(kinds.values())
    if total < 20:
        return False, "\n".join([f"gdb gave {total} stacks", *examples, output[-500:]])
    detail = ", ".join(f"{kind}: {n}" for kind, n in kinds.most_common())
    return not kinds["other"], "\n".join([detail, *examples])


def main():
    walk, program, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="gdb") as folder:
        path = pathlib.Path(folder) / "socket"
        is_good, text = compare(walk, gdb_words(GDB_SCRIPT, path, program, *arguments), path)
    print(text)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
