#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""opreport of assay against the original, over random sessions and option sets.

compare_oprofile.py [-n CASES] [--seed N] [--kinds A,B] [-v] ASSAY_FOLDER ORIGINAL_OPREPORT

ASSAY_FOLDER has the link opreport to assay.  The last lines count equal cases, listed differences
(docs/oprofile.md, "Differences") by their name, and others.  Status 1: there were others.
"""

import argparse
import collections
import difflib
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "tools"))
import opsessions  # noqa: E402


def run(program, args, folder, tables):
    done = subprocess.run([program, *args], cwd=folder, capture_output=True, text=True, errors="replace", env=dict(os.environ, HOME=folder, OPROFILE_EVENTS_DIR=tables))
    return done.returncode, done.stdout, done.stderr


def listed(args, theirs, ours):
    """The name of the listed difference that explains this one, or None."""
    if theirs[0] == 1 and "Already displaying results" in theirs[2] and ours[0] == 0:
        return "several axes"
    if "-X" in args and ours[0] == 0 and (theirs[0] != 0 or not theirs[1].rstrip().endswith("</profile>")):
        return "the original breaks off its XML"
    if re.search(' [pt]id=""', theirs[1]):
        return "XML of merged threads, which the original's own schema refuses"
    if 'cpu="all"' in theirs[1] or ("separatedcpus" in ours[1] and re.search(r'<class name="c[0-9]+"(?! cpu)', ours[1])):
        return "XML of samples with and without a processor, which the original counts on processor 0"
    events = re.findall(r'eventname="([^"]*)"', ours[1])
    if len(set(events)) < len(events):
        return "XML of one event with two counts or masks, which the original counts in one class"
    if "Unknown event" in theirs[2] + theirs[1] or set(re.findall(r'<class [^>]*event="([0-9]+)"', theirs[1])) - set(re.findall(r'<eventsetup +id="([0-9]+)"', theirs[1])):
        if is_xml(theirs[1]) and is_xml(ours[1]):
            return "XML of unknown events, which the original leaves out"
    if theirs[0] == 1 and "sample file parsed twice" in theirs[2] and ours[0] == 0:
        return "sessions add up"
    return None


def is_by_names(args):
    return any(args[i - 1] in ("-i", "-e") and args[i] in ("hidden", "_ZN2ns4overEi") for i in range(1, len(args)))


def with_mangled_names(args):
    """The original compares mangled names with samples, and the printed ones with arcs. These options have one name for both."""
    out = ["_ZL6hiddeni" if i and word == "hidden" and args[i - 1] in ("-i", "-e") else word for i, word in enumerate(args)]
    return out + ["-D", "none"]


def numbers_of(line, has_address, is_accumulated):
    """An arc's counts and shares by class, its running sums, and the rest of its line."""
    words = line.split()
    rest = words[1:] if has_address else words
    n = 0
    while n < len(rest) and re.fullmatch(r"[0-9.]+(e-[0-9]+)?", rest[n]):
        n += 1
    n -= n % (4 if is_accumulated else 2)
    is_sum = [is_accumulated and i % 4 in (1, 3) for i in range(n)]  # count, running sum, share, running share
    own = [word for word, of_sum in zip(rest, is_sum) if not of_sum]
    sums = [word for word, of_sum in zip(rest, is_sum) if of_sum]
    return own, sums, words[:1] * has_address + rest[n:]


def order_equal_arcs(lines, args):
    """In a block of a call graph, callers or callees of one weight come in no order; running sums depend on the order."""
    has_address, is_accumulated = "-w" in args, "-a" in args
    run, out = [], []
    for line in lines + [""]:
        numbers = numbers_of(line, has_address, is_accumulated) if line.startswith("  ") else None
        weight = numbers[0][:1] if numbers else None
        if run and (weight is None or run[0][0][:1] != weight):
            last = run[-1][1]  # the sum behind all of them
            out += ["  %s %s %s" % (own, sums if len(run) == 1 else "", rest) for own, sums, rest in sorted(run, key=lambda x: (x[2], x[0]))]
            out.append("  %s" % last)
            run = []
        if numbers is None:
            out.append(line)
        else:
            run.append(numbers)
    return out[:-1]


