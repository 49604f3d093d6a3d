#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines and inlined functions, against llvm-symbolizer and addr2line.

compare_lines.py LINES IMAGE N [SEED]: LINES is bench/lines; N random addresses of .text. Each must
be as one of the two has it: as a whole, or frame by frame. Known differences that are neither's
fault, and count as equal:

- A file without a line (code without debug information) is no file: the others give the file that
  the symbol table names.
- Where several symbols have one address (identical code folded by the linker), any of them.
- "./a", "a" and "b/../a" are one path.
- Where neither of them has a line: gcc leaves some cold code out of its unit's ranges, by which
  both find the unit first. Counted as "lines alone"; more than one in a hundred is a failure.

The peers of another system: COMPARE_PEER is a command in front of theirs (chroot), COMPARE_ROOT the root
whose files they see, COMPARE_SYMBOLIZER the name of llvm-symbolizer there. COMPARE_TWIN: a file with the same
code that the peers read in place of the image.

Prints how many were equal to which; exit status 1 if one was equal to none.
"""
import collections
import os
import random
import shlex
import subprocess
import sys


def text_section(image):
    out = subprocess.run(['readelf', '-SW', image], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        words = line.replace('[ ', '[').split()
        if len(words) > 5 and words[1] == '.text':
            return int(words[3], 16), int(words[5], 16)
    sys.exit(f'{image}: no .text')


def aliases(image):
    """Names that share an address with each name."""
    out = subprocess.run(['nm', image], capture_output=True, text=True, check=False).stdout
    at = collections.defaultdict(set)
    for line in out.splitlines():
        words = line.split()
        if len(words) == 3:
            at[words[0]].add(words[2])
    return {name: names for names in at.values() for name in names}


def frame(function, file, line):
    line = '0' if line == '?' else line
    return function, os.path.normpath(file) if line != '0' and file != '??' else '??', line


def symbolizer_blocks(text):
    blocks = []
    for block in text.split('\n\n'):
        lines = block.strip('\n').split('\n')
        if lines != ['']:
            blocks.append([frame(f, *p.rsplit(':', 2)[:2]) for f, p in zip(lines[0::2], lines[1::2])])
    return blocks


def addr2line_blocks(text):
    blocks, lines, i = [], text.split('\n'), 0
    while i < len(lines):
        if lines[i].startswith('0x'):
            blocks.append([])
            i += 1
        elif i + 1 < len(lines):
            blocks[-1].append(frame(lines[i], *lines[i + 1].split(' (disc')[0].rsplit(':', 1)))
            i += 2
        else:
            break
    return blocks


def by_frames(ours, others, alias):
    """Every function and every place is as one of the others has it."""
    peers = [o for o in others if len(o) == len(ours)]
    for i, (function, *place) in enumerate(ours):
        same = alias.get(function, {function})
        if not any(o[i][0] in same for o in peers) or not any(list(o[i][1:]) == place for o in peers):
            return False
    return bool(peers)


def main():
    tool, image, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
    random.seed(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    start, size = text_section(image)
    addresses = ''.join(f'{start + random.randrange(size):#x}\n' for _ in range(n))

    peer = shlex.split(os.environ.get('COMPARE_PEER', ''))
    twin = os.environ.get('COMPARE_TWIN', image)
    seen = twin.removeprefix(os.environ.get('COMPARE_ROOT', ''))
    symbolizer = os.environ.get('COMPARE_SYMBOLIZER', 'llvm-symbolizer')

    def run(*command):
        return subprocess.run(command, input=addresses, capture_output=True, text=True,
                              errors='replace', check=True).stdout

    ours = symbolizer_blocks(run(tool, image))
    llvm = symbolizer_blocks(run(*peer, symbolizer, '--no-demangle', '--inlines', '--obj=' + seen))
    gnu = addr2line_blocks(run(*peer, 'addr2line', '-afie', seen))
    assert len(ours) == len(llvm) == len(gnu) == n, (len(ours), len(llvm), len(gnu))
    alias, kinds = aliases(twin), collections.Counter()
    for address, o, x, y in zip(addresses.split(), ours, llvm, gnu):
        kind = ('both' if o == x == y else 'llvm-symbolizer' if o == x else 'addr2line' if o == y
                else 'frame by frame' if by_frames(o, (x, y), alias)
                else 'lines alone' if x[-1][2] == y[-1][2] == '0'
                else 'none')
        kinds[kind] += 1
        if kind == 'none' and kinds[kind] <= 5:
            print(f'{address}\n  ours {o}\n  llvm {x}\n  gnu  {y}')
    print(' '.join(f'{kind}: {count}' for kind, count in kinds.most_common()))
    sys.exit(1 if kinds['none'] or kinds['lines alone'] * 100 > n else 0)


if __name__ == '__main__':
    main()
