#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads OTLP profiles and Perfetto traces by the numbers of their fields, and prints the parts that tests
need.

protobuf.py otlp|perfetto|slices FILE

It was written from the upstream .proto files alone, and shares nothing with assay's writer.
"""

import json
import struct
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """{number: [value, …]} of a message: integers, or bytes."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif key & 7 == 2:
            size, at = varint(data, at)
            assert at + size <= len(data)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {key & 7}")
        out.setdefault(key >> 3, []).append(value)
    return out


def one(message, number, default=0):
    return message.get(number, [default])[-1]


def sub(message, number):
    return [fields(m) for m in message.get(number, [])]


def packed(message, number):
    out = []
    for value in message.get(number, []):
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            v, at = varint(value, at)
            out.append(v)
    return out


def otlp(data):
    top = fields(data)
    table = fields(one(top, 2, b""))
    text = [s.decode() for s in table[5]]
    mappings, locations, functions, stacks = (sub(table, n) for n in (1, 2, 3, 7))
    links, attributes = sub(table, 4), sub(table, 6)
    for rows in (mappings, locations, functions, stacks, attributes):
        assert rows[0] == {}, "every table begins with an empty row"
    assert links[0] == {1: [bytes(16)], 2: [bytes(8)]}, "the first link means none: ids of full length"
    links = [[link[1][0].hex(), link[2][0].hex()] for link in links]
    assert text[0] == ""

    def attribute(i):
        row = attributes[i]
        value = fields(row[2][0])
        return text[one(row, 1)], value[1][0].decode() if 1 in value else one(value, 3)

    def frames(stack):
        out = []
        for i in packed(stacks[stack], 1):
            mapping = mappings[one(locations[i], 1)]
            if one(locations[i], 1):
                assert one(mapping, 1) <= one(locations[i], 2) < one(mapping, 2)
            out += [text[one(functions[one(line, 1)], 1)] for line in sub(locations[i], 3)]
        return out

    profiles = []
    for resource in sub(top, 1):
        for scope in sub(resource, 2):
            for p in sub(scope, 2):
                kind = fields(p[1][0])
                profiles.append({
                    "type": text[one(kind, 1)], "unit": text[one(kind, 2)], "time": one(p, 3),
                    "samples": [{"value": sum(packed(s, 4)), "chain": frames(one(s, 1)),
                                 **({"link": links[one(s, 3)]} if one(s, 3) else {}),
                                 **dict(attribute(i) for i in packed(s, 2))} for s in sub(p, 2)]})
    return {"profiles": profiles, "functions": [text[one(f, 1)] for f in functions],
            "build_ids": [attribute(i)[1] for m in mappings for i in packed(m, 5)],
            "frame_types": sorted({attribute(i)[1] for row in locations for i in packed(row, 4)})}


def perfetto(data):
    out = {"samples": [], "threads": [], "processes": [], "clocks": []}
    state = {}
    for packet in sub(fields(data), 1):
        seq = one(packet, 10)
        if one(packet, 13) & 1:
            state[seq] = {n: {} for n in (5, 6, 7, 16, 17, 18, 19)}
        if 12 in packet:
            for number, rows in fields(packet[12][0]).items():
                for row in rows:
                    m = fields(row)
                    assert m[1][0] and m[1][0] not in state[seq][number]
                    state[seq][number][m[1][0]] = m
        if 59 in packet:
            base = fields(fields(fields(packet[59][0])[12][0])[1][0])
            state[seq]["event"] = base[10][0].decode()
        for tree in sub(packet, 2):
            out["processes"] += [[one(p, 1), p[3][0].decode()] for p in sub(tree, 1)]
            out["threads"] += [[one(t, 1), one(t, 3), t[2][0].decode()] for t in sub(tree, 2)]
        for clocks in sub(packet, 6):
            out["clocks"] += [[one(c, 1), one(c, 2)] for c in sub(clocks, 1)]
        for sample in sub(packet, 66):
            assert one(packet, 13) & 2
            s = state[seq]
            chain = []
            for i in packed(s[7][one(sample, 4)], 2):
                frame = s[6][i]
                if 3 in frame:
                    mapping = s[19][frame[3][0]]
                    assert mapping[2][0] in s[16] and mapping[7][0] in s[17] and 4 in frame
                assert 5 not in frame or frame[5][0] in s[18]
                chain.append(s[5][frame[2][0]][2][0].decode())
            out["samples"].append({"event": s["event"], "ts": packet[8][0], "cpu": one(sample, 1),
                                   "pid": one(sample, 2), "tid": one(sample, 3), "chain": chain[::-1]})
    return out


def slices(data):
    """TrackEvents: how many slices, how many of them are left open, names; per track they nest."""
    open_on, names, processes, n, last = {}, set(), [], 0, {}
    for packet in map(fields, fields(data)[1]):
        for track in map(fields, packet.get(60, [])):
            processes += [one(p, 6).decode() for p in map(fields, track.get(3, []))]
        for event in map(fields, packet.get(11, [])):
            track, kind, time = one(event, 11), one(event, 9), one(packet, 8)
            if 23 in event:
                names.add(one(event, 23).decode())
            if kind == 3:
                continue
            assert time >= last.get(track, 0)
            last[track] = time
            open_on[track] = open_on.get(track, 0) + (1 if kind == 1 else -1)
            assert open_on[track] >= 0
            n += kind == 1
    return {"slices": n, "open": sum(open_on.values()), "names": sorted(names), "processes": processes}


with open(sys.argv[2], "rb") as f:
    json.dump({"otlp": otlp, "perfetto": perfetto, "slices": slices}[sys.argv[1]](f.read()), sys.stdout)