def threshold(args):
    """Percent, or 0."""
    return float(args[args.index("-t") + 1]) if "-t" in args else 0


def are_all_small(counts, percent):
    """Listed: callers of which none reaches the threshold are all shown by the original."""
    return percent and all(100 * n < percent * sum(counts) or not sum(counts) for n in counts)


def drop_small_callers(lines, args):
    percent, out, callers, is_before = threshold(args), [], [], False
    for line in lines:
        if is_before and line.startswith("  "):
            callers.append(line)
            continue
        if is_before and not are_all_small([int(numbers_of(c, "-w" in args, "-a" in args)[0][0]) for c in callers], percent):
            out += callers
        callers, is_before = [], line.startswith("-----")
        out.append(line)
    return out


def hide_anonymous_addresses(text):
    lines, is_anonymous = [], False
    for line in text.split("\n"):
        if not line.startswith("  "):
            is_anonymous = "(tgid:" in line
            lines.append(re.sub(r"^0*", "", line))
        else:
            lines.append(re.sub(r"^ *[0-9a-f]+", "", line) if is_anonymous else re.sub(r"^ *0*", "", line))
    return "\n".join(lines)


def xml_counts(element, classes):
    sums = collections.Counter()
    for count in element.findall("count"):
        sums[classes.get(count.get("class"), count.get("class") or None)] += int(count.text)
    return sorted(sums.items(), key=repr)


def first_count(symbol):
    return sum(int(count.text) for count in symbol.findall("count") if count.get("class") in (None, "c0"))


def xml_side(element, symbols, classes, percent):
    """Callers or callees, as a set: equal weights have no order."""
    found = []
    if element.tag == "callers" and are_all_small([first_count(symbol) for symbol in element.iter("symbol")], percent):
        return found
    for symbol in element.iter("symbol"):
        found.append((symbols[symbol.get("idref")], symbol.get("self"), xml_counts(symbol, classes)))
    return sorted(found, key=repr)


def xml_lines(text, percent):
    """A document as lines that do not depend on blanks, numbers of symbols and the order of attributes."""
    root = xml.etree.ElementTree.fromstring(text)
    classes = {c.get("name"): tuple(c.get(n) for n in ("cpu", "event", "mask")) for c in root.iter("class")}
    symbols = {s.get("id"): "%s %s %s %s" % (s.get("name"), (s.get("startingaddr") or "").lstrip("0"), s.get("file"), s.get("line")) for s in root.iter("symboldata")}
    lines = ["%s=%s" % (k, v) for k, v in sorted(root.attrib.items()) if k != "title"]
    lines += ["%s=%s" % (k, v) for k, v in sorted(root.find("options").attrib.items())]
    lines += ["event %s" % sorted(e.attrib.items()) for e in root.iter("eventsetup")]
    lines += ["class %s" % sorted(c.attrib.items()) for c in root.iter("class")]

    def walk(element, depth):
        for e in element:
            if e.tag in ("process", "thread", "binary", "module"):
                lines.append("%s%s %s %s" % (" " * depth, e.tag, sorted(e.attrib.items()), xml_counts(e, classes)))
                walk(e, depth + 1)
            elif e.tag == "symbol":
                lines.append("%s%s %s" % (" " * depth, symbols[e.get("idref")], xml_counts(e, classes)))
                for side in ("callers", "callees"):
                    if e.find(side) is not None:
                        lines.append("%s %s %s" % (" " * depth, side, xml_side(e.find(side), symbols, classes, percent)))
    walk(root, 0)
    details = []
    for d in root.iter("symboldetails"):
        for x in d.iter("detaildata"):
            # Listed: the addresses below unnamed anonymous memory are absolute, and so may have more digits.
            address = "" if "(tgid:" in symbols[d.get("id")] else (x.get("vmaoffset") or "").lstrip("0")
            details.append("%s: %s %s %s %s" % (symbols[d.get("id")], address, x.get("file"), x.get("line"), xml_counts(x, classes)))
    # Listed: the padding behind a function (nops, and a rest of one) is the function's for the original.
    code = [(symbols[b.get("id")], re.sub("(?<=C3)(90|66|2E|0F1F[0-9A-F]*|00)*$", "", b.text.strip())) for b in root.iter("bytes")]
    lines += sorted(details) + sorted("%s: %s" % row for row in code)
    return "\n".join(lines).replace("'all'", "'-1'")  # the schema wants a number


