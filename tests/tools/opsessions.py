#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random sessions of OProfile's sample files, each of one kind, and option sets for opreport that suit them.

opsessions.py KIND SEED DIR    makes one session below DIR and prints its kind

Programs are built once below PROGRAMS (environment OPSESSIONS_BIN, default DIR/bin).  All numbers come from
SEED, so that a difference can be shown again.
"""

import importlib.machinery
import importlib.util
import os
import random
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(HERE, name + ".py"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


mkopfile = load("mkopfile")

KINDS = ("demo", "events", "masks", "threads", "processes", "cpus", "cxx", "many", "anonymous", "modules", "huge",
         "sessions", "archive", "diff", "xml")

CXX = r"""
#include <string>
namespace ns {
template <typename T> struct box { T v; __attribute__((noinline)) T get(T x) const; };
template <typename T> T box<T>::get(T x) const { return v + x; }
__attribute__((noinline)) int over(int a) { return a * 3; }
__attribute__((noinline)) int over(double a) { return (int)(a * 5); }
struct base { virtual ~base() {} virtual int run(int) = 0; };
struct derived : base { __attribute__((noinline)) int run(int a) override { return a + 7; } };
}
static __attribute__((noinline)) int hidden(int a) { return a - 1; }
template struct ns::box<int>;
template struct ns::box<double>;
int main(int argc, char **) {
    ns::derived d; ns::base *b = &d; ns::box<int> x{argc}; ns::box<double> y{1.5};
    return b->run(ns::over(argc) + ns::over(2.5) + x.get(1) + (int)y.get(2)) + hidden(argc);
}
"""
MODULE = r"""
__attribute__((noinline)) int mod_read(int a) { return a * 3 + 1; }
__attribute__((noinline)) int mod_write(int a) { return mod_read(a) + 2; }
int mod_init(void) { return mod_write(5); }
"""
KERNEL = r"""
__attribute__((noinline)) int do_idle(int a) { return a * 3 + 1; }
__attribute__((noinline)) int sys_call(int a) { return do_idle(a) + 2; }
int _start(void) { return sys_call(5); }
"""


def many_source(i):
    return """
__attribute__((noinline)) int work_%d(int a) { return a * %d + 1; }
__attribute__((noinline)) int common(int a) { return work_%d(a) + 2; }
int main(int argc, char **argv) { (void)argv; return common(argc); }
""" % (i, i + 3, i)


def huge_source(n):
    lines = ["__attribute__((noinline)) int f%d(int a) { return a * %d + %d; }" % (i, i + 3, i * 7) for i in range(n)]
    return "\n".join(lines + ["int main(int argc, char **argv) { (void)argv; return f1(argc); }"]) + "\n"


class Image:
    """A binary with its symbols' places: name to (file offset, size)."""

    def __init__(self, path):
        self.path = path
        self.symbols = {}
        sections = mkopfile.sections(path)
        for line in subprocess.run(["nm", "-S", path], capture_output=True, text=True).stdout.splitlines():
            words = line.split()
            if len(words) != 4 or words[2] not in "tTwW":
                continue
            at, size = int(words[0], 16), int(words[1], 16)
            for section, vma, position, length in sections:
                if vma <= at < vma + length and (vma or section == ".text"):
                    self.symbols[words[3]] = (at - vma + position, size)
                    break
        # The runtime's own functions have padding that the two tools credit to different symbols.
        self.names = sorted(n for n, (_, size) in self.symbols.items() if size > 3 and not n.startswith("_dl_")
                            and n not in ("_init", "_fini", "_start", "_dl_relocate_static_pie"))

    def place(self, r):
        at, size = self.symbols[r.choice(self.names)]
        return at + r.randrange(size)


