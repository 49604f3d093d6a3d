# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs areas beside each other: as many busy ones as there are CPUs, and some that mostly wait.

An area begins when the builds that it needs have passed. Long areas begin first. Each has a process group, a
folder for its files, and a mark in its environment. Processes that an area leaves behind are killed, and the
area fails.
"""

import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from runner import areas, machine, tap

MARK = "ASSAY_TEST_AREA"


class Job:
    """One area at work. `call` runs a command of it; `status`, `stopped` and `lines` are of the last call."""

    def __init__(self, area, place, folder, args):
        self.area, self.place, self.folder = area, place, folder
        self.title, self.shuffle = args.title, args.shuffle
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC", ASSAY_TEST_DEADLINE=str(place.deadline_s),
                                TMPDIR=str(folder), ASSAY_BUILD=str(place.builds / "build"),
                                ASSAY_BUILD_ARM64=str(place.builds / "build-arm64"),
                                **{MARK: f"{os.getpid()} {area.name}"})
        self.status, self.stopped = 0, ""  # stopped: why
        self.cpu_s = 0.0
        self.output = folder / "output"
        self.pid = 0  # of the command at work

    def update(self, environment):
        self.environment.update(environment)

    def call(self, *command, limit_s=None):
        limit_s = limit_s or self.place.deadline_s * areas.FILE_DEADLINES
        with open(self.output, "wb") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                       cwd=self.place.root, env=self.environment, start_new_session=True)
        self.pid = process.pid
        alarm = threading.Timer(limit_s, self.stop, (f"still running after {limit_s} s",))
        alarm.start()
        _, status, usage = os.wait4(process.pid, 0)
        self.pid = 0
        process.returncode = self.status = os.waitstatus_to_exitcode(status)
        alarm.cancel()
        self.cpu_s += usage.ru_utime + usage.ru_stime

    def stop(self, why):
        pid, self.stopped = self.pid, why
        if pid:
            os.killpg(pid, signal.SIGKILL)

    def lines(self):
        return self.output.read_text(errors="replace").splitlines()

    def leftovers(self):
        """Processes that carry this area's mark: {pid: command line}."""
        mark = f"{MARK}={self.environment[MARK]}\0".encode()
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes() + b"\0":
                    if (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                        found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
        return found

    def end(self, results):
        """Kills what the area left. A process may still be ending when its parent has gone: it gets the deadline."""
        end = time.monotonic() + min(30, self.place.deadline_s)
        left = self.leftovers()
        while left and not self.stopped and time.monotonic() < end:
            time.sleep(0.05)
            left = self.leftovers()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if left and not self.stopped:
            results.append(tap.Result(f"{self.area.last} leaves no process", tap.FAILED,
                                      "".join(f"process {pid}: {command}\n" for pid, command in left.items())))
        remove(self.folder)


def remove(folder):
    """Tests make folders that their owner may not write, and mounts."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines()[::-1]:
        point = line.split()[1].encode().decode("unicode_escape").encode("latin-1").decode(errors="replace")
        if point.startswith(f"{folder}/"):
            subprocess.run(["umount", "-l", point], check=False)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        subprocess.run(["chmod", "-R", "u+rwx", str(folder)], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


class Schedule:
    def __init__(self, chosen, place, output):
        self.place, self.output = place, output
        self.waiting = sorted(chosen, key=lambda area: -area.cost_s) if output.args.shuffle is None else list(chosen)
        self.names = {area.name for area in chosen}
        self.outcome = {}  # name of an area that ended: None, or why others can't use it
        self.running = []
        self.jobs = {}  # by the area's name, while it runs
        self.numbers = itertools.count(1)
        self.changed = threading.Condition()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-check.", dir=place.temporary))
        self.folder.chmod(0o755)
        cpus = machine.cpus()
        self.busy_room, self.wait_room = cpus, min(16, max(2, cpus))

    def has_room(self, area):
        """Builds run one at a time: two at once would share the CPUs, and the first would come later."""
        if area.cpus == 0:
            return sum(a.cpus == 0 for a in self.running) < self.wait_room
        if area.is_step and any(a.is_step for a in self.running):
            return False
        return sum(a.cpus for a in self.running) + min(area.cpus, self.busy_room) <= self.busy_room

    def next_area(self):
        for area in self.waiting:
            if all(step in self.outcome for step in area.needs if step in self.names) and self.has_room(area):
                return area
        return None

    def results_of(self, area, number):
        """The results of an area, and the CPU time that they took."""
        why_not = next((self.outcome[step] for step in area.needs if self.outcome.get(step)), None)
        if why_not:
            return areas.skipped(area, why_not), 0
        folder = self.folder / str(number)  # short: the path of a socket has 107 bytes at most
        try:
            folder.mkdir()
            folder.chmod(0o1777)  # as /tmp: tests also run programs as other users
            job = self.jobs[area.name] = Job(area, self.place, folder, self.output.args)
            results = area.run(job)
            job.end(results)
            return results, job.cpu_s
        except Exception as error:  # an error of the runner must not hide that an area did not run
            return [tap.Result(f"{area.last} can be run", tap.FAILED, f"{type(error).__name__}: {error}")], 0

    def run_area(self, area, number):
        start = time.monotonic()
        results, cpu_s = self.results_of(area, number)
        with self.changed:
            self.jobs.pop(area.name, None)
            bad = next((r for r in results if r.outcome != tap.PASSED), None)
            self.outcome[area.name] = f"{area.name} {bad.outcome}: {(bad.text.splitlines() or [''])[0]}" if bad else None
            self.running.remove(area)
            self.output.area(area, results, time.monotonic() - start, cpu_s)
            self.changed.notify()

    def run_all(self):
        while self.waiting or self.running:
            area = self.next_area()
            if area:
                self.waiting.remove(area)
                self.running.append(area)
                threading.Thread(target=self.run_area, args=(area, next(self.numbers)), daemon=True).start()
            else:
                self.changed.wait()

    def stop(self, why):
        """Ends what runs, as failures; the rest is skipped."""
        for area in self.waiting:
            self.output.area(area, areas.skipped(area, f"tests/run was stopped ({why})"), 0, 0)
        self.waiting = []
        for job in list(self.jobs.values()):
            job.stop(f"stopped ({why})")

    def run(self):
        with self.changed:
            try:
                self.run_all()
            except KeyboardInterrupt as signalled:
                self.stop(signalled)
                self.run_all()
        remove(self.folder)


def run(chosen, place, output):
    Schedule(chosen, place, output).run()
