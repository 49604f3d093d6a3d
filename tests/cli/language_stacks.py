#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the stacks of tests/programs/lang/golden.LANGUAGE with those that it must have.

language_stacks.py SPEEDSCOPE [--plain] [--unread=N] [LANGUAGE]

SPEEDSCOPE is an export of its samples. Only frames of the program's files count. Each stack with a function
spin_… must be the only path to it. LANGUAGE is py if none is named. --plain: the version of Python has no
qualified names, or that of PHP names closures alone. --unread: nearly all samples must have frames of the program.
For N of them, assay had not read a file yet. Prints the errors, or the number of right stacks.
"""
import collections
import json
import os
import sys

EVERYTHING = ["<module>", "everything"]
PYTHON = {
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
MAIN = ["<main>", "everything"]
PHP = {
    "spin_callback": MAIN + ["callback", "usort", "spin_callback"],
    "Shape::spin_method": MAIN + ["Shape::area", "Shape::spin_method"],
    "Shape::spin_static": MAIN + ["array_map", "Shape::spin_static"],
    "spin_closure": MAIN + ["closure", "{closure}", "{closure}", "spin_closure"],
    "spin_deep": MAIN + ["recursion"] * 100 + ["spin_deep"],
    "spin_handler": MAIN + ["exception", "spin_handler"],
    "spin_finally": MAIN + ["exception", "spin_finally"],
    "spin_generator": MAIN + ["generators", "generator", "spin_generator"],
    "spin_delegated": MAIN + ["delegations", "{closure}", "delegating", "delegated", "spin_delegated"],
    "spin_eval": MAIN + ["evaluated", "<main>", "spin_eval"],
    "spin_destructor": MAIN + ["destruction", "Destroyed::__destruct", "spin_destructor"],
}
RUBY = {
    "spin_callback": MAIN + ["callback", "sort_by", "each", "block in callback", "spin_callback"],
    "spin_method": MAIN + ["area", "spin_method"],
    "spin_closure": MAIN + ["closure", "block in closure", "block (2 levels) in closure", "spin_closure"],
    "spin_deep": MAIN + ["recursion"] * 100 + ["spin_deep"],
    "spin_handler": MAIN + ["exception", "rescue in exception", "spin_handler"],
    "spin_finally": MAIN + ["exception", "spin_finally"],
    "spin_generator": MAIN + ["generators", "generator", "times", "block in generator", "spin_generator"],
    "spin_eval": MAIN + ["evaluated", "eval", "evaluated", "spin_eval"],
    "spin_fiber": ["block in fiber", "spin_fiber"],
    "spin_defined": MAIN + ["then", "block in everything", "block in <main>", "spin_defined"],
    "spin_thread": ["block in <main>", "worker", "loop", "block in worker", "spin_thread"],
}
EVERY = ["<main>", "main::everything"]
PERL = {
    "main::spin_callback": EVERY + ["main::callback", "main::spin_callback"],
    "main::spin_compare": EVERY + ["main::compare", "main::spin_compare"],
    "Shape::spin_method": EVERY + ["Shape::area", "Shape::spin_method"],
    "main::spin_closure": EVERY + ["main::closure", "main::__ANON__", "main::__ANON__", "main::spin_closure"],
    "main::spin_deep": EVERY + ["main::recursion"] * 100 + ["main::spin_deep"],
    "main::spin_handler": EVERY + ["main::exception", "main::spin_handler"],
    "main::spin_eval": EVERY + ["main::evaluated", "(eval)", "main::spin_eval"],
    "main::spin_tied": EVERY + ["main::magic", "Tied::FETCH", "main::spin_tied"],
    "main::spin_destructor": EVERY + ["main::destruction", "Destroyed::DESTROY", "main::spin_destructor"],
}
ALL = ["golden.main", "golden.everything"]
JAVA = {
    "golden.spinCallback": ALL + ["golden.callback", "golden.spinCallback"],
    "golden.spinLambda": ALL + ["golden.lambda", "golden.lambda$lambda$0", "golden.spinLambda"],
    "golden$Square.spinMethod": ALL + ["golden.shapes", "golden$Square.area", "golden$Square.spinMethod"],
    "golden$Circle.spinOther": ALL + ["golden.shapes", "golden$Circle.area", "golden$Circle.spinOther"],
    "golden$Point.spinThird": ALL + ["golden.shapes", "golden$Point.area", "golden$Point.spinThird"],
    "golden.spinClosure": ALL + ["golden.closure", "golden.lambda$closure$2", "golden.lambda$closure$1", "golden.spinClosure"],
    "golden.spinDeep": ALL + ["golden.recursion"] * 100 + ["golden.spinDeep"],
    "golden.spinHandler": ALL + ["golden.exception", "golden.spinHandler"],
    "golden.spinFinally": ALL + ["golden.exception", "golden.spinFinally"],
    "golden.spinNative": ALL + ["golden.fromNative", "golden$Loader.loadClass", "golden.spinNative"],
    "golden.spinThread": ["golden$Worker.run", "golden.spinThread"],
}
TOP = ["(anonymous)", "everything"]
JAVASCRIPT = {
    "spinCallback": TOP + ["callback", "spinCallback"],
    "spinReviver": TOP + ["revive", "spinReviver"],
    "spinMethod": TOP + ["shapes", "area", "spinMethod"],
    "get spinGetter": TOP + ["shapes", "get spinGetter"],
    "spinStatic": TOP + ["shapes", "spinStatic"],
    "spinClosure": TOP + ["closure", "inner", "innermost", "spinClosure"],
    "spinDeep": TOP + ["recursion"] * 100 + ["spinDeep"],
    "spinHandler": TOP + ["exception", "spinHandler"],
    "spinFinally": TOP + ["exception", "spinFinally"],
    "spinGenerator": TOP + ["generators", "generator", "spinGenerator"],
    "spinEval": TOP + ["evaluated", "(anonymous)", "spinEval"],
    "spinThread": ["(anonymous)", "work", "spinThread"],
}
BEGIN = ["main.main", "main.everything"]
GO = {
    "main.spinCallback": BEGIN + ["main.callback", "main.callback.func1", "main.spinCallback"],
    "main.(*square).spinMethod": BEGIN + ["main.shapes", "main.(*square).area", "main.(*square).spinMethod"],
    "main.circle.spinOther": BEGIN + ["main.shapes", "main.circle.area", "main.circle.spinOther"],
    "main.spinClosure":
        BEGIN + ["main.closure", "main.inner.func1", "main.innermost.func1", "main.spinClosure"],
    "main.spinDeep": BEGIN + ["main.recursion"] * 100 + ["main.spinDeep"],
    "main.spinHandler": BEGIN + ["main.exception", "main.failing", "main.failing.func1", "main.spinHandler"],
    "main.spinFinally": BEGIN + ["main.exception", "main.spinFinally"],
    "main.spinThread": ["main.worker", "main.spinThread"],
}
PATHS = {"go": GO, "java": JAVA, "js": JAVASCRIPT, "py": PYTHON, "php": PHP, "rb": RUBY, "pl": PERL}
FILES = ("golden.", "threading.py", "<string>", "[php]", "[ruby]", "(eval", "<internal:")
LEAVES = ("spin", "main.spin", "main::spin", "crc32", "golden.spin")
LEAST_RIGHT = 0.99
LEAST_SAMPLES = 5
MOST_WITHOUT = 0.01
MOST_CUT = 0.15  # JavaScript: closures that the collector has moved have no names, mostly those of eval


def name_of(frame):
    # Since PHP 8.4, a closure's name has its place. Since Ruby 3.4, a method's name has its class.
    name = frame["name"]
    if os.path.basename(frame.get("file", "")).endswith(".rb"):
        name = name.replace("Object#", "").replace("Shape#", "")
    return "{closure}" if name.startswith("{closure:") else name


def is_cut(own, path):
    rest = iter(path + ["spin"])
    return all(name in rest for name in own)


def stacks(profile):
    frames = profile["shared"]["frames"]
    for part in profile["profiles"]:
        for sample, weight in zip(part["samples"], part["weights"]):
            own = [name_of(frames[i]) for i in sample
                   if os.path.basename(frames[i].get("file", "")).startswith(FILES)]
            yield own, weight


def most_without(n_samples):
    unread = [argument.partition("=")[2] for argument in sys.argv if argument.startswith("--unread=")]
    return int(unread[0]) + MOST_WITHOUT * n_samples if unread else n_samples


def main():
    is_plain = "--plain" in sys.argv
    language = sys.argv[-1] if sys.argv[-1] in PATHS else "py"

    def plain(name):
        return name.rpartition(".")[2] if is_plain else name

    paths = {plain(end): [plain(name) for name in path] for end, path in PATHS[language].items()}
    right, wrong, cut = collections.Counter(), collections.Counter(), collections.Counter()
    with open(sys.argv[1], encoding="utf-8") as file:
        profile = json.load(file)
    n_without = n_samples = 0
    for own, weight in stacks(profile):
        n_samples += weight
        n_without += 0 if own else weight
        end = next((name for name in reversed(own) if name in paths), None)
        if not end:
            continue
        if own[:-1] == paths[end] and own[-1] in LEAVES or own == paths[end]:
            right[end] += weight
        elif language == "js" and is_cut(own, paths[end]):
            cut[end] += weight
        else:
            wrong[" > ".join(own)] += weight
    lacking = [end for end in paths if right[end] + cut[end] < LEAST_SAMPLES]
    n_cut = sum(cut.values())
    n_right, n_wrong = sum(right.values()), sum(wrong.values())
    for stack, weight in wrong.most_common(5):
        print(f"wrong, {weight} times: {stack}")
    for end in lacking:
        print(f"{right[end]} right stacks of {end}")
    if n_without > most_without(n_samples):
        print(f"{n_without} of {n_samples} samples without frames of the program")
        return 1
    print(f"{n_right} right, {n_wrong} wrong" + (f", {n_cut} cut" if language == "js" else ""))
    return 1 if lacking or n_cut > MOST_CUT * n_right or n_right < LEAST_RIGHT * (n_right + n_wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
