# SPDX-License-Identifier: GPL-2.0-or-later
"""The areas of the tests: what each runs, what it needs before, and how its output becomes results.

Each area is a row of all_areas(). An area with is_step is a build that others need: it runs when one
of them was chosen, and its result counts.
"""

import dataclasses
import os
import random
import re
import shlex
import sys
import typing

from runner import machine, tap

SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}
THREAD_SANITIZER = {"TSAN_OPTIONS": "exitcode=66 history_size=4"}
FILE_DEADLINES = 20  # a file of tests that takes so many deadlines hangs
# Unit tests that build/no-oprofile runs: those of the rooms that use OProfile's rows where there are some.
WITHOUT_OPROFILE = ("base", "control", "daemon", "doctor", "event_files", "export", "foreign", "image", "options", "perfdata_import",
                    "profile", "report", "specification", "store")
# Unit tests whose code has threads, for ThreadSanitizer. With THREADS=all, as in `make check-long`, all unit tests
# run in its build, and the tests of some commands.
THREADED = ("aux", "elf", "file", "file_jobs", "history", "import_parts", "libassay", "modules", "names", "opener", "pipeline", "recorder",
            "store", "sums", "unwind_library", "write_behind")
# Of them, these can't: addresses are limited, stacks are small, or a table is larger than ThreadSanitizer allows.
NOT_THREADED = ("parser", "demangle", "base")
THREADED_COMMANDS = ("import", "trace_pt", "top", "record", "intel_pt_files")
# Seconds that the long files of tests/cli take on a quiet machine.
COSTS = {"intel_pt": 300, "daemon": 200, "intel_pt_files": 60, "derived": 60, "import": 60, "in_kernel": 50, "prospect": 50, "record": 40,
         "html": 40, "specifications": 40, "trace_pt": 40, "service": 30, "script": 30, "report": 30, "perfdata_write": 30}


@dataclasses.dataclass
class Area:
    name: str  # GROUP/NAME
    run: typing.Callable  # (job) -> list of tap.Result
    needs: tuple = ()  # names of areas
    is_step: bool = False
    cpus: int = 1  # that it keeps busy; 0: it mostly waits
    cost_s: float = 5  # on a quiet machine: long areas begin first

    @property
    def group(self):
        return self.name.split("/")[0]

    @property
    def last(self):
        return self.name.split("/")[-1]


def skipped(area, reason):
    return [tap.Result(area.last, tap.SKIPPED, reason)]


def failed_to_end(job, results):
    """A program that died, hung or leaked has told of some tests only, and perhaps of none that failed."""
    if job.status != 0 and not any(r.outcome == tap.FAILED for r in results):
        why = job.stopped or f"exit status {job.status}"
        tail = "".join(line + "\n" for line in job.lines()[-60:])
        results.append(tap.Result(f"{job.area.last} runs to its end", tap.FAILED, f"{why}\n{tail}"))
    return results


def script(title, *command):
    """One result: exit status 0 passes, 77 is a skip for the reason in the last line."""
    def run(job):
        job.call(*command)
        last = (job.lines() or [""])[-1]
        if job.status == 77:
            return [tap.Result(title, tap.SKIPPED, last)]
        if job.status != 0:
            return [tap.Result(title, tap.FAILED, "\n".join(job.lines()[-60:]))]
        return [tap.Result(title, tap.PASSED)]
    return run


def build(title, folder, environment, *options, targets=()):
    """Configures the folder if its options are others than before, then builds it, or only the targets."""
    def run(job):
        stamp, wanted = folder / "check-options", shlex.join(options) + "\n"
        configure = ["meson", "setup", str(folder), str(job.place.root), *options]
        if (folder / "build.ninja").exists():
            configure = ["meson", "setup", "--reconfigure", str(folder), str(job.place.root), *options]
        command = shlex.join(["ninja", "-C", str(folder), *targets])
        if not stamp.exists() or stamp.read_text() != wanted:
            command = f"{shlex.join(configure)} && {command}"
        results = script(title, "sh", "-c", command)(job) if not job.update(environment) else []
        if results[0].outcome == tap.PASSED:
            stamp.write_text(wanted)
        return results
    return run