class Programs:
    """The binaries of all kinds, built once."""

    def __init__(self, folder):
        self.folder = os.path.realpath(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.cache = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def image(self, name):
        if name not in self.cache:
            if not os.path.exists(self.path(name)):
                self.build(name)
            self.cache[name] = Image(self.path(name))
        return self.cache[name]

    def compile(self, name, text, *flags, suffix=".c"):
        source = self.path(name + suffix)
        with open(source, "w", encoding="utf-8") as f:
            f.write(text.lstrip("\n"))
        subprocess.check_call(["g++" if suffix == ".cc" else "gcc", "-g", "-O1", "-o", self.path(name), source, *flags])

    def build(self, name):
        if name in ("app", "libdemo.so"):
            self.compile("libdemo.so", mkopfile.DEMO_LIB_C, "-fPIC", "-shared")
            self.compile("app", mkopfile.DEMO_C, self.path("libdemo.so"))
        elif name == "cxx":
            self.compile(name, CXX, suffix=".cc")
        elif name == "my-mod.ko":
            self.compile(name, MODULE, "-c", "-fno-pic")
        elif name == "vmlinux":
            self.compile(name, KERNEL, "-nostdlib", "-static", "-fno-pic", "-no-pie")
        elif name == "huge":
            self.compile(name, huge_source(3000))
        elif name.startswith("many"):
            self.compile(name, many_source(int(name[4:])))
        elif name == "bare":
            self.compile("bare.whole", many_source(99), "-no-pie")
            subprocess.check_call(["strip", "-R", ".dynsym", "-o", self.path("bare"), self.path("bare.whole")])
        else:
            raise ValueError(name)


class Session:
    """A session directory and the means to fill it."""

    def __init__(self, r, programs, folder, name="current"):
        self.r, self.programs, self.folder, self.name = r, programs, folder, name
        self.apps, self.images = set(), set()

    def header(self, image, event, kernel=False, cg_kernel=False, start=0, cg_start=0):
        return dict(magic=mkopfile.MAGIC, version=mkopfile.VERSION, cpu_type=69, ctr_event=event["code"], ctr_um=event["um"],
                    ctr_count=event["count"], is_kernel=int(kernel), cpu_speed=2400.0, mtime=mkopfile.mtime_of(image),
                    cg_to_is_kernel=int(cg_kernel), anon_start=start, cg_to_anon_start=cg_start)

    def put(self, main, dep, event, counts, ids=("all", "all", "all"), cg=None, **header):
        path = os.path.join(self.folder, "samples", self.name) + "/" + main + "/{dep}/" + dep
        path += "/{cg}/" + cg if cg else ""
        path = os.path.normpath(path + "/%s.%d.%d.%s.%s.%s" % ((event["name"], event["count"], event["um"]) + tuple(ids)))
        image = header.pop("image")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(mkopfile.pack_file(self.header(image, event, **header), counts))
        self.apps.add(main)
        self.images.add(dep)

    def flat(self, app, name, event, ids=("all", "all", "all"), n=6):
        image = self.programs.image(name)
        counts = {}
        for _ in range(n):
            counts[image.place(self.r)] = self.r.choice((1, 7, 30, 500, self.r.randrange(1, 100000)))
        self.put("{root}/" + self.programs.image(app).path, "{root}/" + image.path, event, counts, ids, image=image.path)

    def arcs(self, app, caller, callee, event, ids=("all", "all", "all"), n=5):
        a, b = self.programs.image(caller), self.programs.image(callee)
        counts = {}
        for _ in range(n):
            at, size = a.symbols[self.r.choice(a.names)]
            counts[(at + self.r.randrange(1, size)) << 32 | b.place(self.r)] = self.r.randrange(1, 2000)
        self.put("{root}/" + self.programs.image(app).path, "{root}/" + a.path, event, counts, ids, cg="{root}/" + b.path, image=a.path)


CYCLES = dict(name="CPU_CLK_UNHALTED", count=100000, um=0, code=0x76)
EVENTS = (CYCLES, dict(name="RETIRED_UOPS", count=50000, um=0, code=0xc1), dict(name="DATA_CACHE_MISSES", count=5000, um=1, code=0x41),
          dict(name="NOT_AN_EVENT", count=777, um=0, code=0x1234), dict(name="CPU_CLK_UNHALTED", count=6000, um=0, code=0x76))
MASKS = (dict(name="DATA_CACHE_MISSES", count=5000, um=1, code=0x41), dict(name="DATA_CACHE_MISSES", count=5000, um=2, code=0x41))


def app_and_library(s, event, ids=("all", "all", "all"), chance=1.0, arcs=0.5):
    r = s.r
    if r.random() < chance:
        s.flat("app", "app", event, ids)
    if r.random() < chance:
        s.flat("app", "libdemo.so", event, ids)
    if r.random() < chance:
        s.flat("libdemo.so" if r.random() < 0.1 else "many1", "many1", event, ids)
    if r.random() < arcs:
        s.arcs("app", "app", "libdemo.so", event, ids)
        s.arcs("app", "app", "app", event, ids)


def make_ids(s, threads, processes, cpus, event=CYCLES):
    r = s.r
    for _ in range(r.randrange(2, 5)):
        tgid = r.randrange(100, 110)
        ids = (str(tgid) if processes else "all", str(tgid + (r.randrange(3) if not processes or r.random() < 0.5 else 0)) if threads else "all",
               str(r.randrange(4)) if cpus else "all")
        app_and_library(s, event, ids, 0.7)
    app_and_library(s, event, (ids[0], ids[1], ids[2]))


def make(kind, seed, folder, programs):
    """Makes the session; returns it with the facts that option sets need."""
    r = random.Random("%s %s" % (kind, seed))
    shutil.rmtree(folder, ignore_errors=True)
    s = Session(r, programs, folder)
    s.kind = kind
    if kind in ("demo", "xml", "archive"):
        app_and_library(s, CYCLES, arcs=0.8)
        if kind == "xml" and r.random() < 0.6:
            return make_xml(s)
    elif kind == "events":
        for event in r.sample(EVENTS, r.randrange(2, 4)):
            app_and_library(s, event, chance=0.8)
        app_and_library(s, EVENTS[1])
    elif kind == "masks":
        for event in MASKS:
            app_and_library(s, event, chance=0.8)
        app_and_library(s, MASKS[0])
    elif kind == "threads":
        make_ids(s, True, r.random() < 0.5, False)
    elif kind == "processes":
        make_ids(s, False, True, False)
    elif kind == "cpus":
        make_ids(s, False, False, True)
    elif kind == "cxx":
        s.flat("cxx", "cxx", CYCLES, n=20)
        s.arcs("cxx", "cxx", "cxx", CYCLES, n=20)
        app_and_library(s, CYCLES, chance=0.5)
    elif kind == "many":
        for i in range(30):
            s.flat("many%d" % i, "many%d" % i, CYCLES)
            if r.random() < 0.5:
                s.flat("many%d" % i, "libdemo.so", CYCLES)
            if r.random() < 0.5:
                s.arcs("many%d" % i, "many%d" % i, "libdemo.so", CYCLES)
                s.arcs("many%d" % i, "many%d" % i, "many%d" % i, CYCLES)
    elif kind == "anonymous":
        make_anonymous(s)
    elif kind == "modules":
        make_modules(s)
    elif kind == "huge":
        s.flat("huge", "huge", CYCLES, n=4000)
        s.arcs("huge", "huge", "huge", CYCLES, n=3000)
    elif kind in ("sessions", "diff"):
        make_sessions(s)
    else:
        raise ValueError(kind)
    return s


def make_xml(s):
    r = s.r
    make_ids(s, r.random() < 0.6, True, r.random() < 0.4, r.choice(EVENTS[:3]))
    if r.random() < 0.4:
        make_ids(s, False, True, False, r.choice(MASKS))
    return s


def make_sessions(s):
    for name in ("current", "before", "other"):
        s.name = name
        app_and_library(s, CYCLES, chance=0.9)
        if s.r.random() < 0.3:
            s.flat("many2", "many2", CYCLES)
    s.name = "current"
    s.flat("app", "app", CYCLES)


def write_jo(path, symbols):
    """A relocated ELF file with symbols at their addresses, as opjitconv leaves it."""
    source = path + ".S"
    start = min(a for a, _, _ in symbols)
    with open(source, "w", encoding="utf-8") as f:
        f.write(".text\n")
        for address, size, name in symbols:
            f.write(".globl %s\n.type %s,@function\n.org %d\n%s: .fill %d,1,0x90\n.size %s,%d\n" % (
                name, name, address - start, name, size, name, size))
    subprocess.check_call(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,-z,noseparate-code", "-Wl,-Ttext=%#x" % start,
                           "-Wl,-e,%s" % symbols[0][2], "-o", path, source])
    os.unlink(source)


