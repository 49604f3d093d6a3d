#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes a perf.data record by record: its sizes and sections stay consistent, and its facts do not.

Usage: mutate_recording.py IN OUT SEED
"""
import random
import struct
import sys

KINDS = list(range(1, 23)) + list(range(64, 86))  # of the kernel, and of perf
VALUES = (0, 1, 7, 8, 4096, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, 1 << 47, 1 << 63, -1, -8, -128, -512, -640, -4095)


def read_records(data):
    records = []
    at = 0
    while at + 8 <= len(data):
        size = struct.unpack_from("<H", data, at + 6)[0]
        if size < 8 or at + size > len(data):
            break
        records.append(bytearray(data[at:at + size]))
        at += size
    return records


def put_number(rng, record):
    """An aligned number of the body becomes another one, also one of this record's."""
    if len(record) < 16:
        return
    width, code = rng.choice(((8, "<Q"), (8, "<Q"), (4, "<I"), (2, "<H")))
    value = rng.choice(VALUES)
    if rng.random() < 0.3:
        value = struct.unpack_from("<Q", record, rng.randrange(8, len(record) - 7))[0] + rng.choice((-1, 0, 1))
    struct.pack_into(code, record, 8 + rng.randrange(0, (len(record) - 8) // width) * width, value & (1 << 8 * width) - 1)


def resize(rng, record):
    n = 8 * rng.choice((-4, -1, 1, 2, 64))
    if n < 0:
        del record[max(8, len(record) + n):]
    elif len(record) + n < 65536:
        record += bytes(rng.randrange(256) for _ in range(n))
    struct.pack_into("<H", record, 6, len(record))


def mutate(rng, records):
    i, k = rng.randrange(len(records)), rng.randrange(len(records))
    what = rng.choice(("number", "number", "number", "number", "resize", "kind", "misc", "drop", "double", "move", "body"))
    if what == "number":
        put_number(rng, records[i])
    elif what == "resize":
        resize(rng, records[i])
    elif what == "kind":
        struct.pack_into("<I", records[i], 0, rng.choice(KINDS))
    elif what == "misc":
        struct.pack_into("<H", records[i], 4, rng.choice((0, 1, 2, 3, 4, 5, 1 << 13, 1 << 14, 0xFFFF)))
    elif what == "drop" and len(records) > 1:
        del records[i]
    elif what == "double":
        records[k:k] = [bytearray(records[i]) for _ in range(rng.choice((1, 2, 300)))]
    elif what == "move":
        records.insert(k, records.pop(i))
    elif what == "body":  # of another record
        records[i][8:] = records[k][8:]
        struct.pack_into("<H", records[i], 6, len(records[i]))


def main():
    source, out, seed = sys.argv[1:]
    rng = random.Random(int(seed))
    with open(source, "rb") as file:
        whole = bytearray(file.read())
    head = struct.unpack_from("<Q", whole, 8)[0]
    begin, size = (head, len(whole) - head) if head == 16 else struct.unpack_from("<QQ", whole, 40)
    before, behind = whole[:begin], whole[begin + size:]
    records = read_records(whole[begin:begin + size])
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        mutate(rng, records)
    data = b"".join(records)
    if head != 16:
        # the sections of features are behind the data, and their places are in a table there
        struct.pack_into("<Q", before, 48, len(data))
        n = sum(bin(word).count("1") for word in struct.unpack_from("<4Q", before, 72))
        for i in range(n):
            offset, length = struct.unpack_from("<QQ", behind, 16 * i)
            struct.pack_into("<QQ", behind, 16 * i, offset + len(data) - size, length)
        if rng.random() < 0.2:  # a field of an event
            at = struct.unpack_from("<Q", before, 24)[0] + 8 * rng.randrange(16)
            if at + 8 <= len(before):
                struct.pack_into("<Q", before, at, rng.choice(VALUES) & (1 << 64) - 1)
    with open(out, "wb") as file:
        file.write(before + data + behind)


main()
