# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of a processor trace, one after the other: they need no memory, however long the trace is."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import typing

from ._library import Error

Event = typing.Dict[str, typing.Any]

# What a caller asks for by name, and further fields of its events.
KINDS = {
    "calls": ("cr", "+addr,+flags,+callindent"),
    "branches": ("b", "+addr,+flags,+ipc"),
    "instructions": ("i1i", "+insn,+ipc"),
}


def trace(path: str, what: str = "branches", *options: str, program: str = "assay") -> typing.Iterator[Event]:
    """Decodes a recording of Intel PT: an iterator over its events in the order of time.

    `what` is "calls" (with returns), "branches", "instructions", or letters of --itrace. Each event is a dict of
    `assay script --format json`; an error in decoding has the key "error". Options are those of `assay script`:
    trace("perf.data", "calls", "--time", "1.5,1.6", "--tid", "12"), or trace("perf.data", "branches", "--filter",
    "from-symbol:main").

        for call in assay.trace("perf.data", "calls"):
            print(call["time_ns"], call["flags"], call["frames"][0].get("symbol"))
    """
    letters, fields = KINDS.get(what, (what, ""))
    command = [program, "script", "-i", os.fspath(path), f"--itrace={letters}e", "--format", "json"]
    command += (["-F", fields] if fields else []) + list(options)
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said) as child:
            assert child.stdout is not None
            try:
                for line in child.stdout:
                    yield json.loads(line.decode("utf-8", "surrogateescape"))
            finally:
                # Whoever stops early needs no more of it.
                child.stdout.close()
        if child.returncode:
            said.seek(0)
            raise Error(child.returncode, said.read().decode("utf-8", "replace").strip())