def make_anonymous(s):
    r = s.r
    app_and_library(s, CYCLES, chance=0.7)
    app = "{root}/" + s.programs.image("app").path
    for tgid in r.sample(range(300, 340), 3):
        for start in r.sample((0x7f0000000000, 0x7f1000000000, 0x400000, 0x7f2345000), 2):
            dep = "{anon:%s}/%d.%#x.%#x" % (r.choice(("anon", "[heap]", "[stack]")), tgid, start, start + 0xfff)
            s.put(app, dep, CYCLES, {r.randrange(0, 0xfff): r.randrange(1, 999) for _ in range(3)}, image="none", start=start)
    if r.random() < 0.5:
        tgid, start = 400, 0x7f4000000000
        dep = "{anon:anon}/%d.%#x.%#x" % (tgid, start, start + 0xffff)
        s.put(app, dep, CYCLES, {o: r.randrange(1, 999) for o in (0x10, 0x12, 0x108, 0x220)}, image="none", start=start)
        where = os.path.join(s.folder, "samples", s.name) + "/" + app + "/{dep}/{anon:anon}"
        write_jo(os.path.normpath(where + "/%d.jo" % tgid), [(start, 0x20, "jit_one"), (start + 0x100, 0x40, "jit_two"), (start + 0x200, 0x40, "jit_last")])


