#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The totals of `assay report -l` against a slow, obvious reading of the same sample files.

compare_samples.py MKOPFILE SESSION [IMAGE]

mkopfile's own reader reads every flat file below SESSION/samples/current. nm gives the addresses of the
image's symbols, and readelf gives its segments. An address that several symbols cover counts for all of their
names, of which the report has one. Addresses without a symbol are not compared. With IMAGE, only this image
is compared, because nm and the report spell names of C++ differently.
"""

import collections
import csv
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys

loader = importlib.machinery.SourceFileLoader("mkopfile", sys.argv[1])
mkopfile = importlib.util.module_from_spec(importlib.util.spec_from_loader("mkopfile", loader))
loader.exec_module(mkopfile)


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def segments(image):
    """(file offset, address, size) of the executable segments."""
    found = []
    for line in lines_of("readelf", "-lW", image):
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in line[line.index(words[5]) + len(words[5]):]:
            found.append(tuple(int(words[i], 16) for i in (1, 2, 4)))
    return found


def symbols(image):
    found = []
    for line in lines_of("nm", "-S", image):
        words = line.split()
        if len(words) == 4 and words[2] in "tTwWiuV":
            found.append((int(words[0], 16), int(words[1], 16), words[3]))
    return found


def names_at(image, offset, cache={}):
    if image not in cache:
        cache[image] = segments(image), symbols(image)
    for start, address, size in cache[image][0]:
        if start <= offset < start + size:
            at = offset - start + address
            return frozenset(name for value, n, name in cache[image][1] if value <= at < value + n)
    return frozenset()


def expected(session):
    totals = collections.Counter()
    root = os.path.join(session, "samples/current")
    for folder, _, files in os.walk(root):
        image = re.search(r"\{dep\}/\{root\}(/.*)$", folder)
        if "{cg}" in folder or not image or image.group(1) not in (sys.argv[3:] or [image.group(1)]):
            continue
        for name in files:
            _, _, nodes = mkopfile.unpack_file(open(os.path.join(folder, name), "rb").read())
            for key, count, _ in nodes:
                names = names_at(image.group(1), key)
                if names:
                    totals[image.group(1), names] += count
    return totals


def reported(session):
    totals = collections.Counter()
    out = subprocess.run(["assay", "report", "-i", session, "-l", "--idle", "--symbol-cache", "", "--format", "csv"],
                         capture_output=True, text=True, check=True).stdout
    for row in csv.DictReader(out.splitlines()):
        totals[row["image"], row["symbol"]] += int(row["samples"])
    return totals


def main():
    want, have = expected(sys.argv[2]), reported(sys.argv[2])
    for (image, names), count in want.items():
        got = sum(have[image, name] for name in names)
        # Sets may share names where symbols nest: then the sum is of all sets with that name.
        same = sum(n for (i, other), n in want.items() if i == image and other & names)
        if got not in (count, same):
            sys.exit(f"{image}: {'/'.join(sorted(names))}: {count} in the sample files, {got} in the report")
    print(len(want), sum(want.values()))
    if not want:
        sys.exit("nothing to compare")


main()
