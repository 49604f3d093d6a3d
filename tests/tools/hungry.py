#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write recordings that take much memory to read, into the folder DIR:

  zstd.data   a compressed record whose unpacking takes 128 MB
  maps.data   an Intel PT recording with a hundred thousand mapped files
  op          OProfile's sample files with 400,000 places

  hungry.py DIR
"""
import os
import struct
import subprocess
import sys

import mkopfile

IP_TID_TIME_CPU = 1 | 2 | 4 | 128
MMAP, SAMPLE, FINISHED_ROUND, AUXTRACE_INFO, AUXTRACE, COMPRESSED = 1, 9, 68, 70, 71, 81
SAMPLE_ID_ALL = 1 << 18
INTEL_PT, TSC_BIT = 8, 1 << 10
PSB_WITH_TSC = b"\x02\x82" * 8 + b"\x19" + struct.pack("<Q", 1000)[:7] + b"\x02\x23" + bytes(6)


def record(kind, body):
    return struct.pack("<IHH", kind, 2, 8 + len(body)) + body


def trailer(pid, time_ns):
    return struct.pack("<IIQII", pid, pid, time_ns, 1, 0)


def sample(pid, ip, time_ns):
    return record(SAMPLE, struct.pack("<Q", ip) + trailer(pid, time_ns))


def mapping(pid, start, path, time_ns):
    text = path.encode() + bytes(8 - len(path) % 8)
    return record(MMAP, struct.pack("<IIQQQ", pid, pid, start, 0x1000, 0) + text + trailer(pid, time_ns))


def write_recording(path, kind, config, data):
    attr = struct.pack("<IIQQQQQ", kind, 112, config, 1, IP_TID_TIME_CPU, 0, SAMPLE_ID_ALL)
    attr += bytes(112 - len(attr))
    head = struct.pack("<8sQQQQQQ", b"PERFILE2", 104, 128, 112, 128, 240, len(data)) + bytes(48)
    with open(path, "wb") as out:
        out.write(head + struct.pack("<Q", 100) + attr + struct.pack("<QQ", 104, 8) + data)


def zstd(path):
    samples = b"".join(sample(1, 0x1000, 100 + i) for i in range(1000))
    # Without a size in the frame, zstd allocates the whole window.
    frame = subprocess.run(["zstd", "-q", "-c", "-19", "--long=27"], input=samples,
                           stdout=subprocess.PIPE, check=True).stdout
    write_recording(path, 1, 0, record(COMPRESSED, frame) + record(FINISHED_ROUND, b""))


def maps(path):
    words = [INTEL_PT, 0, 1, 0, 1, TSC_BIT, 0, 3, 0, 1] + [0] * 7
    data = [record(AUXTRACE_INFO, struct.pack("<II17Q", 1, 0, *words))]
    for i in range(100000):
        data.append(mapping(1000 + i % 10000, 0x1000 + 0x2000 * (i // 10000),
                            "/opt/a-folder-whose-name-takes-memory/%d/%d.so" % (i, i), 100 + i))
    data.append(record(AUXTRACE, struct.pack("<QQQIIII", len(PSB_WITH_TSC), 0, 0, 0, 0xffffffff, 1, 0)))
    write_recording(path, INTEL_PT, TSC_BIT, b"".join(data) + PSB_WITH_TSC)


def oprofile(path):
    name = path + "/samples/current/{root}/bin/app/{dep}/{root}/bin/app/EVENT.100000.0.all.all.all"
    header = dict.fromkeys(mkopfile.HFIELDS, 0)
    header.update(magic=mkopfile.MAGIC, version=mkopfile.VERSION, ctr_count=100000)
    os.makedirs(os.path.dirname(name))
    with open(name, "wb") as out:
        out.write(mkopfile.pack_file(header, {16 + 4 * i: 1 for i in range(400000)}))


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    zstd(sys.argv[1] + "/zstd.data")
    maps(sys.argv[1] + "/maps.data")
    oprofile(sys.argv[1] + "/op")