def make_modules(s):
    r = s.r
    app_and_library(s, CYCLES, chance=0.7)
    app = "{root}/" + s.programs.image("app").path
    module, kernel = s.programs.image("my-mod.ko"), s.programs.image("vmlinux")

    def text_start(image):
        return next(position for name, _, position, _ in mkopfile.sections(image.path) if name == ".text")
    for main in (app, "{kern}/my_mod") if r.random() < 0.5 else (app,):
        s.put(main, "{kern}/my_mod", CYCLES, {module.place(r) - text_start(module): r.randrange(1, 999) for _ in range(4)}, image=module.path, kernel=True)
    if r.random() < 0.7:
        s.put(app, "{kern}/ext4", CYCLES, {0x10: r.randrange(1, 999)}, image="none", kernel=True)
    if r.random() < 0.7:
        s.put(app, "{root}/" + kernel.path, CYCLES, {kernel.place(r) - text_start(kernel): r.randrange(1, 999) for _ in range(4)}, image=kernel.path, kernel=True)
    if r.random() < 0.3:
        s.put(app, "{kern}/no-vmlinux", CYCLES, {0xffffffff81000010: r.randrange(1, 999)}, image="none", kernel=True)


# ---- option sets ----

SORTS = ("sample", "image", "app-name", "symbol", "debug", "vma", "vma,sample", "image,symbol", "app-name,vma")


