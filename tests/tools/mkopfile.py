#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write and read sample files in the on-disk layout used by OProfile 1.x
(format version 0x13), independently of any OProfile code.

Tests read these files with assay: an error in assay's own writer cannot hide
an error in its reader.  docs/oprofile.md describes the format's users.

  mkopfile.py flat  SESSION BINARY OFF=COUNT ...          one flat file
  mkopfile.py cg    SESSION CALLER CALLEE FROM:TO=COUNT ...   one arc file
  mkopfile.py dump  FILE ...                              print header + nodes
  mkopfile.py demo  SESSION DIR                           a whole small session

Offsets are file offsets (what `opreport` expects for user binaries); a name
"sym+0x10" is looked up with nm/readelf in the binary.  SESSION is what goes
behind --session-dir; files go below SESSION/samples/current.

Options before the positional ones:
  --event NAME --count N --um N --cpu-type N --code N   event in name and header
  --app PATH     application (first part of the name), default: BINARY
  --tgid N --tid N --cpu N                              separated fields
  --mhz F        cpu speed in header (0: not shown)
  --mtime N      header mtime, default: of the binary
  --kernel       kernel image: header is_kernel = 1, {kern} in the name where
                 the image name has no '/'
  --start N      anon_start
  --anon NAME    BINARY is "tgid.0xSTART.0xEND" of an anonymous region NAME
  --layout i386  header as a 32-bit x86 build lays it out (64 bytes)
