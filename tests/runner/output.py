# SPDX-License-Identifier: GPL-2.0-or-later
"""What `make check` prints: a line for each area, the failures at the end, and the sum as the last line."""

import os
import platform
import subprocess
import sys
import time

from runner import machine, tap

# Targets that `make check` leaves out: they take longer, or need more than this machine.
OTHER_TARGETS = {
    "check-long": "an hour of fuzzing, kills and hostile tenants",
    "check-guests": "virtual machines with each of four kernels, and with 64 CPUs",
    "check-containers": "containers of podman",
    "check-steady": "the whole of `make check` on busy and slow machines",
    "check-releases": "`make demo` and `make check` in fresh chroots of Debian 11, 12, 13 and sid",
    "check-mutants": "whether the tests notice faults put into the code",
}
MOST_LINES = 60  # of one failure
GROUPS_OF_ONE_LINE = ("style", "unit", "arm64", "fuzz")


class Output:
    def __init__(self, place, args):
        self.place, self.args = place, args
        self.start = time.monotonic()
        self.results = []  # (area, result)
        self.groups = {}  # group: [results, seconds]
        self.times = []  # (name of area, seconds, seconds of CPU)

    def begin(self):
        version = subprocess.run(["git", "-c", "safe.directory=*", "describe", "--always", "--dirty"], cwd=self.place.root,
                                 capture_output=True, text=True, check=False).stdout.strip() or "no git"
        print(f"assay {version}, {platform.system()} {platform.release()}, {machine.cpus()} CPUs, builds in {self.place.builds}")
        sys.stdout.flush()

    def measured(self):
        print(f"This machine is {self.place.slowness:.1f} times slower than usual: each wait may take {self.place.deadline_s} s")
        sys.stdout.flush()

    def area(self, area, results, seconds, cpu_s):
        """Areas of a group of many small ones share a line, printed by end()."""
        self.results += [(area, result) for result in results]
        self.times.append((area.name, seconds, cpu_s))
        failed = any(r.outcome == tap.FAILED for r in results)
        if area.group in GROUPS_OF_ONE_LINE and not self.args.areas:
            entry = self.groups.setdefault(area.group, [[], 0.0])
            entry[0] += results
            entry[1] += seconds
            if not failed:
                return
        self.line(area.name, results, seconds)

    def line(self, name, results, seconds):
        counts = {outcome: sum(r.outcome == outcome for r in results) for outcome in (tap.PASSED, tap.FAILED, tap.SKIPPED)}
        words = [f"{counts[tap.PASSED]} passed"]
        words += [f"{counts[tap.FAILED]} FAILED"] if counts[tap.FAILED] else []
        words += [f"{counts[tap.SKIPPED]} skipped"] if counts[tap.SKIPPED] else []
        print(f"{name:<26} {seconds:7.1f} s  {', '.join(words)}")
        sys.stdout.flush()

    def alone(self, area, title):
        """The command that runs one test."""
        quoted = "'" + title.replace("'", "'\\''").replace("$", "$$") + "'"
        has_titles = area.group in ("cli", "unit", "arm64", "sanitized") and not title.startswith(f"{area.last} ")
        return f"make check T={area.name}" + (f" N={quoted}" if has_titles else "")

    def end(self):
        for group, (results, seconds) in self.groups.items():
            self.line(group, results, seconds)
        skipped = [(area, r) for area, r in self.results if r.outcome == tap.SKIPPED]
        failed = [(area, r) for area, r in self.results if r.outcome == tap.FAILED]
        if skipped:
            print("\nSkipped:")
            by_reason = {}
            for area, result in skipped:
                by_reason.setdefault(result.text or "no reason given", []).append(f"{area.name}: {result.title}")
            for reason, titles in by_reason.items():
                more = f" (and {len(titles) - 1} more)" if len(titles) > 1 else ""
                print(f"  {titles[0]}{more}: {reason}")
        if failed:
            print("\nFailed:")
            for area, result in failed:
                print(f"\n  {area.name}: {result.title}")
                lines = result.text.splitlines()
                for line in lines[:MOST_LINES]:
                    print(f"    {line}")
                if len(lines) > MOST_LINES:
                    print(f"    ({len(lines) - MOST_LINES} more lines)")
                print(f"    Run it alone: {self.alone(area, result.title)}")
        print(f"\n{(time.monotonic() - self.start) / 60:.1f} minutes. "
              "One area alone: make check T=annotate, one test: make check T=annotate N='part of its title'.")
        if not self.args.areas:
            print("Not run: " + "; ".join(f"make {target} ({what})" for target, what in OTHER_TARGETS.items()))
        self.keep()
        for area, result in failed:  # again: many logs keep only the end
            print(f"FAILED {area.name}: {result.title}")
        passed = len(self.results) - len(failed) - len(skipped)
        print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
        return 1 if failed else 0

    def keep(self):
        """For scripts: the results and the times of a run, if ASSAY_CHECK_RESULTS names a folder."""
        folder = os.environ.get("ASSAY_CHECK_RESULTS")
        if not folder:
            return
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "results.tsv"), "w") as file:
            for area, result in self.results:
                file.write(f"{result.outcome}\t{area.name}\t{result.title}\t{(result.text.splitlines() or [''])[0]}\n")
        with open(os.path.join(folder, "times.tsv"), "w") as file:
            for name, seconds, cpu_s in self.times:
                file.write(f"{name}\t{seconds:.1f}\t{cpu_s:.1f}\n")
