#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares assay's decoder with the expectations of libipt's test vectors.

    tests/pt/vectors.py make PTTC SOURCES FOLDER    makes FOLDER: PTTC is libipt's assembler of traces, which
                                                    needs yasm; SOURCES is libipt's test/src
    tests/pt/vectors.py BUILD FOLDER [NAME...]      compares, by BUILD/tests/pt/pt_raw

FOLDER gets a folder for each vector and processor: NAME or NAME@FAMILY-MODEL. The output is a line for each
difference, and the sums. The exit status is 1 if EXPECTED lacks a difference, or has one that is none.
"""
import glob
import os
import re
import subprocess
import sys

NO_LIST = "assay accepts an EVD that does not belong to its CFE"
ONE_ERROR = "assay reports one error for a row of addresses without code"
NO_WAY = "the instruction that the packet does not fit does not count as run"
RESERVED = "assay takes no time from a TMA with reserved bits, and goes on behind it"

# Differences, and their reasons. docs/intel-pt.md has the same list.
EXPECTED = {
    ("ptdump", "ptdump-trunc-resync"): "the next PSB begins inside of the packet that is none",
    ("ptdump", "skz84"): RESERVED,
    ("ptdump", "tma-reserved_ctc"): RESERVED,
    ("ptdump", "tma-reserved_fc"): RESERVED,
    ("ptxed", "bad_cpu"): "the message of a tool about its option",
    ("ptxed", "pip-pip_mov_cr3-fail"): "no branch follows, so assay neither shows the instructions nor their missing code",
    ("ptxed", "ptet-evd_cr2-cfe_iret"): NO_LIST,
    ("ptxed", "ptet-evd_cr2-evd_vmxq"): NO_LIST,
    ("ptxed", "ptet-evd_vmxq-cfe_intr"): NO_LIST,
    ("ptxed", "ptet-evd_vmxr-cfe_rsm"): NO_LIST,
    ("ptxed", "ptet-evd_vmxr-evd-cr2"): NO_LIST,
    ("ptxed", "ptet-vmexit-vmentry"): "at a VM entry, assay's trace of one machine ends and that of the other begins",
    ("ptxed", "ptxed-resync-bad_query-fup-tip"): NO_WAY,
    ("ptxed", "ptxed-resync-bad_query-ovf"): NO_WAY,
    ("ptxed", "ptxed-resync-bad_query-tip"): NO_WAY,
    ("ptxed", "ptxed-resync-nomap-fup-tip"): ONE_ERROR,
    ("ptxed", "ptxed-resync-nomap-mode_tsx-eos"): ONE_ERROR,
    ("ptxed", "ptxed-resync-nomap-mode_tsx-fup-tip"): "assay also reports that the code behind the abort cannot be read",
    ("ptxed", "ptxed-resync-nomap-mode_tsx-tip_pgd"): ONE_ERROR,
    ("ptxed", "ptxed-resync-nomap-tip"): ONE_ERROR,
    ("ptxed", "ptxed-resync-nomap-tip_pgd"): ONE_ERROR,
    ("ptxed", "ptxed-resync-nomap-tip_pge"): ONE_ERROR,
    ("ptxed", "ptxed-resync-psb-bad_status-psb"): "libipt reports the same error twice",
    ("ptxed", "tip_pgd_noip-mov_cr3"): "assay does not end a trace at MOV CR3; perf never filters by CR3",
}

TYPES = {"tip": "TIP", "tip.pge": "TIP.PGE", "tip.pgd": "TIP.PGD", "fup": "FUP"}
PLAIN = {"psb": "PSB", "psbend": "PSBEND", "pad": "PAD", "ovf": "OVF", "stop": "TraceSTOP"}
NUMBERS = {"tsc": "TSC", "cbr": "CBR", "mtc": "MTC", "cyc": "CYC", "mnt": "MNT", "vmcs": "VMCS"}
OTHERS = {"mwait": "MWAIT", "pwre": "PWRE", "pwrx": "PWRX", "evd": "EVD", "trig": "TRIG"}


def expected_packet(name, text):
    """What pt_raw prints for a packet: type, count, flag, payload; None for a part that is not compared."""
    words = text.replace(",", " ").split()
    if name in PLAIN:
        return PLAIN[name], None, None, None
    if name in TYPES:
        form = int(words[0].rstrip(":"))
        digits = words[1].replace("?", "")
        value = int(digits, 16) if digits else 0
        if form == 3:
            value &= (1 << 48) - 1
        return TYPES[name], form, None, value
    if name.startswith("tnt"):
        bits = words[0]
        number = sum(1 << (63 - i) for i, bit in enumerate(bits) if bit == "!")
        return "TNT", len(bits), None, number
    if name == "mode.exec":
        width = 64 if "cs.l" in words else 32 if "cs.d" in words else 16
        return "MODE.Exec", int("if" in words), None, width
    if name == "mode.tsx":
        return "MODE.TSX", None, None, ("intx" in words) + 2 * ("abrt" in words)
    if name == "pip":
        return "PIP", None, int("nr" in words), int(words[0], 16) >> 5
    if name == "tma":
        return "TMA", int(words[1], 16), None, int(words[0], 16)
    if name in NUMBERS:
        value = int(words[0], 16)
        return NUMBERS[name], None, None, value >> 12 if name == "vmcs" else value
    if name == "exstop":
        return "EXSTOP", None, int("ip" in words), None
    if name == "ptw":
        return "PTWRITE", None, int("ip" in words), int(words[1], 16)
    if name == "cfe":
        return "CFE", None, int("ip" in words), None
    if name in OTHERS:
        return OTHERS[name], None, None, None
    return None


class Failed(Exception):
    """assay's decoder did not end well, which no vector may expect."""


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True, errors="replace", check=False, timeout=60)
    if done.returncode:
        raise Failed(f"exit {done.returncode} {done.stderr.strip()}")
    return done.stdout.splitlines()


