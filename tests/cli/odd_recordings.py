#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes recordings of kinds that this machine can't make.

Usage: odd_recordings.py off-cpu|bad-off-cpu|old-off-cpu|guest|guests|deferred|guest-deferred|kernel-maps|aux|metadata|cgroups|namespaces OUT
"""
import struct
import sys

from perf_records import (ADDR, AUX, BEGIN, BPF_METADATA, CGROUP, CGROUP_NAME, CHAIN, CHAIN_DEFERRED, CONTEXT_DEFERRED, CONTEXT_KERNEL, CONTEXT_USER, CPU, FLAGS, GUEST_KERNEL, GUEST_USER, ID, ID_INDEX, IDENTIFIER, IP,
                          KERNEL, MMAP, NAMESPACES, PERIOD, RAW, SAMPLE, TID, TIME, USER, attr, comm, mapping, name_event, record, text, with_id)

APP, WAITER = 41, 42
HOST = FLAGS | 1 << 20  # exclude_guest
CLOCK_TYPES = IP | TID | TIME | PERIOD | CHAIN | IDENTIFIER


def begin(*attrs):
    data = BEGIN + b"".join(attrs) + comm(APP, "app") + comm(WAITER, "waiter")
    for pid, name in ((APP, "/bin/app"), (WAITER, "/bin/waiter")):
        data += mapping(pid, 0x400000, 0x10000, 0, 5, name) + mapping(pid, 0x7F0000, 0x10000, 0, 5, "/lib/libwait.so")
    return data


def clock(time, pid, mode, *addresses):
    """A sample of event 1, whose chain has the mode's mark."""
    chain = (CONTEXT_KERNEL if mode in (KERNEL, GUEST_KERNEL) else CONTEXT_USER,) + addresses
    body = struct.pack("<QQiiQQQ", 1, addresses[0], pid, pid, time, 1000000, len(chain)) + struct.pack(f"<{len(chain)}Q", *chain)
    return record(SAMPLE, mode, body)


# (thread, ns, stack): waits of a process and of its second thread
WAITS = [(APP, APP, 700000000, (0x7F0100, 0x400200)), (APP, 45, 900000000, (0x7F0100, 0x400300, 0x400310)), (WAITER, WAITER, 600000000, (0x400400,)), (APP, APP, 800000000, (0x7F0100, 0x400200))]


def off_cpu(n_claimed=0):
    """Of perf 6.17 and newer: the wait is in the raw data, and the sample is of whatever wrote it.

    The first wait claims to have so many addresses more than it has.
    """
    types = IDENTIFIER | IP | TID | TIME | PERIOD | RAW | CGROUP
    data = begin(attr(1, 0, 1, CLOCK_TYPES, HOST), attr(1, 10, 2, types, HOST, 1)) + name_event(2, "offcpu-time")
    data += clock(5000, APP, USER, 0x400100, 0x400110) + clock(6000, WAITER, USER, 0x400100)
    for i, (pid, tid, ns, stack) in enumerate(WAITS):
        wait = struct.pack("<iiQQQ", pid, tid, ns, len(stack) + 1 + (0 if i else n_claimed), CONTEXT_USER) + struct.pack(f"<{len(stack)}QQ", *stack, 0)
        raw = struct.pack("<I", len(wait) + 4) + wait + bytes(4)
        # the first ones came when they ended, and the others were left in a map at the end
        head = struct.pack("<QQiiQQ", 2, 0xFFFFFFFF81000100, WAITER, WAITER, 7000 + i, 1) if i < 2 else struct.pack("<QQiiQQ", 2, 0, 0, 0, 7000 + i, 0)
        data += record(SAMPLE, KERNEL if i < 2 else USER, head + raw + struct.pack("<Q", 0))
    return data


def old_off_cpu():
    """Of perf 6.1: sums at the end of the recording."""
    types = IDENTIFIER | IP | TID | TIME | ID | CPU | PERIOD | CHAIN | CGROUP
    data = begin(attr(1, 0, 1, CLOCK_TYPES, HOST), attr(1, 10, 2, types, HOST, 1)) + name_event(2, "offcpu-time")
    data += clock(5000, APP, USER, 0x400100, 0x400110) + clock(6000, WAITER, USER, 0x400100)
    for i, (pid, tid, ns, stack) in enumerate(WAITS):
        chain = (CONTEXT_USER,) + stack
        body = struct.pack("<QQiiQQQQQ", 2, stack[0], pid, tid, 7000 + i, 2, 0, ns, len(chain)) + struct.pack(f"<{len(chain)}QQ", *chain, 0)
        data += record(SAMPLE, USER, body)
    return data


