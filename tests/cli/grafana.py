#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks `assay serve` as Grafana's data source for Pyroscope does: messages of protocol buffers, by the Connect protocol.

grafana.py ADDRESS COOKIE METHOD [FIELD=VALUE...]   the fields of the answer, a line each
A field is NUMBER=TEXT, NUMBER:=INTEGER or NUMBER/=DOUBLE. Numbers are those of querier.proto and types.proto of Pyroscope, which this
program does not read: it is an independent reading of the wire format.
"""
import http.client
import struct
import sys


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def encode(fields):
    out = b""
    for field in fields:
        name, value = field.split("=", 1)
        if name.endswith(":"):
            out += varint(int(name[:-1]) << 3) + varint(int(value))
        elif name.endswith("/"):
            out += varint(int(name[:-1]) << 3 | 1) + struct.pack("<d", float(value))
        else:
            out += varint(int(name) << 3 | 2) + varint(len(value.encode())) + value.encode()
    return out


def read_varint(data, at):
    n = shift = 0
    while True:
        n |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return n, at


def decode(data):
    """[(number, value)]: bytes, integers and doubles."""
    at, fields = 0, []
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        else:
            n, at = read_varint(data, at)
            value, at = data[at:at + n], at + n
        fields.append((key >> 3, value))
    return fields


def all_of(fields, number):
    return [value for n, value in fields if n == number]


def first(fields, number, other=b""):
    return (all_of(fields, number) or [other])[0]


def packed(data):
    at, numbers = 0, []
    while at < len(data):
        n, at = read_varint(data, at)
        numbers.append(n)
    return numbers


def show(method, fields):
    if method == "ProfileTypes":
        for one in map(decode, all_of(fields, 1)):
            print(" ".join(first(one, n).decode() for n in (1, 2, 4, 5, 6, 7)))
    elif method in ("LabelNames", "LabelValues"):
        for name in all_of(fields, 1):
            print(name.decode())
    elif method == "SelectSeries":
        for one in map(decode, all_of(fields, 1)):
            labels = [tuple(first(pair, n).decode() for n in (1, 2)) for pair in map(decode, all_of(one, 1))]
            points = [(first(point, 2, 0), first(point, 1, 0.0)) for point in map(decode, all_of(one, 2))]
            print(labels, points[0][0], len(points), f"{sum(value for _, value in points):.0f}")
    else:
        graph = decode(first(fields, 1))
        names, total = [name.decode() for name in all_of(graph, 1)], first(graph, 3, 0)
        selfs, above = {}, [(0, total)]
        for level in (packed(first(decode(level), 1)) for level in all_of(graph, 2)):
            at, boxes = 0, []
            for offset, size, own, name in zip(*[iter(level)] * 4):
                at += offset
                assert any(begin <= at and at + size <= end for begin, end in above), "a box is not below another one"
                selfs[names[name]] = selfs.get(names[name], 0) + own
                boxes.append((at, at + size))
                at += size
            above = boxes
        assert sum(selfs.values()) == total, (sum(selfs.values()), total)
        for name in sorted(selfs, key=lambda name: -selfs[name])[:5]:
            print(name, selfs[name])
        print("total", total)


def main():
    address, cookie, method, *fields = sys.argv[1:]
    connection = http.client.HTTPConnection(address)
    connection.request("POST", f"/querier.v1.QuerierService/{method}", encode(fields),
                       {"Cookie": cookie, "Content-Type": "application/proto", "Connect-Protocol-Version": "1"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        print(answer.status, body.decode())
    else:
        assert answer.getheader("Content-Type") == "application/proto"
        show(method, decode(body))


main()