def same_packet(wanted, words):
    found = [words[0], int(words[1], 16), int(words[2]), int(words[3], 16)]
    return all(w is None or w == f for w, f in zip(wanted, found))


def cpu_of(folder):
    cpu = re.search(r"@(\d+)-(\d+)", folder)
    return f"{cpu.group(1)},{cpu.group(2)},0" if cpu else "0,0,0"


def compare_packets(raw, folder, expectation, options):
    """The first difference, or None."""
    trace = glob.glob(f"{folder}/*.pt")[0]
    args = [cpu_of(folder)] + (["--no-sync"] if "--no-sync" in options else [])
    found = run(raw, "packets", trace, *args)
    if "--no-cyc" in options:
        found = [line for line in found if " CYC " not in line]
    found = iter(found)
    for line in open(expectation, encoding="utf-8"):
        line = line.rstrip()
        if "--raw" in options:
            line = line.split(None, 1)[-1]
        if "error decoding packet" in line:
            got = next(found, "nothing")
            if not got.endswith("error"):
                return f"wanted {line!r}, found {got!r}"
        match = re.match(r"(?:([0-9a-f]{16})\s+)?([a-z][a-z.0-9]*|<[a-z]+>)(.*)", line)
        if not match or line.startswith("["):
            continue
        offset, name, text = match.groups()
        wanted = expected_packet(name.replace("tnt.8", "tnt").replace("tnt.64", "tnt"), text)
        if wanted is None:
            if name == "<invalid>" or name == "<unknown>":
                got = next(found, "nothing")
                if not got.endswith("error"):
                    return f"wanted {line!r}, found {got!r}"
            continue
        got = next(found, "nothing")
        words = got.split(" ")
        if len(words) < 5 or (offset and words[0] != offset) or not same_packet(wanted, words[1:]):
            return f"wanted {line!r}, found {got!r}"
    rest = [line for line in found if not line.endswith("error")]
    return f"found {rest[0]!r} at the end" if rest else None


def expected_flow(expectation):
    flow = []
    for line in open(expectation, encoding="utf-8"):
        line = line.strip()
        address = re.match(r"(?:\? )?([0-9a-f]{16})$", line)
        event = re.match(r"\[(?:[0-9a-f]{16}\s+)?(disabled|overflow)", line)
        if address:
            flow.append(address.group(1))
        elif event:
            flow.append(f"[{event.group(1)}]")
        elif "error:" in line:
            flow.append("[error]")
    return flow