def guest():
    data = begin(attr(1, 0, 1, CLOCK_TYPES))
    for i in range(12):
        data += clock(5000 + i, APP, (USER, KERNEL, GUEST_KERNEL, GUEST_KERNEL, GUEST_KERNEL, GUEST_USER)[i % 6], 0x400100 if i % 6 in (0, 5) else 0xFFFFFFFF81000100)
    return data


def guests():
    """Kernels of two guests: functions of both, and a module's. perf needs the mapping."""
    text_of_guest = struct.pack("<iiQQQ", 0, 0, 0xFFFFFFFF81000000, 0x1000000, 0xFFFFFFFF81000000) + text("[guest.kernel.kallsyms]_text")
    data = begin(attr(1, 0, 1, CLOCK_TYPES)) + with_id(MMAP, GUEST_KERNEL, text_of_guest, 0)
    for i, addr in enumerate([0xFFFFFFFF81000100] * 3 + [0xFFFFFFFF81000250] * 2 + [0xFFFFFFFFC0000120] * 4 + [0xFFFFFFFFC0009000]):
        data += clock(5000 + i, APP, GUEST_KERNEL, addr)
    return data + clock(6000, WAITER, GUEST_KERNEL, 0xFFFFFFFF81000100) + clock(6001, WAITER, USER, 0x400100)


def user_part(time, pid, cookie, *addresses):
    """PERF_RECORD_CALLCHAIN_DEFERRED, with its trailer."""
    chain = (CONTEXT_USER,) + addresses
    return record(CHAIN_DEFERRED, USER, struct.pack(f"<QQ{len(chain)}Q", cookie, len(chain), *chain) + struct.pack("<iiQQ", pid, pid, time, 1))


def deferred():
    """Of `perf record --call-graph fp,defer`: user parts of chains come later, in the order of the threads' returns."""
    def sample(time, pid, mode, ip, cookie):
        chain = ((CONTEXT_KERNEL, ip, 0xFFFFFFFF81000200) if mode == KERNEL else ()) + (CONTEXT_DEFERRED, cookie)
        body = struct.pack(f"<QQiiQQQ{len(chain)}Q", 1, ip, pid, pid, time, 1000000, len(chain), *chain)
        return record(SAMPLE, mode, body)

    data = begin(attr(1, 0, 1, CLOCK_TYPES, HOST | 3 << 38))
    data += sample(5000, APP, KERNEL, 0xFFFFFFFF81000100, 7) + sample(5001, WAITER, KERNEL, 0xFFFFFFFF81000100, 8) + sample(5002, APP, KERNEL, 0xFFFFFFFF81000110, 7)
    data += user_part(5003, APP, 7, 0x400100, 0x400210, 0x400310)
    data += sample(5004, APP, USER, 0x400120, 9) + user_part(5005, APP, 9, 0x400120, 0x400220)
    data += user_part(5006, WAITER, 8, 0x7F0100, 0x400400)
    data += user_part(5007, WAITER, 77, 0x7F0100)  # nobody waits for it
    # never returns
    return data + sample(5008, WAITER, KERNEL, 0xFFFFFFFF81000100, 10)


def guest_deferred():
    """As deferred(), with a guest (event 2): its thread has the number, the stack's addresses and the cookie of one of the host."""
    index = struct.pack("<QQQQQ", 1, 2, 0, 0, APP) + struct.pack("<QQ", 77, 3)
    data = begin(attr(1, 0, 1, CLOCK_TYPES, HOST | 3 << 38), attr(1, 0, 2, CLOCK_TYPES, HOST | 3 << 38)) + record(ID_INDEX, 0, index)
    for number, time in ((1, 5000), (2, 5001)):
        chain = (CONTEXT_KERNEL, 0xFFFFFFFF81000100, CONTEXT_DEFERRED, 7)
        body = struct.pack(f"<QQiiQQQ{len(chain)}Q", number, chain[1], APP, APP, time, 1000000, len(chain), *chain)
        data += record(SAMPLE, KERNEL if number == 1 else GUEST_KERNEL, body)
    for number, time, addresses in ((2, 5002, (0x500100, 0x500200, 0x500300)), (1, 5003, (0x400100, 0x400210))):
        chain = (CONTEXT_USER,) + addresses
        data += record(CHAIN_DEFERRED, USER, struct.pack(f"<QQ{len(chain)}Q", 7, len(chain), *chain) + struct.pack("<iiQQ", APP, APP, time, number))
    return data


