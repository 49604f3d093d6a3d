# SPDX-License-Identifier: GPL-2.0-or-later
"""Intel PT's packet layer alone beside libipt's packet decoder: bytes a second, one core."""

import subprocess

from harness import Part, Unavailable, ratios, spread, table

DATA = {"dense": "TNTs, another packet after 200", "mixed": "TNTs, another packet after 24"}


def measure(bench, rounds):
    out = subprocess.run([bench.tool("pt_packets"), str(rounds)], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    speeds = {}
    for line in out.splitlines():
        data, who, speed = line.split()
        speeds.setdefault((data, who), []).append(float(speed))
    if ("dense", "libipt") not in speeds:
        raise Unavailable("libipt is not installed (Debian: libipt-dev)")
    rows = []
    for data, what in DATA.items():
        ours, theirs = speeds[(data, "assay")], speeds[(data, "libipt")]
        rows.append([what, spread(theirs, "{:.2f}"), spread(ours, "{:.2f}"),
                     spread(ratios(ours, theirs), "{:.1f}"),
                     "≥ 1 GB/s" if data == "dense" else ""])
    return table(["data", "libipt, GB/s", "assay, GB/s", "assay ÷ libipt", "to reach"], rows)


PARTS = {"pt-packets": Part("Intel PT packets a second", 5, measure)}
