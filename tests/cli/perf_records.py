# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of perf.data files in pipe format, for scripts of tests that write recordings."""
import os
import struct

IP, TID, TIME, ADDR, ID, CPU, PERIOD, CHAIN = 1, 2, 4, 8, 1 << 6, 1 << 7, 1 << 8, 1 << 5
RAW, WEIGHT, DATA_SRC, IDENTIFIER, AUX, CGROUP = 1 << 10, 1 << 14, 1 << 15, 1 << 16, 1 << 20, 1 << 21
MMAP, COMM, SAMPLE, MMAP2, NAMESPACES, CGROUP_NAME = 1, 3, 9, 10, 16, 19
CHAIN_DEFERRED, ATTR, ID_INDEX, EVENT_UPDATE, BPF_METADATA = 22, 64, 69, 78, 84
KERNEL, USER, GUEST_KERNEL, GUEST_USER = 1, 2, 4, 5
FLAGS = 1 << 8 | 1 << 9 | 1 << 17 | 1 << 18 | 1 << 23  # mmap, comm, mmap_data, sample_id_all, mmap2
CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_DEFERRED = (-context & (1 << 64) - 1 for context in (128, 512, 640))

BEGIN = b"PERFILE2" + struct.pack("<Q", 16)


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def attr(kind, config, number, types, flags=FLAGS, period=1000):
    return record(ATTR, 0, struct.pack("<IIQQQQQIIQ", kind, 64, config, period, types, 0, flags, 0, 0, 0) + struct.pack("<Q", number))


def with_id(kind, misc, body, pid, number=1):
    """A record with its thread, time and event behind it: sample_id_all, of TID, TIME and IDENTIFIER."""
    return record(kind, misc, body + struct.pack("<iiQQ", pid, pid, 1000, number))


def text(name):
    bytes_ = name.encode() + b"\0"
    return bytes_ + b"\0" * (-len(bytes_) % 8)


def name_event(number, name):
    return record(EVENT_UPDATE, 0, struct.pack("<QQ", 2, number) + text(name))


def comm(pid, name):
    return with_id(COMM, 1 << 13, struct.pack("<ii", pid, pid) + text(name), pid)


def mapping(pid, start, size, offset, prot, name):
    file = os.stat(name) if os.path.exists(name) else None
    major, minor, inode = (os.major(file.st_dev), os.minor(file.st_dev), file.st_ino) if file else (0, 0, 0)
    body = struct.pack("<iiQQQIIQQII", pid, pid, start, size, offset, major, minor, inode, 0, prot, 2)
    return with_id(MMAP2, USER | (0 if prot & 4 else 1 << 13), body + text(name), pid)
