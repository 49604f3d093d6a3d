#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares assay with libipt's vectors that have perf's side band (LIBIPT/test/pevent/src).

    tests/pt/pevent_vectors.py ASSAY FOLDER     FOLDER has a folder for each vector, as vectors.py makes it with
                                                a pttc that was built with -DSIDEBAND=ON -DPEVENT=ON

Each vector becomes a recording of CPU 0 in perf.data's format; its kernel code becomes a copy of kcore. The
output is a line for each vector. The exit status is 1 if the instructions of one differ without a reason.
"""
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile

# Differences, and their reasons. docs/intel-pt.md has the same list.
EXPECTED = {
    "pevent-split": "assay walks to an indirect branch with the code of the time of its TIP, libipt with that before",
    "pevent-tip_pgd-switch_cpu_wide-tsc-tip_pge": "a record of a switch has no thread; perf always records it",
    "pevent-warn": "the side band has no process: libipt's tool is given the code apart",
}

TID, TIME, CPU = 2, 4, 0x80  # bits of perf_event_attr.sample_type
MMAP, AUXTRACE_INFO, AUXTRACE = 1, 70, 71
TSC_BIT, BRANCH_BIT = 1 << 10, 1 << 13  # of the config of intel_pt
KERNEL = 1 << 63
TICK = 20  # a tick of a vector, which are few, becomes 2^20: assay counts instructions as ticks


def records_of(path):
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        kind, misc, size = struct.unpack_from("<IHH", data, at)
        yield kind, misc, data[at + 8 : at + size]
        at += size


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def attr(kind, config, sample_type):
    # mmap, comm, task and sample_id_all (bits 8, 9, 13, 18); size 112
    flags = 1 << 8 | 1 << 9 | 1 << 13 | 1 << 18
    return struct.pack("<IIQQQQQ", kind, 112, config, 0, sample_type, 0, flags).ljust(112, b"\0")


def recording(folder, name, kcore):
    """The bytes of perf.data. Mappings of the kernel are added to kcore: (address, bytes)."""
    binary = os.path.abspath(f"{folder}/{name}.bin")
    code = open(binary, "rb").read()
    body = b""
    sample_type = 0
    for path in sorted(glob.glob(f"{folder}/*.sb")):
        sample_type = int(re.search(r"sample-type=(0x[0-9a-f]+)", path).group(1), 16)
        trailer = 8 * bin(sample_type & (TID | TIME)).count("1")
        for kind, misc, content in records_of(path):
            head, tail = content[: len(content) - trailer], content[len(content) - trailer :]
            if kind == MMAP:
                pid, tid, addr, size, offset = struct.unpack_from("<IIQQQ", head)
                if addr & KERNEL:
                    kcore.append((addr, code[offset : offset + size]))
                text = binary.encode() + b"\0"
                head = head[:32] + text.ljust((len(text) + 7) // 8 * 8, b"\0")
            ids = [*struct.unpack(f"<{trailer // 8}Q", tail)]
            ids[-1] <<= TICK  # the time
            body += record(kind, misc, head + struct.pack(f"<{len(ids)}Q", *ids) + struct.pack("<II", 0, 0))
    sample_type |= CPU
    words = [8, 0, 1, 0, 1, TSC_BIT, 1 << 11, 2, 0, 1, 1 << 9, 0xF << 14, 0, 0, 1 << 1, 0, 0]
    trace = re.sub(rb"\x19(.)\0{6}", lambda tsc: b"\x19" + (tsc[1][0] << TICK).to_bytes(7, "little"),
                   open(f"{folder}/{name}.pt", "rb").read(), flags=re.S)
    info = record(AUXTRACE_INFO, 0, struct.pack("<II", 1, 0) + struct.pack(f"<{len(words)}Q", *words))
    piece = record(AUXTRACE, 0, struct.pack("<QQQIiII", len(trace), 0, 0, 0, -1, 0, 0)) + trace
    data = info + body + piece
    attrs = [attr(1, 9, sample_type), attr(8, TSC_BIT | BRANCH_BIT, sample_type)]
    at = 104 + 128 * len(attrs)
    header = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 128, 104, 128 * len(attrs), at, len(data), 0, 0) + bytes(32)
    return header + b"".join(a + bytes(16) for a in attrs) + data


def write_kcore(folder, segments):
    """An ELF core with these segments, and a kallsyms beside it."""
    os.makedirs(folder)
    at = 64 + 56 * len(segments)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 4, 62, 1, 0, 64, 0, 0, 64, 56, len(segments), 0, 0, 0)
    rest = b""
    for addr, code in segments:
        head += struct.pack("<IIQQQQQQ", 1, 7, at + len(rest), addr, 0, len(code), len(code), 1)
        rest += code
    open(f"{folder}/kcore", "wb").write(head + rest)
    open(f"{folder}/kallsyms", "w").write(f"{segments[0][0]:x} T _text\n")


def flow_of(assay, folder, name):
    with tempfile.TemporaryDirectory() as made:
        kcore = []
        data = recording(folder, name, kcore)
        open(f"{made}/data", "wb").write(data)
        if kcore:
            write_kcore(f"{made}/kcore_dir", kcore)
        done = subprocess.run([assay, "script", "-i", made, "--itrace=i1ie", "-F", "ip"], capture_output=True,
                              text=True, errors="replace", timeout=60)
        if done.returncode:
            return [f"exit {done.returncode}: {done.stderr.strip()}"]
        return ["[error]" if "error" in line else line.strip() for line in done.stdout.splitlines()]


def main():
    assay, target = sys.argv[1:]
    wrong = n_equal = 0
    for name in sorted(os.listdir(target)):
        folder = f"{target}/{name}"
        expectation = f"{folder}/{name}-ptxed.exp"
        if not os.path.exists(expectation):
            print(f"{name}: has packets alone")
            continue
        text = open(expectation, encoding="utf-8").read()
        wanted = [f"{int(a, 16):x}" for a in re.findall(r"^([0-9a-f]{16})$", text, re.M)]
        found = flow_of(assay, folder, name)
        n_equal += wanted == found
        if (wanted == found) == (name in EXPECTED):
            wrong += 1
            print(f"{name}: wanted {wanted}, found {found}")
        else:
            print(f"{name}: {'expected: ' + EXPECTED[name] if name in EXPECTED else 'equal'}")
    return 1 if wrong or not n_equal else 0


sys.exit(main())
