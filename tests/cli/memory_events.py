#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a recording of memory events, as `perf mem record` makes it where the processor can.

Usage: memory_events.py APP OUT [cut]    (APP: a program without PIE; its variables and functions are named below)
"cut": each sample of the program has a caller that no mapping covers.
"""
import re
import struct
import subprocess
import sys

from perf_records import ADDR, BEGIN, CHAIN, CONTEXT_KERNEL, CONTEXT_USER, DATA_SRC, IDENTIFIER, IP, KERNEL, PERIOD, SAMPLE, TID, TIME, USER, WEIGHT, attr, comm, mapping, record

PID = 41
TYPES = IP | TID | TIME | ADDR | PERIOD | WEIGHT | DATA_SRC | IDENTIFIER
HEAP, STACK, ANON, SHARED = 0x2000000, 0x7FFC00000000, 0x7F1200000000, 0x7F1300000000

# union perf_mem_data_src: the access, its level, the other caches, and where its page was found.
LOAD, STORE = 1 << 1, 1 << 2
HIT, MISS, L1, LFB, L2, L3, RAM = (bit << 5 for bit in (0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80))
SNOOP_NONE, HITM = 0x02 << 19, 0x10 << 19
LOCKED = 0x02 << 24
TLB_HIT, TLB_MISS, TLB_L1, TLB_L2, WALKER = (bit << 26 for bit in (0x02, 0x04, 0x08, 0x10, 0x20))
NOTHING = 1 | 1 << 5 | 1 << 19 | 1 << 24 | 1 << 26  # PERF_MEM_NA of older kernels

L1_HIT = LOAD | L1 | HIT | SNOOP_NONE | TLB_HIT | TLB_L1 | TLB_L2
L3_HITM = LOAD | L3 | HIT | HITM | TLB_HIT | TLB_L1 | TLB_L2
RAM_HIT = LOAD | RAM | HIT | SNOOP_NONE | TLB_MISS | WALKER
STORE_HIT = STORE | L1 | HIT | LOCKED | TLB_HIT | TLB_L1
STORE_MISS = STORE | L1 | MISS

# (event, function, variable or address, offset in it, source, weight, samples); the function None: the kernel
SAMPLES = [
    (0, "work", "table", 0, L1_HIT, 7, 11),
    (0, "work", "table", 40, L1_HIT, 8, 5),
    (0, "work", "table", 80, RAM_HIT, 310, 3),
    (0, "work", "counter", 0, L3_HITM, 90, 4),
    (0, "main", "constants", 8, L1_HIT, 5, 2),
    (0, "main", "zeros", 12000, RAM_HIT, 420, 6),
    (0, "main", HEAP, 64, L1_HIT, 6, 3),
    (0, "main", HEAP, 128, RAM_HIT, 350, 2),
    (0, "main", STACK, 16, L1_HIT, 5, 1),
    (0, "main", ANON, 0, NOTHING, 0, 2),
    (0, "main", 0, 0, NOTHING, 0, 1),
    (0, "main", 0x123000, 0, RAM_HIT, 300, 1),
    (0, None, 0xFFFF888000001000, 0, RAM_HIT, 380, 2),
    (1, "work", "counter", 0, STORE_HIT, 20, 9),
    (1, "main", SHARED, 8, STORE_MISS, 200, 2),
]


def segments(app):
    """The mappings of a program at its link addresses, and the .bss behind them."""
    out = subprocess.run(["readelf", "-lW", app], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        found = re.match(r"\s*LOAD\s+(\S+)\s+(\S+)\s+\S+\s+(\S+)\s+(\S+)\s+([R ])([W ])([E ])", line)
        if not found:
            continue
        offset, addr, in_file, in_memory = (int(found[i], 16) for i in range(1, 5))
        skew = addr % 4096
        end = (addr + in_file + 4095) // 4096 * 4096
        yield mapping(PID, addr - skew, end - (addr - skew), offset - skew, sum(bit for i, bit in ((5, 1), (6, 2), (7, 4)) if found[i] != " "), app)
        bss = (addr + in_memory + 4095) // 4096 * 4096
        if bss > end:
            yield mapping(PID, end, bss - end, end, 3, "//anon")


def symbols(app):
    out = subprocess.run(["nm", app], capture_output=True, text=True, check=True).stdout
    return {name: int(addr, 16) for addr, _, name in (line.split() for line in out.splitlines() if len(line.split()) == 3)}


def main():
    app, out = sys.argv[1:3]
    is_cut = sys.argv[3:] == ["cut"]
    types = TYPES | (CHAIN if is_cut else 0)
    at = symbols(app)
    data = BEGIN + attr(4, 0x1CD, 1, types) + attr(4, 0x82D0, 2, types) + comm(PID, "app") + b"".join(segments(app))
    data += mapping(PID, HEAP, 0x21000, HEAP, 3, "[heap]") + mapping(PID, STACK, 0x21000, STACK, 3, "[stack]")
    data += mapping(PID, ANON, 0x1000, ANON, 3, "//anon") + mapping(PID, SHARED, 0x1000, 0, 3, "/SYSV00000000")
    time = 2000
    for event, function, variable, offset, source, weight, n in SAMPLES:
        ip = at[function] + 4 if function else 0xFFFFFFFF81000100
        addr = (at[variable] if isinstance(variable, str) else variable) + offset
        for _ in range(n):
            time += 1000
            chain = [CONTEXT_USER, ip, 0xDEAD000] if function else [CONTEXT_KERNEL, ip]
            body = struct.pack("<QQiiQQQ", event + 1, ip, PID, PID, time, addr, 1000)
            body += struct.pack(f"<Q{len(chain)}Q", len(chain), *chain) if is_cut else b""
            body += struct.pack("<QQ", weight, source)
            data += record(SAMPLE, USER if function else KERNEL, body)
    with open(out, "wb") as file:
        file.write(data)


main()
