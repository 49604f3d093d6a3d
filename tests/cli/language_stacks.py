#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the stacks of tests/programs/lang/golden.py with those that it must have.

language_stacks.py SPEEDSCOPE [--plain]

SPEEDSCOPE is an export of its samples. Only frames of the program's files count. Each stack with a function
spin_… must be the only path to it. --plain: the version of Python has no qualified names. Prints the errors,
or the number of right stacks.
"""
import collections
import json
import os
import sys

EVERYTHING = ["<module>", "everything"]
PATHS = {
    "spin_callback": EVERYTHING + ["callback", "spin_callback"],
    "Shape.spin_method": EVERYTHING + ["Shape.area", "Shape.spin_method"],
    "closure.<locals>.inner.<locals>.spin_closure":
        EVERYTHING + ["closure", "closure.<locals>.inner", "closure.<locals>.inner.<locals>.spin_closure"],
    "spin_deep": EVERYTHING + ["recursion"] * 100 + ["spin_deep"],
    "spin_handler": EVERYTHING + ["exception", "spin_handler"],
    "spin_finally": EVERYTHING + ["exception", "spin_finally"],
    "spin_generator": EVERYTHING + ["generators", "generator", "spin_generator"],
    "spin_eval": EVERYTHING + ["evaluated", "<module>", "spin_eval"],
    "spin_thread": ["Thread._bootstrap", "Thread._bootstrap_inner", "Worker.run", "spin_thread"],
}
FILES = ("golden.py", "threading.py", "<string>")
LEAST_RIGHT = 0.99
LEAST_SAMPLES = 5


def stacks(profile):
    frames = profile["shared"]["frames"]
    for part in profile["profiles"]:
        for sample, weight in zip(part["samples"], part["weights"]):
            own = [frames[i]["name"] for i in sample if os.path.basename(frames[i].get("file", "")) in FILES]
            yield own, weight


def main():
    is_plain = "--plain" in sys.argv

    def plain(name):
        return name.rpartition(".")[2] if is_plain else name

    paths = {plain(end): [plain(name) for name in path] for end, path in PATHS.items()}
    right, wrong = collections.Counter(), collections.Counter()
    with open(sys.argv[1], encoding="utf-8") as file:
        profile = json.load(file)
    for own, weight in stacks(profile):
        end = next((name for name in reversed(own) if name in paths), None)
        if not end:
            continue
        if own in (paths[end], paths[end] + ["spin"]):
            right[end] += weight
        else:
            wrong[" > ".join(own)] += weight
    lacking = [end for end in paths if right[end] < LEAST_SAMPLES]
    n_right, n_wrong = sum(right.values()), sum(wrong.values())
    for stack, weight in wrong.most_common(5):
        print(f"wrong, {weight} times: {stack}")
    for end in lacking:
        print(f"{right[end]} right stacks of {end}")
    print(f"{n_right} right, {n_wrong} wrong")
    return 1 if lacking or n_right < LEAST_RIGHT * (n_right + n_wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