def is_xml(text):
    return text.startswith("<?xml") and text.rstrip().endswith("</profile>")


def normal(text, args):
    if is_xml(text):
        return xml_lines(text, threshold(args))
    # Listed: the addresses below unnamed anonymous memory are absolute.
    if "-d" in args and "-X" not in args:
        text = hide_anonymous_addresses(text)
    # Listed: merged unit masks are those of all applications.
    if re.search("--merge=[^ ]*(unitmask|all)", " ".join(args)):
        text = re.sub(r"with a unit mask of 0x[0-9a-f]+ \([^)]*\)", "with a unit mask", text)
    # Listed: an unknown event has its name.
    text = re.sub(r"^(Unknown event|Counted \S+ events \(Unknown event\).*)$", "Unknown event", text, flags=re.M)
    return "\n".join(order_equal_arcs(drop_small_callers(text.split("\n"), args), args)) if "-c" in args and "-X" not in args else text


def show(kind, seed, args, theirs, ours, limit):
    print("--- %s %s: opreport %s" % (kind, seed, " ".join(args)))
    print("status: original %d, assay %d" % (theirs[0], ours[0]))
    if theirs[0] != ours[0]:
        print("  original: " + theirs[2].strip()[:300] + "\n  assay: " + ours[2].strip()[:300])
    texts = [normal(side[1], args) if is_xml(side[1]) else side[1] for side in (theirs, ours)]
    lines = list(difflib.unified_diff(texts[0].splitlines(), texts[1].splitlines(), "original", "assay", lineterm="", n=1))
    print("\n".join(line[:200] for line in lines[:limit]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("-n", type=int, default=150)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--kinds", default=",".join(opsessions.KINDS))
    p.add_argument("-v", action="store_true", help="show all differences")
    p.add_argument("--lines", type=int, default=24, help="lines of each difference")
    p.add_argument("--keep", help="a folder for sessions and programs that stays")
    p.add_argument("assay")
    p.add_argument("original")
    a = p.parse_args()
    kinds = a.kinds.split(",")
    sums = collections.Counter()
    # Both read the original's tables of events: descriptions are not what is compared.
    tables = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(a.original))), "share", "oprofile")
    with tempfile.TemporaryDirectory() as temporary:
        top = os.path.realpath(a.keep or temporary)
        programs = opsessions.Programs(os.path.join(top, "bin"))
        for i in range(a.n):
            kind, seed = kinds[i % len(kinds)], a.seed + i // len(kinds)
            session = os.path.join(top, "oprofile_data")
            made = opsessions.make(kind, seed, session, programs)
            args = opsessions.options(kind, seed, made, programs)
            theirs = run(a.original, args, top, tables)
            ours = run(os.path.join(a.assay, "opreport"), args, top, tables)
            name = listed(args, theirs, ours)
            if not name and is_by_names(args) and normal(theirs[1], args) != normal(ours[1], args):
                args = with_mangled_names(args)
                theirs = run(a.original, args, top, tables)
                ours = run(os.path.join(a.assay, "opreport"), args, top, tables)
                if normal(theirs[1], args) == normal(ours[1], args):
                    name = "names of C++ functions, mangled or not"
            if not name and theirs[0] == ours[0] and normal(theirs[1], args) == normal(ours[1], args):
                sums["equal"] += 1
                continue
            sums[name or "other"] += 1
            sums["other: " + kind] += not name
            if not name and (a.v or sums["other"] <= 10):
                show(kind, seed, args, theirs, ours, a.lines)
    for name, n in sorted(sums.items()):
        if n:
            print("%6d %s" % (n, name))
    sys.exit(1 if sums["other"] else 0)


if __name__ == "__main__":
    main()