def compare_flow(raw, folder, expectation, options):
    trace = glob.glob(f"{folder}/*.pt")[0]
    org = open(f"{folder}/org", encoding="utf-8").read().strip() or "0"
    limits = re.search(r"addr0_a (0x[0-9a-f]+).*addr0_b (0x[0-9a-f]+)", options)
    found = run(raw, "flow", trace, trace[:-3] + ".bin", org, cpu_of(folder), *(limits.groups() if limits else ()))
    # libipt prints no begin of tracing at a PSB.
    known = ("[disabled]", "[overflow]")
    found = [line for line in found if line != "[enabled]"]
    found = ["[error]" if line.startswith("[") and line not in known else line for line in found]
    wanted = expected_flow(expectation)
    if not any(line[0] != "[" for line in wanted):
        counts = re.findall(r"^insn:\s+(\d+)", open(expectation, encoding="utf-8").read(), re.M)
        n_found = sum(line[0] != "[" for line in found)
        if counts:
            return None if int(counts[0]) == n_found else f"wanted {counts[0]} instructions, found {n_found}"
    if wanted == found:
        return None
    at = next((i for i, (w, f) in enumerate(zip(wanted, found)) if w != f), min(len(wanted), len(found)))
    return f"at {at}: wanted {wanted[at:at + 4]}, found {found[at:at + 4]}"


def make(pttc, sources, target):
    """Assembles each vector for each processor that it names."""
    for path in sorted(glob.glob(f"{sources}/*.ptt")):
        text = open(path, encoding="utf-8", errors="replace").read()
        for cpu in re.findall(r"^\s*;\s*cpu\s+(\d+/\d+)", text, re.M) or [None]:
            folder = f"{target}/{os.path.basename(path)[:-4]}" + (f"@{cpu.replace('/', '-')}" if cpu else "")
            os.makedirs(folder, exist_ok=True)
            subprocess.run([pttc, *(["--cpu", cpu] if cpu else []), os.path.abspath(path)], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL)
            with open(f"{folder}/org", "w", encoding="utf-8") as out:
                out.write((re.findall(r"^\s*org\s+(0x[0-9a-fA-F]+)", text, re.M) or ["0"])[0])
            with open(f"{folder}/opts", "w", encoding="utf-8") as out:
                out.write("\n".join(re.findall(r"^\s*;\s*opt:(.*)", text, re.M)))
    return 0


def reason_of(tool, name, difference, unused):
    """Why a difference is expected; None: it is not."""
    key = (tool, name.split("@")[0])
    if difference and key in EXPECTED:
        unused.discard(key)
        return EXPECTED[key]
    return None


def compare_all(build, target, chosen):
    raw = f"{build}/tests/pt/pt_raw"
    compare = {"ptdump": compare_packets, "ptxed": compare_flow}
    sums = {tool: [0, 0, 0] for tool in compare}
    unused = set(() if chosen else EXPECTED)
    for name in chosen or sorted(os.listdir(target)):
        folder = f"{target}/{name}"
        for path in sorted(glob.glob(f"{folder}/*.exp")):
            tool = re.search(r"-(ptdump|ptxed)(?:-cpu_[0-9_]+)?\.exp$", path)
            if not tool:
                continue
            tool = tool.group(1)
            lines = open(f"{folder}/opts", encoding="utf-8").read().splitlines()
            options = " ".join(line for line in lines if line.startswith(tool))
            try:
                difference = compare[tool](raw, folder, path, options)
                reason = reason_of(tool, name, difference, unused)
            except Failed as failure:
                difference, reason = str(failure), None
            sums[tool][0 if not difference else 1 if reason else 2] += 1
            if difference:
                print(f"{tool} {name}: {'expected: ' + reason if reason else difference}")
    for tool, (equal, expected, wrong) in sums.items():
        print(f"{tool}: {equal} equal, {expected} expected differences, {wrong} others")
    for key in sorted(unused):
        print(f"{key[0]} {key[1]}: expected a difference, found none")
    return 1 if unused or any(n[2] for n in sums.values()) or not sums["ptdump"][0] else 0


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "make":
        return make(*sys.argv[2:])
    return compare_all(sys.argv[1], sys.argv[2], sys.argv[3:])


sys.exit(main())
