#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes the last piece of Intel PT trace in a perf.data file, and writes the file to standard output.

    trace_bytes.py FILE cut PSB BYTES     ends the piece so many bytes behind the begin of its PSB
    trace_bytes.py FILE append NUMBER     appends so many PSBs to the piece
    trace_bytes.py FILE kind NUMBER       leaves it alone, but calls it another kind of trace (enum auxtrace_type)
"""
import re
import struct
import sys

AUXTRACE_INFO, AUXTRACE = 70, 71  # the types of the records with the kind, and before a piece of trace
PSB = bytes([2, 0x82]) * 8
SIZE_OF_RECORDS = 48  # where perf.data's header has it; the offset is before it


def main():
    data = bytearray(open(sys.argv[1], "rb").read())
    at, size = struct.unpack_from("<QQ", data, SIZE_OF_RECORDS - 8)
    end = at + size
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == AUXTRACE_INFO and sys.argv[2] == "kind":
            struct.pack_into("<I", data, at + 8, int(sys.argv[3]))
        if kind == AUXTRACE:
            record, start = at, at + length
            at += struct.unpack_from("<Q", data, at + 8)[0]
            behind = at + length
        at += length
    trace = bytes(data[start:behind])
    if sys.argv[2] == "kind":
        sys.stdout.buffer.write(data)
        return
    if sys.argv[2] == "cut":
        psbs = [found.start() for found in re.finditer(re.escape(PSB), trace)]
        new = trace[: psbs[int(sys.argv[3])] + int(sys.argv[4])]
    else:
        new = trace + PSB * int(sys.argv[3])
    struct.pack_into("<Q", data, record + 8, len(new))
    struct.pack_into("<Q", data, SIZE_OF_RECORDS, size + len(new) - len(trace))
    sys.stdout.buffer.write(data[:start] + new + data[behind:])


main()