"""
import argparse
import os
import struct
import subprocess
import sys

MAGIC = b"DAE\n"
VERSION = 0x13
DEFAULT_NODES = 128           # nodes in a fresh file; doubles when full

# LP64 (x86_64, aarch64, ...): u64/double aligned to 8, 72 bytes.
# i386 SysV: u64/double aligned to 4, 64 bytes.
HEADERS = {
    "lp64": "<4s6I 4x d Q I 4x Q Q",
    "i386": "<4s6I d Q I Q Q",
}
DESCR = "<2I 6i"              # size, current_size, padding[6]: 32 bytes
NODE = "<QII"                 # key, value, next: 16 bytes
HFIELDS = ("magic version cpu_type ctr_event ctr_um ctr_count is_kernel "
           "cpu_speed mtime cg_to_is_kernel anon_start cg_to_anon_start").split()


def hash_key(key, mask):
    t = ((key >> 32) ^ key) & 0xffffffff
    return (t ^ (t >> 8)) & mask


def pack_file(header, counts, layout="lp64", min_nodes=DEFAULT_NODES):
    """counts: dict key -> 32-bit count.  Returns the bytes of a sample file."""
    size = min_nodes
    # a writer grows when current_size >= size *before* adding; node 0 unused
    while len(counts) + 1 > size:
        size *= 2
    nodes = [(0, 0, 0)]
    buckets = [0] * size
    for key, val in counts.items():
        n = len(nodes)
        h = hash_key(key, size - 1)
        nodes.append((key, val & 0xffffffff, buckets[h]))
        buckets[h] = n
    cur = len(nodes)
    nodes += [(0, 0, 0)] * (size - cur)
    out = [struct.pack(HEADERS[layout], *[header[f] for f in HFIELDS]),
           struct.pack(DESCR, size, cur, 0, 0, 0, 0, 0, 0)]
    out += [struct.pack(NODE, *n) for n in nodes]
    out.append(struct.pack("<%dI" % size, *buckets))
    return b"".join(out)


def unpack_file(data, layout="lp64"):
    hs = struct.calcsize(HEADERS[layout])
    h = dict(zip(HFIELDS, struct.unpack_from(HEADERS[layout], data, 0)))
    size, cur = struct.unpack_from("<2I", data, hs)
    base = hs + struct.calcsize(DESCR)
    ns = struct.calcsize(NODE)
    if len(data) != base + size * (ns + 4):
        raise ValueError("file size %d does not fit %d nodes" % (len(data), size))
    nodes = [struct.unpack_from(NODE, data, base + i * ns) for i in range(1, cur)]
    buckets = struct.unpack_from("<%dI" % size, data, base + size * ns)
    # consistency: every node reachable from its own bucket
    seen = set()
    for b, idx in enumerate(buckets):
        while idx:
            if idx in seen:
                raise ValueError("cycle in bucket %d" % b)
            seen.add(idx)
            key, _, nxt = nodes[idx - 1]
            if hash_key(key, size - 1) != b:
                raise ValueError("node %d in wrong bucket" % idx)
            idx = nxt
    if len(seen) != len(nodes):
        raise ValueError("%d of %d nodes reachable" % (len(seen), len(nodes)))
    return h, size, nodes


def image_part(path, kernel=False, anon=None):
    if kernel and "/" not in path:
        return "{kern}/" + path + "/"
    if anon:
        return "{anon:%s}/" % anon + path + "/"
    return "{root}/" + path + "/"      # gives "{root}//bin/ls/": '//' is fine


def sample_name(session, app, image, event, count, um, tgid="all", tid="all",
                cpu="all", kernel=False, cg=None, cg_kernel=False, anon=None):
    p = session + "/samples/current/" + image_part(app, kernel)
    p += "{dep}/" + image_part(image, kernel, anon)
    if cg:
        p += "{cg}/" + image_part(cg, cg_kernel)
    return os.path.normpath(p + "%s.%d.%d.%s.%s.%s" % (event, count, um, tgid, tid, cpu))


def mtime_of(path):
    try:
        return int(os.stat(path).st_mtime)
    except OSError:
        return 0


def sections(binary):
    """[(name, vma, filepos, size)] of executable sections, via readelf."""
    res = []
    txt = subprocess.run(["readelf", "-SW", binary], capture_output=True, text=True).stdout
    for line in txt.splitlines():
        if "]" not in line:
            continue
        f = line.split("]", 1)[1].split()
        if len(f) >= 7 and f[1] == "PROGBITS":
            res.append((f[0], int(f[2], 16), int(f[3], 16), int(f[4], 16)))
    return res


def sym_offset(binary, expr):
    """'0x40', '64' or 'name[+off]' -> file offset."""
    try:
        return int(expr, 0)
    except ValueError:
        pass
    name, _, off = expr.partition("+")
    off = int(off, 0) if off else 0
    txt = subprocess.run(["nm", binary], capture_output=True, text=True).stdout
    for line in txt.splitlines():
        f = line.split()
        if len(f) == 3 and f[2] == name and f[1] in "tTwW":
            vma = int(f[0], 16)
            for _, v, fp, size in sections(binary):
                if v <= vma < v + size:
                    return vma - v + fp + off
    sys.exit("no symbol %s in %s" % (name, binary))


def header(a, image, kernel=False, cg_kernel=False, cg_start=0):
    return dict(magic=MAGIC, version=VERSION, cpu_type=a.cpu_type, ctr_event=a.code,
                ctr_um=a.um, ctr_count=a.count, is_kernel=int(kernel),
                cpu_speed=a.mhz, mtime=mtime_of(image) if a.mtime is None else a.mtime,
                cg_to_is_kernel=int(cg_kernel), anon_start=a.start,
                cg_to_anon_start=cg_start)


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    print(path)


def write_flat(a, session, binary, counts, app=None):
    name = sample_name(session, app or a.app or binary, binary, a.event, a.count, a.um,
                       a.tgid, a.tid, a.cpu, a.kernel, anon=a.anon)
    put(name, pack_file(header(a, binary, a.kernel), counts, a.layout))


def write_cg(a, session, caller, callee, arcs, app=None):
    counts = {}
    for (frm, to), n in arcs.items():
        key = ((frm & 0xffffffff) << 32) | (to & 0xffffffff)
        counts[key] = counts.get(key, 0) + n
    name = sample_name(session, app or a.app or caller, caller, a.event, a.count, a.um,
                       a.tgid, a.tid, a.cpu, a.kernel, cg=callee)
    put(name, pack_file(header(a, caller, a.kernel), counts, a.layout))


DEMO_C = r"""
#include <stdio.h>
extern double lib_work(double);
__attribute__((noinline)) double leaf(double x) { return x * 1.5 + 1; }
__attribute__((noinline)) double mid(double x) { return leaf(x) + lib_work(x); }
int main(void) { double s = 0; for (int i = 0; i < 10; i++) s = mid(s); printf("%f\n", s); return 0; }
"""
DEMO_LIB_C = r"""
__attribute__((noinline)) double lib_work(double x)
{
	double s = x;
	for (int i = 0; i < 10; i++)
		s += i;
	return s;
}
"""
DEMO_LS_C = r"""
__attribute__((noinline)) int list(int n) { return n * 3 + 1; }
int main(int argc, char **argv) { (void)argv; return list(argc); }
"""


def demo(a, session, d):
    os.makedirs(d, exist_ok=True)
    for n, s in (("app.c", DEMO_C), ("lib.c", DEMO_LIB_C), ("ls.c", DEMO_LS_C)):
        with open(os.path.join(d, n), "w") as f:
            f.write(s.lstrip("\n"))
    app, lib = os.path.join(d, "app"), os.path.join(d, "libdemo.so")
    subprocess.check_call(["gcc", "-g", "-O1", "-fPIC", "-shared", "-o", lib, os.path.join(d, "lib.c")])
    subprocess.check_call(["gcc", "-g", "-O1", "-o", app, os.path.join(d, "app.c"), lib])
    so = lambda b, e: sym_offset(b, e)
    write_flat(a, session, app, {so(app, "leaf"): 700, so(app, "leaf+4"): 100,
                                 so(app, "mid+2"): 150, so(app, "main+8"): 50})
    write_flat(a, session, lib, {so(lib, "lib_work+4"): 1000}, app=app)
    # arcs: caller site -> callee pc, one file per (caller image, callee image)
    write_cg(a, session, app, app, {(so(app, "main+8"), so(app, "mid+2")): 150,
                                    (so(app, "mid+2"), so(app, "leaf")): 700,
                                    (so(app, "mid+2"), so(app, "leaf+4")): 100})
    write_cg(a, session, app, lib, {(so(app, "mid+2"), so(lib, "lib_work+4")): 1000})
    # a stripped program: its samples go to one "(no symbols)" line
    whole, ls = os.path.join(d, "ls.whole"), os.path.join(d, "ls")
    subprocess.check_call(["gcc", "-O1", "-o", whole, os.path.join(d, "ls.c")])
    subprocess.check_call(["strip", "-o", ls, whole])
    write_flat(a, session, ls, {so(whole, "list"): 7, so(whole, "list+2"): 3})


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--event", default="CPU_CLK_UNHALTED")
    p.add_argument("--count", type=int, default=100000)
    p.add_argument("--um", type=lambda s: int(s, 0), default=0)
    p.add_argument("--cpu-type", type=int, default=69)     # x86-64/generic
    p.add_argument("--code", type=lambda s: int(s, 0), default=0x76)
    p.add_argument("--mhz", type=float, default=2400.0)
    p.add_argument("--mtime", type=int)
    p.add_argument("--tgid", default="all")
    p.add_argument("--tid", default="all")
    p.add_argument("--cpu", default="all")
    p.add_argument("--app")
    p.add_argument("--kernel", action="store_true")
    p.add_argument("--anon")
    p.add_argument("--start", type=lambda s: int(s, 0), default=0)
    p.add_argument("--layout", choices=sorted(HEADERS), default="lp64")
    p.add_argument("mode", choices=["flat", "cg", "dump", "demo"])
    p.add_argument("args", nargs="+")
    a = p.parse_args()
    if a.mode == "dump":
        for fn in a.args:
            h, size, nodes = unpack_file(open(fn, "rb").read(), a.layout)
            print(fn)
            for k in HFIELDS:
                v = h[k]
                print("  %-17s %s" % (k, v if k in ("magic", "cpu_speed", "mtime") else hex(v)))
            print("  nodes %d of %d" % (len(nodes), size - 1))
            for key, val, _ in sorted(nodes):
                if "{cg}" in fn:
                    print("  %#x -> %#x  %d" % (key >> 32, key & 0xffffffff, val))
                else:
                    print("  %#x  %d" % (key, val))
    elif a.mode == "demo":
        demo(a, a.args[0], os.path.realpath(a.args[1]))
    elif a.mode == "flat":
        session, binary = a.args[:2]
        counts = {}
        for s in a.args[2:]:
            off, _, n = s.rpartition("=")
            o = sym_offset(binary, off)
            counts[o] = counts.get(o, 0) + int(n)
        write_flat(a, session, binary, counts)
    else:
        session, caller, callee = a.args[:3]
        arcs = {}
        for s in a.args[3:]:
            arc, _, n = s.rpartition("=")
            frm, _, to = arc.partition(":")
            k = (sym_offset(caller, frm), sym_offset(callee, to))
            arcs[k] = arcs.get(k, 0) + int(n)
        write_cg(a, session, caller, callee, arcs)


if __name__ == "__main__":
    main()
