#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The timeline of a page: page_steps.py PAGE prints its step in seconds, and the samples of each step with any."""
import base64
import json
import re
import sys
import zlib


def payload(page, name):
    return zlib.decompress(base64.b64decode(re.search(rf'id="{name}">([^<]*)<', page)[1]))


def ulebs(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


page = open(sys.argv[1], encoding="utf-8").read()
data = payload(page, "data")
numbers = ulebs(data)
size = next(numbers)
at = next(i for i, byte in enumerate(data) if byte < 128) + 1
head = json.loads(data[at:at + size])
times = ulebs(payload(page, "times"))
print(head["timeline"]["width_seconds"])
steps, bucket = [], 0
for _ in range(head["lanes"][0]["own"]["buckets"]):
    bucket += next(times)
    steps.append((bucket, next(times)))
for _, n in steps:
    for _ in range(n):
        next(times)
for bucket, n in steps:
    print(bucket, sum(next(times) for _ in range(n)))