def cmocka(program, environment):
    def run(job):
        job.update({"CMOCKA_MESSAGE_OUTPUT": "TAP", **environment})
        if job.title:
            job.update({"ASSAY_TEST_FILTER": f"*{job.title.replace(' ', '_')}*"})
        job.call(*program, limit_s=job.place.deadline_s * 5)
        return failed_to_end(job, tap.read_cmocka("\n".join(job.lines())))
    return run


def bats(file, folder, *wrapper):
    def run(job):
        path = shuffled(job, file) if job.shuffle is not None else file
        command = ["bats", "--tap", "--print-output-on-failure"]
        if job.title:
            # bats takes any argument that begins with "-" for an option.
            command += ["--filter", re.sub(r"^-|[][\\.*^$+?(){}|]", lambda m: "[-]" if m[0] == "-" else "\\" + m[0], job.title)]
        job.update({"ASSAY_BUILD": str(folder), **THREAD_SANITIZER})
        job.call(*wrapper, *command, str(path), limit_s=job.place.deadline_s * FILE_DEADLINES)
        return failed_to_end(job, tap.read(job.lines()))
    return run


def shuffled(job, file):
    """A copy of the file with its tests in a random order, in a tree of links to this one."""
    root, copy = job.place.root, job.folder / "tree"
    (copy / "tests" / "cli").mkdir(parents=True)
    for folder in (root, root / "tests", root / "tests" / "cli"):
        for entry in folder.iterdir():
            target = copy / entry.relative_to(root)
            if not target.exists() and entry != file:
                target.symlink_to(entry)
    head, *tests = re.split(r"(?m)^(?=@test )", file.read_text())
    random.Random(f"{job.shuffle} {file.name}").shuffle(tests)
    path = copy / "tests" / "cli" / file.name
    path.write_text(head + "".join(tests))
    return path


def tap_script(*command):
    def run(job):
        job.call(*command)
        return failed_to_end(job, tap.read(job.lines()))
    return run


def fuzz(program, name):
    """-error_exitcode=1: libFuzzer's own, 77, is a skip here.
    -entropic=0: in a few seconds, libFuzzer's weights of inputs take more time than they save: four times the runs without."""
    def run(job):
        seconds, corpus = os.environ.get("FUZZ_SECONDS", "3"), job.place.root / "fuzz" / "corpus" / name
        (job.folder / "corpus").mkdir()
        job.update(SANITIZERS)
        return script(f"{name}, {seconds} s", str(program), f"-seed={os.environ.get('FUZZ_SEED', '1')}",
                      f"-max_total_time={seconds}", "-error_exitcode=1", "-rss_limit_mb=2048", "-entropic=0", f"-timeout={job.place.deadline_s // 6}",
                      "-max_len=65536", "-verbosity=0", f"-artifact_prefix={job.place.builds}/build-check/{name}-",
                      str(job.folder / "corpus"), str(corpus))(job)
    return run


def listed(file, name):
    """The names of a list in a meson.build file: one a line, and those that conditions add, each time in a line."""
    text = file.read_text()
    names = re.search(rf"(?ms)^{name} = \[\n(.*?)^\]", text)[1] + "".join(re.findall(rf"(?m)^ *{name} \+= (.*)$", text))
    return re.findall(r"'(\w+)'", names)


def in_build(program, run):
    """A program that this build lacks is a skip."""
    return lambda job: run(job) if program.exists() else skipped(job.area, f"{program.name} is not in this build")


