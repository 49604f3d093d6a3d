#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a recording of memory events, as `perf mem record` makes it where the processor can.

Usage: memory_events.py APP OUT    (APP: a program without PIE; its variables and functions are named below)
"""
import os
import re
import struct
import subprocess
import sys

PID = 41
IP, TID, TIME, ADDR, PERIOD, WEIGHT, DATA_SRC, IDENTIFIER = 1, 2, 4, 8, 1 << 8, 1 << 14, 1 << 15, 1 << 16
FLAGS = 1 << 8 | 1 << 9 | 1 << 17 | 1 << 18 | 1 << 23  # mmap, comm, mmap_data, sample_id_all, mmap2
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


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def attr(config, number):
    types = IP | TID | TIME | ADDR | PERIOD | WEIGHT | DATA_SRC | IDENTIFIER
    return record(64, 0, struct.pack("<IIQQQQQIIQ", 4, 64, config, 1000, types, 0, FLAGS, 0, 0, 0) + struct.pack("<Q", number))


def with_id(kind, misc, body):
    """A record with its thread, time and event behind it (sample_id_all)."""
    return record(kind, misc, body + struct.pack("<iiQQ", PID, PID, 1000, 1))


def text(name):
    bytes_ = name.encode() + b"\0"
    return bytes_ + b"\0" * (-len(bytes_) % 8)


def mapping(start, size, offset, prot, name):
    file = os.stat(name) if os.path.exists(name) else None
    major, minor, inode = (os.major(file.st_dev), os.minor(file.st_dev), file.st_ino) if file else (0, 0, 0)
    body = struct.pack("<iiQQQIIQQII", PID, PID, start, size, offset, major, minor, inode, 0, prot, 2)
    return with_id(10, 2 | (0 if prot & 4 else 1 << 13), body + text(name))


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
        yield mapping(addr - skew, end - (addr - skew), offset - skew, sum(bit for i, bit in ((5, 1), (6, 2), (7, 4)) if found[i] != " "), app)
        bss = (addr + in_memory + 4095) // 4096 * 4096
        if bss > end:
            yield mapping(end, bss - end, end, 3, "//anon")


def symbols(app):
    out = subprocess.run(["nm", app], capture_output=True, text=True, check=True).stdout
    return {name: int(addr, 16) for addr, _, name in (line.split() for line in out.splitlines() if len(line.split()) == 3)}


def main():
    app, out = sys.argv[1:]
    at = symbols(app)
    data = b"PERFILE2" + struct.pack("<Q", 16) + attr(0x1CD, 1) + attr(0x82D0, 2)
    data += with_id(3, 1 << 13, struct.pack("<ii", PID, PID) + text("app"))
    data += b"".join(segments(app))
    data += mapping(HEAP, 0x21000, HEAP, 3, "[heap]") + mapping(STACK, 0x21000, STACK, 3, "[stack]")
    data += mapping(ANON, 0x1000, ANON, 3, "//anon") + mapping(SHARED, 0x1000, 0, 3, "/SYSV00000000")
    time = 2000
    for event, function, variable, offset, source, weight, n in SAMPLES:
        ip = at[function] + 4 if function else 0xFFFFFFFF81000100
        addr = (at[variable] if isinstance(variable, str) else variable) + offset
        for _ in range(n):
            time += 1000
            data += record(9, 2 if function else 1, struct.pack("<QQiiQQQQQ", event + 1, ip, PID, PID, time, addr, 1000, weight, source))
    with open(out, "wb") as file:
        file.write(data)


main()