def kernel_maps():
    """Branches of two threads in a kernel's module, in whose place another one is loaded."""
    types = IDENTIFIER | IP | TID | TIME | ADDR | PERIOD
    place = 0xFFFFFFFFC0000000
    data = begin(attr(0, 4, 1, types, period=1))
    for time, name in ((4000, "first"), (6000, "second")):
        body = struct.pack("<iiQQQ", -1, 0, place, 0x1000, 0) + text(f"[{name}]")
        data += record(MMAP, KERNEL, body + struct.pack("<iiQQ", -1, -1, time, 1))
        for i, pid in enumerate((APP, WAITER, APP)):
            data += record(SAMPLE, KERNEL, struct.pack("<QQiiQQQ", 1, place + 0x100, pid, pid, time + 1 + i, place + 0x200, 1))
    return data


def aux():
    """Of `perf record --aux-sample`: bytes of a trace are in the samples."""
    data = begin(attr(1, 0, 1, CLOCK_TYPES | AUX, HOST))
    for i in range(9):
        bytes_ = bytes(range(8 * (i % 3)))
        sample = clock(5000 + i, (APP, WAITER)[i % 2], USER, 0x400100 + i, 0x400200)
        data += record(SAMPLE, USER, sample[8:] + struct.pack("<Q", len(bytes_)) + bytes_)
    return data


def metadata():
    entries = (("version", "1.2"), ("commit", "0123abcd"))
    body = b"prog_one".ljust(16, b"\0") + struct.pack("<Q", len(entries)) + b"".join(k.encode().ljust(64, b"\0") + v.encode().ljust(256, b"\0") for k, v in entries)
    data = begin(attr(1, 0, 1, CLOCK_TYPES, HOST)) + clock(5000, APP, USER, 0x400100, 0x400110)
    return data + with_id(BPF_METADATA, 0, body, -1) + clock(6000, WAITER, USER, 0x400100)


def cgroups():
    data = begin(attr(1, 0, 1, CLOCK_TYPES | CGROUP, HOST | 1 << 32))
    for number, path in ((7, "/"), (8, "/system.slice/web.service"), (9, "/user.slice")):
        data += with_id(CGROUP_NAME, 0, struct.pack("<Q", number) + text(path), -1)
    for i in range(10):
        group = (8, 8, 9, 7, 8)[i % 5]
        data += record(SAMPLE, USER, clock(5000 + i, APP if group == 8 else WAITER, USER, 0x400100)[8:] + struct.pack("<Q", group))
    return data


def namespaces():
    links = ((4, 0xF0000001), (4, 0xEFFFFFFE), (4, 0xEFFFFFFF), (4, 0xEFFFFFFC), (4, 0xEFFFFFFD), (4, 0xF0000000), (4, 0xEFFFFFFB))
    data = begin(attr(1, 0, 1, CLOCK_TYPES, HOST | 1 << 28))
    for pid in (APP, WAITER):
        body = struct.pack("<iiQ", pid, pid, len(links)) + b"".join(struct.pack("<QQ", dev, ino + (pid == WAITER)) for dev, ino in links)
        data += with_id(NAMESPACES, 0, body, pid)
    return data + clock(5000, APP, USER, 0x400100) + clock(6000, WAITER, USER, 0x400100)


def main():
    kind, out = sys.argv[1:]
    kinds = {"off-cpu": off_cpu, "bad-off-cpu": lambda: off_cpu(5), "old-off-cpu": old_off_cpu, "guest": guest, "guests": guests, "deferred": deferred, "guest-deferred": guest_deferred, "kernel-maps": kernel_maps, "aux": aux, "metadata": metadata, "cgroups": cgroups, "namespaces": namespaces}
    with open(out, "wb") as file:
        file.write(kinds[kind]())


main()