def build_with_clang(folder):
    """clang's sanitizers, with libFuzzer's instrumentation: one build for unit tests, bad input and fuzzing."""
    missing = script("builds without a warning", "sh", "-c",
                     "command -v clang >/dev/null || { echo 'clang is not installed'; exit 77; }\n"
                     "echo 'int LLVMFuzzerTestOneInput(void);int LLVMFuzzerTestOneInput(void){return 0;}' |\n"
                     "clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null ||\n"
                     "{ echo \"clang's sanitizer runtime is not installed\"; exit 77; }")
    # lld links in a tenth of the time. Without optimization, clang needs a third of the time for instrumented code.
    whole = build("builds without a warning", folder, {"CC": "clang", "CXX": "clang++", "CC_LD": "lld", "CXX_LD": "lld"},
                  "-Dwerror=true", "-Dfuzzing=true", "-Dbench=false", "-Dman=false", "-Dlibrary=false", "-Doptimization=0", "-Db_sanitize=address,undefined",
                  "-Db_lundef=false")

    def run(job):
        results = missing(job)
        return whole(job) if results[0].outcome == tap.PASSED else results
    return run


def build_for_threads(folder, targets):
    """ThreadSanitizer of old compilers needs addresses that are not random. In some containers, setarch may not choose them."""
    missing = script("builds", "sh", "-c",
                     "command -v clang >/dev/null || { echo 'clang is not installed'; exit 77; }\n"
                     "command -v setarch >/dev/null || { echo 'setarch is not installed'; exit 77; }\n"
                     "setarch -R true 2>/dev/null || { echo 'addresses stay random here: setarch -R is refused'; exit 77; }\n"
                     "echo 'int main(void){return 0;}' | clang -fsanitize=thread -x c - -o $TMPDIR/probe 2>/dev/null ||\n"
                     "{ echo \"clang's ThreadSanitizer is not installed\"; exit 77; }\n"
                     "setarch -R $TMPDIR/probe || { echo 'ThreadSanitizer does not run here'; exit 77; }")
    whole = build("builds", folder, {"CC": "clang", "CXX": "clang++", "CC_LD": "lld", "CXX_LD": "lld"}, "-Dbench=false", "-Dman=false",
                  "-Dlibrary=false", "-Doptimization=0", "-Db_sanitize=thread", "-Db_lundef=false", targets=targets)

    def run(job):
        results = missing(job)
        return whole(job) if results[0].outcome == tap.PASSED else results
    return run


def build_for_arm64(place, folder):
    # With less optimization, the build takes two thirds of the time.
    run = script("builds", str(place.root / "scripts" / "cross-arm64.sh"), "-Dbench=false", "-Dman=false", "-Doptimization=1")

    def with_folder(job):
        job.update({"ASSAY_BUILD_ARM64": str(folder)})
        return run(job)
    return with_folder


def by_qemu_user(folder, program, *arguments):
    """The loader and the libraries are the cross build's."""
    def run(job):
        wrapper = re.search(r"exe_wrapper = \[(.*)\]", (folder / "cross.ini").read_text())
        if not wrapper:
            return skipped(job.area, "qemu-user is not installed")
        command = re.findall(r"'([^']*)'", wrapper[1])
        return in_build(program, cmocka([*command, str(program), *arguments], {}))(job)
    return run


