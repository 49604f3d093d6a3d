# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine and the folders that the tests run on."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Seconds that the three measured parts take on an idle machine of 2024 with two cores and an SSD.
# The exact values do not matter: the deadline is hundreds of times longer than the waits are there.
USUAL_S = {"cpu": 0.045, "processes": 0.05, "disk": 0.02}
LEAST_DEADLINE_S = 120
MOST_DEADLINE_S = 900
ROOM_MB = 800  # in TMPDIR: what the tests keep there at once, twice


def cpus():
    """The CPUs that this process may use, not those of the machine."""
    return len(os.sched_getaffinity(0))


def cpu_loop():
    total = 0
    for i in range(1_000_000):
        total += i
    return total


def start_processes():
    for _ in range(40):
        subprocess.run(["true"], check=True)


def write_to_disk(folder):
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(10):
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())


class Place:
    """Where things are, and how slow the machine is at present."""

    def __init__(self):
        self.root = ROOT
        self.temporary = pathlib.Path(tempfile.gettempdir())
        self.builds = self._folder_of_builds()
        self.slowness = 1.0
        self.deadline_s = LEAST_DEADLINE_S

    def _folder_of_builds(self):
        if os.environ.get("ASSAY_CHECK_DIR"):
            return pathlib.Path(os.environ["ASSAY_CHECK_DIR"]).resolve()
        if os.access(ROOT, os.W_OK):
            return ROOT
        name = "assay-check-" + hashlib.sha256(f"{ROOT} {os.getuid()}".encode()).hexdigest()[:12]
        return self.temporary / name

    def missing_room(self):
        """What the tests lack before they can start, or None."""
        for folder, megabytes in ((self.temporary, ROOM_MB), (self.builds, 10)):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder) as probe:
                    probe.write(b"x" * 65536)
                    probe.flush()
                free = shutil.disk_usage(folder).free >> 20
            except OSError as error:
                return f"cannot write to {folder}: {error.strerror}"
            if free < megabytes:
                return f"{folder} has {free} MB free; the tests need {megabytes} MB (set TMPDIR to another folder)"
        return None

    def measure(self):
        """Sets the deadline that all waits of the tests share: a slow machine gets more time."""
        ratios = []
        for name, part in (("cpu", cpu_loop), ("processes", start_processes),
                           ("disk", lambda: write_to_disk(self.builds))):
            start = time.monotonic()
            part()
            ratios.append((time.monotonic() - start) / USUAL_S[name])
        self.slowness = max(1.0, *ratios)
        self.deadline_s = int(min(MOST_DEADLINE_S, LEAST_DEADLINE_S * max(1.0, self.slowness / 2)))
