# SPDX-License-Identifier: GPL-2.0-or-later
"""A program with a thousand small libraries, each with its own build id."""

import pathlib
import re
import subprocess

from harness import Unavailable

COUNT = 1000
SOURCE = """\
#define FUNCTION(n) int helper_##n(int x) {{ return x * n; }}
{helpers}
void work(void) {{ for (volatile int i = 0; i < 10000; i++); }}
"""


def make_libraries(folder):
    """Their paths: copies of one library that differ in their build id."""
    folder = pathlib.Path(folder)
    folder.mkdir()
    source, first = folder / "library.c", folder / "library.so"
    source.write_text(SOURCE.format(helpers="\n".join(f"FUNCTION({n})" for n in range(1, 100))))
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-Wl,--build-id", "-o", first, source], check=True)
    text = subprocess.run(["readelf", "-n", first], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", text)
    if not found:
        raise Unavailable("the linker writes no build id")
    ours, program = bytes.fromhex(found.group(1)), first.read_bytes()
    paths = []
    for i in range(COUNT):
        path = folder / f"lib{i}.so"
        path.write_bytes(program.replace(ours, i.to_bytes(4, "big") + ours[4:]))
        paths.append(str(path))
    return paths