def all_areas(place, args):
    """Every area of `make check`, in the order of the list."""
    root, builds = place.root, place.builds
    gcc, check, arm64 = builds / "build", builds / "build-check", builds / "build-arm64"
    no_oprofile, threads = builds / "build-no-oprofile", builds / "build-threads"
    everything, add = [], lambda *row, **more: everything.append(Area(*row, **more))

    for name in ("layers", "files", "names", "opens", "parsers", "format", "spdx", "shell", "js"):
        add(f"style/{name}", script(name, str(root / "scripts" / f"check-{name}.sh")), cost_s=3)
    add("build/gcc", build("builds without a warning", gcc, {}, "-Dwerror=true"), is_step=True, cpus=machine.cpus(), cost_s=1000)
    add("build/clang-sanitizers", build_with_clang(check), is_step=True, cpus=machine.cpus(), cost_s=900)
    add("build/arm64", build_for_arm64(place, arm64), is_step=True, cpus=machine.cpus(), cost_s=800)
    # Without optimization, the build takes a quarter of the time.
    unit_tests = [f"tests/unit/test_{name}" for name in WITHOUT_OPROFILE]
    add("build/no-oprofile", build("builds without a warning", no_oprofile, {}, "-Dwerror=true", "-Doprofile=disabled", "-Doptimization=0",
                                   "-Ddebug=false", "-Dbench=false", "-Dman=false", "-Dlibrary=false", targets=("assay", *unit_tests)),
        is_step=True, cpus=machine.cpus(), cost_s=100)
    all_unit_tests = listed(root / "tests" / "unit" / "meson.build", "unit_tests")
    with_all_threads = os.environ.get("THREADS") == "all"
    threaded = [name for name in all_unit_tests if name in THREADED or with_all_threads and name not in NOT_THREADED]
    add("build/threads", build_for_threads(threads, () if with_all_threads else ("assay", *(f"tests/unit/test_{name}" for name in threaded))),
        is_step=True, cpus=machine.cpus(), cost_s=100)
    add("style/man", script("man", str(root / "scripts" / "check-man.sh"), str(gcc)), ("build/gcc",))

    for name in all_unit_tests:
        for group, needs, program in (("unit", "build/clang-sanitizers", check / "tests" / "unit" / f"test_{name}"),
                                      ("arm64", "build/arm64", arm64 / "tests" / "unit" / f"test_{name}")):
            run = by_qemu_user(arm64, program) if group == "arm64" else in_build(program, cmocka([str(program)], SANITIZERS))
            add(f"{group}/{name}", run, (needs,), cost_s=2)
    for file in sorted((root / "tests" / "cli").glob("*.bats")):
        add(f"cli/{file.stem}", bats(file, gcc), ("build/gcc",), cpus=0, cost_s=COSTS.get(file.stem, 5))
    for name in WITHOUT_OPROFILE:
        add(f"no-oprofile/{name}", cmocka([str(no_oprofile / "tests" / "unit" / f"test_{name}")], {}), ("build/no-oprofile",), cost_s=1)
    for name in threaded:
        program = threads / "tests" / "unit" / f"test_{name}"
        add(f"threads/{name}", in_build(program, cmocka(["setarch", "-R", str(program)], THREAD_SANITIZER)), ("build/threads",), cost_s=4)
    for name in THREADED_COMMANDS if with_all_threads else ():
        add(f"threads/cli-{name}", bats(root / "tests" / "cli" / f"{name}.bats", threads, "setarch", "-R"), ("build/threads",), cost_s=60)
    add("threads/command_line", bats(root / "tests" / "threads" / "command_line.bats", threads, "setarch", "-R"), ("build/threads",), cost_s=20)
    add("no-oprofile/command_line", bats(root / "tests" / "no-oprofile" / "command_line.bats", no_oprofile), ("build/no-oprofile",))
    add("sanitized/bad_input", bats(root / "tests" / "cli" / "bad_input.bats", check), ("build/gcc", "build/clang-sanitizers"), cost_s=30)
    for name in listed(root / "fuzz" / "meson.build", "fuzz_targets"):
        program = check / "fuzz" / f"fuzz_{name}"
        seeds, replay = root / "fuzz" / "corpus" / name, arm64 / "fuzz" / f"fuzz_{name}"
        add(f"arm64/fuzz-{name}", by_qemu_user(arm64, replay, str(seeds)), ("build/arm64",), cost_s=1)
        add(f"fuzz/{name}", in_build(program, fuzz(program, name)), ("build/clang-sanitizers",), cost_s=3)
    for boot in ("counters", "machine", "kernel", "newer"):
        add(f"guest/{boot}", tap_script(str(root / "tests" / "guest" / "run"), boot), ("build/gcc", "build/arm64"), cost_s=60)
    return everything


def choose(everything, words):
    """The areas that the words mean, and the builds that these need. A last part means one area."""
    names = [name for word in words for name in word.replace(",", " ").split()]
    chosen = []
    for name in names:
        found = [area for area in everything if name in (area.name, area.group)]
        found = found or sorted((area for area in everything if area.last == name), key=lambda a: a.group != "cli")[:1]
        if not found:
            sys.exit(f"no area '{name}'; tests/run --list names them")
        chosen += found
    needed = {step for area in chosen for step in area.needs}
    return [area for area in everything if not names or area in chosen or area.name in needed]
