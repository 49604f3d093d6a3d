#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Leaves of a Go program what belongs to package main: thin_go.py PROGRAM.

All else stays where it is, but as zeros, which compress: code, data, and line programs of the runtime.
"""
import pathlib
import re
import subprocess
import sys

program = sys.argv[1]


def lines_of(*command):
    return subprocess.run([*command, program], capture_output=True, text=True, check=True).stdout


symbols = [line.split() for line in lines_of("nm", "-S").splitlines()]
functions = [(int(at, 16), int(size, 16)) for at, size, kind, name in (s for s in symbols if len(s) == 4)
             if kind in "tT" and name.startswith("main.")]
subprocess.run(["objcopy", "-w", *(f"--strip-symbol={'main.'[:i]}[!{'main.'[i]}]*" for i in range(5)),
                "--remove-section=.debug_frame", "--remove-section=.debug_gdb_scripts", program], check=True)
data = bytearray(pathlib.Path(program).read_bytes())
sections = {name: (int(address, 16), int(offset, 16), int(size, 16)) for name, address, offset, size in re.findall(
    r"\] (\S+) +PROGBITS +(\w+) (\w+) (\w+)", lines_of("readelf", "-SW"))}
kept = [(start - sections[".text"][0] + sections[".text"][1], size) for start, size in functions]
unit = re.search(r"DW_AT_name\s*:[^\n]*\bmain\n.*?DW_AT_stmt_list\s*:\s*(?:0x)?(\w+)", lines_of("readelf", "--debug-dump=info", "--dwarf-depth=1"), re.S)
start = sections[".debug_line"][1] + int(unit[1], 16)
kept.append((start, 4 + int.from_bytes(data[start:start + 4], "little")))
thin = bytearray(data)
for name, (_, offset, size) in sections.items():
    if not name.startswith(".debug_") or name == ".debug_line":
        thin[offset:offset + size] = bytes(size)
for start, size in kept:
    thin[start:start + size] = data[start:start + size]
pathlib.Path(program).write_bytes(thin)