def options(kind, seed, s, programs):
    """A list of arguments for opreport, without --session-dir."""
    r = random.Random("options %s %s" % (kind, seed))
    args = []
    diff = kind == "diff" and r.random() < 0.8
    views = [[], ["-l"], ["-l"], ["-d"], ["-c"], ["-l", "-w"], ["-l", "-g"]]
    args += ["-l"] if diff else r.choice(views)
    if kind == "xml" or r.random() < 0.03:
        args.append("-X")
    for flag, chance in (("-a", 0.12), ("-w", 0.1), ("-g", 0.1), ("-f", 0.15), ("-n", 0.2), ("-x", 0.12), ("-r", 0.12), ("-%", 0.08)):
        if r.random() < chance:
            args.append(flag)
    if r.random() < 0.15:
        args += ["-s", r.choice(SORTS)]
    if r.random() < 0.12:
        args += ["-t", r.choice(("0", "1", "5", "20", "50", "0.5"))]
    if r.random() < 0.2 or (kind in ("threads", "processes", "cpus", "masks", "events") and r.random() < 0.4):
        args += ["--merge=" + ",".join(r.sample(("cpu", "tid", "tgid", "lib", "unitmask", "all"), r.choice((1, 1, 2))))]
    if r.random() < 0.1 or (kind == "cxx" and r.random() < 0.4):
        args += ["-D", r.choice(("none", "normal", "smart"))]
    symbols = ("leaf", "mid", "main", "lib_work", "common", "f1,f2,f3", "nowhere", "_ZN2ns4overEi", "hidden")
    if r.random() < 0.1:
        args += [r.choice(("-i", "-e")), r.choice(symbols)]
    if kind == "modules" and r.random() < 0.7:
        args += ["-p", programs.folder]
    args += specification(r, kind, programs)
    if diff:
        args += r.choice((["{", "session:before", "}", "{", "session:current", "}"], ["{", "session:before", "}", "{", "}"],
                          ["{", "session:other", "}", "{", "session:before", "}"], ["{}", "{", "session:before", "}"]))
    return args


def specification(r, kind, programs):
    f = programs.folder
    names = {"cxx": ["cxx", "app"], "many": ["many1", "many2", "many9", "libdemo.so"], "huge": ["huge"]}.get(kind, ["app", "libdemo.so", "many1"])
    ids = {"threads": ("tid:", "tgid:"), "processes": ("tgid:",), "cpus": ("cpu:",)}.get(kind, ())
    choices = [lambda: [], lambda: [], lambda: ["image:" + f + "/" + r.choice(names)], lambda: ["image:*/" + r.choice(names)],
               lambda: ["lib-image:*/" + r.choice(names)], lambda: ["image-exclude:*/" + r.choice(names)], lambda: [f + "/" + r.choice(names)],
               lambda: ["image:*/app", "lib-image:*/libdemo.so"], lambda: ["image:*many*,*/app"], lambda: ["event:CPU_CLK_UNHALTED"],
               lambda: ["count:100000"], lambda: ["unit-mask:0"], lambda: ["image:/nowhere"]]
    if kind == "anonymous":
        choices += [lambda: ["lib-image:*anon*"], lambda: ["image-exclude:*heap*"]]
    if kind == "modules":
        choices += [lambda: ["lib-image:*my*mod*"], lambda: ["image:*my*mod*"], lambda: ["lib-image:*vmlinux"]]
    args = r.choice(choices)()
    if ids and r.random() < 0.5:
        tag = r.choice(ids)
        args += [tag + ",".join(map(str, r.sample(range(4) if tag == "cpu:" else range(100, 110), r.choice((1, 3)))))]
    if kind == "events" and r.random() < 0.5:
        args += ["event:" + r.choice(("RETIRED_UOPS", "DATA_CACHE_MISSES", "RETIRED_UOPS,NOT_AN_EVENT"))]
    if kind == "masks" and r.random() < 0.4:
        args += ["unit-mask:" + r.choice(("1", "2", "0x1", "1,2"))]
    if kind == "sessions" and r.random() < 0.8:
        args += ["session:" + r.choice(("before", "current,before", "before,other", "other", "none"))]
        if r.random() < 0.3:
            args += ["session-exclude:" + r.choice(("before", "other"))]
    seen, single = set(), []
    for arg in args:
        tag = arg.split(":")[0]
        if tag not in seen:
            single.append(arg)
        seen.add(tag)
    return single


def main():
    kind, seed, folder = sys.argv[1:4]
    programs = Programs(os.environ.get("OPSESSIONS_BIN", os.path.join(folder, "bin")))
    session = make(kind, seed, os.path.join(folder, "oprofile_data"), programs)
    print(" ".join(options(kind, seed, session, programs)))


if __name__ == "__main__":
    main()
