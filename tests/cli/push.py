#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bodies of requests by which clients push profiles, to standard output.

push.py form FILE                       multipart/form-data as of Pyroscope's clients; the profile is behind another part
push.py request SERVICE FILE [...]      a PushRequest with a series for each SERVICE and FILE
push.py otlp KIND                       an OTLP request of three samples; KIND: v1.9, older, v1.10, unsure, or empty without them
push.py events PREFIX N                 a pprof profile of one sample with N events, whose names begin with PREFIX
The numbers of fields are those of push.proto and profiles.proto, which this program does not read.
"""
import struct
import sys


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def form(path):
    parts = [("sample_type_config", "profile", b"{}"), ("profile", "profile.pprof", open(path, "rb").read())]
    for name, file, content in parts:
        yield f'--4e1b\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\n\r\n'.encode() + content + b"\r\n"
    yield b"--4e1b--\r\n"


def request(words):
    for service, path in zip(words[::2], words[1::2]):
        labels = field(1, field(1, "region") + field(2, f"eu-{service}")) + field(1, field(1, "__name__") + field(2, "process_cpu")) + field(1, field(1, "service_name") + field(2, service))
        yield field(1, labels + field(2, field(1, open(path, "rb").read()) + field(2, "an id")))


def packed(*numbers):
    return b"".join(map(varint, numbers))


def events(prefix, n):
    strings = ["", "count", "work"] + [f"{prefix}{i}" for i in range(n)]
    yield b"".join(field(1, field(1, 3 + i) + field(2, 1)) for i in range(n))
    yield field(2, field(1, packed(1)) + field(2, packed(*[1] * n)))
    yield field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 2))
    yield b"".join(field(6, text) for text in strings)


SAMPLES = {
    "v1.10": field(1, 1) + field(2, packed(1, 2)) + field(4, packed(5)),
    "v1.9": field(1, 1) + field(2, packed(5)) + field(3, packed(1)) + field(4, 1),
    "older": field(2, 1) + field(3, packed(5)),
    "unsure": field(1, 1) + field(2, packed(1)),
}


def otlp(kind):
    strings = ["", "cpu", "nanoseconds", "process.pid", "work", "a.c", "samples", "count", "endpoint", "/api"]
    attribute = field(1, 3) + field(2, field(3, 77))
    dictionary = b"".join([
        field(2, b""), field(2, field(3, field(1, 1) + field(2, 7))), field(3, b""), field(3, field(1, 4) + field(3, 5)),
        *(field(5, text) for text in strings), field(6, b""), field(6, attribute), field(6, field(1, 8) + field(2, field(1, "/api"))), field(7, b""), field(7, field(1, packed(1)))])
    # Ten milliseconds each.
    types = field(1, field(1, 6) + field(2, 7)) + field(5, field(1, 1) + field(2, 2)) + field(6, 10000000)
    time = varint(3 << 3 | 1) + struct.pack("<Q", int(__import__("time").time() * 1e9))
    samples = field(2, SAMPLES[kind]) * 3 if kind != "empty" else b""
    profile = types + samples + time
    resource = field(1, field(1, "service.name") + field(2, field(1, "shop"))) + field(1, field(1, "deployment.environment") + field(2, field(1, "test")))
    return field(1, field(1, resource) + field(2, field(2, profile))) + field(2, dictionary)


def main():
    command, *words = sys.argv[1:]
    out = {"form": lambda: b"".join(form(*words)), "request": lambda: b"".join(request(words)), "otlp": lambda: otlp(*words), "events": lambda: b"".join(events(words[0], int(words[1])))}[command]()
    sys.stdout.buffer.write(out)


main()
