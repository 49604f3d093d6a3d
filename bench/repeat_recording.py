#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Repeats the records of a perf.data file, each time later, until the copy has a wanted size.

bench/repeat_recording.py IN OUT GIGABYTES

All events of IN must have one sample type with an identifier, a process, and a time, as `perf record
-a` makes them. Copies of records that are no samples have later times, too.
"""

import struct
import sys

IDENTIFIER, IP, TID, TIME = 1 << 16, 1 << 0, 1 << 1, 1 << 2
ID, CPU, STREAM = 1 << 6, 1 << 7, 1 << 9
SAMPLE, FINISHED = 9, 64  # types from 64 on are perf's own and have no time


def sample_type_of(data):
    size, attrs, attrs_size = struct.unpack_from("<QQQ", data, 16)
    types = {struct.unpack_from("<Q", data, attrs + i + 24)[0] for i in range(0, attrs_size, size)}
    if len(types) != 1:
        sys.exit("repeat_recording: the events have several sample types")
    return types.pop()


def time_places(data, start, size):
    """The offsets, from `start`, of the times of samples, and of other records."""
    kind = sample_type_of(data)
    in_sample = 8 * sum(bool(kind & bit) for bit in (IDENTIFIER, IP, TID)) + 8
    behind_time = 8 * sum(bool(kind & bit) for bit in (TIME, ID, STREAM, CPU, IDENTIFIER))
    samples, others, at = [], [], start
    while at < start + size:
        record, _, length = struct.unpack_from("<IHH", data, at)
        if record == SAMPLE:
            samples.append(at - start + in_sample)
        elif record < FINISHED:
            others.append(at - start + length - behind_time)
        at += length
    return samples, others


def main():
    source, out, gigabytes = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with open(source, "rb") as file:
        data = file.read()
    start, size = struct.unpack_from("<QQ", data, 40)
    unit = bytearray(data[start:start + size])
    samples, others = time_places(data, start, size)
    sampled = [struct.unpack_from("<Q", unit, at)[0] for at in samples]
    later = max(sampled) - min(sampled) + 1
    places = samples + others
    times = [struct.unpack_from("<Q", unit, at)[0] for at in places]
    copies = max(1, int(gigabytes * 2**30 / size))
    with open(out, "wb") as file:
        head = bytearray(data[:start])
        struct.pack_into("<Q", head, 48, size * copies)
        struct.pack_into("<Q", head, 72, 0)  # no features: they would be in another place
        file.write(head)
        for i in range(copies):
            for at, time in zip(places, times):
                struct.pack_into("<Q", unit, at, time + i * later if time else 0)
            file.write(unit)


if __name__ == "__main__":
    main()
