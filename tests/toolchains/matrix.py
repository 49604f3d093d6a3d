# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests/toolchains/run builds: languages, their compilers, and the flags of each program."""

# Flags that C and C++ share. A step after the compiler has a name in STEPS.
SHARED = [
    ("O0", "-O0 -g"),
    ("O1", "-O1 -g"),
    ("O2", "-O2 -g"),
    ("O3", "-O3 -g"),
    ("Os", "-Os -g"),
    ("lto", "-O2 -g -flto"),
    ("dwarf4", "-O2 -g -gdwarf-4"),
    ("gz", "-O2 -g -gz=zlib"),
    ("zstd", "-O2 -g -gz=zstd"),
    ("static", "-O2 -g -static"),
    ("sections", "-O2 -g -ffunction-sections -Wl,--gc-sections"),
    ("no-pie", "-O2 -g -fno-pie -no-pie"),
    ("split4", "-O2 -g -gdwarf-4 -gsplit-dwarf"),
    ("split5", "-O2 -g -gdwarf-5 -gsplit-dwarf"),
    ("dwp", "-O2 -g -gdwarf-5 -gsplit-dwarf | dwp"),
    ("dwz", "-O2 -g -gdwarf-4 | dwz"),
    ("link", "-O2 -g | link"),
    ("stripped", "-O2 | strip"),
    ("mini", "-O2 | mini"),
]
# Programs with the C library's own code and tables in them: language, source, title, flags.
STATIC = [(language, source, f"static {source.split('.')[0]} {level[1:]}", f"{level} -g -static -pthread")
          for language, source in (("C", "forks.c"), ("C++", "vectors.cc"), ("C", "threads.c"), ("C", "starts.c")) for level in ("-O0", "-O2")]
# The only unwind table is .debug_frame. C++ needs .eh_frame for its exceptions.
C_ALONE = [
    ("frame", "-O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables"),
    ("frame-gz", "-O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables -gz=zlib"),
    ("frame-zstd", "-O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables -gz=zstd"),
    ("frame-link", "-O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables | link"),
]
# The only unwind table is .sframe.
GCC_C_ALONE = [("sframe", "-O2 -g -fomit-frame-pointer -Wa,--gsframe | no-eh")]
CLANG_ALONE = [
    ("skeleton4", "-O2 -g -gdwarf-4 -gsplit-dwarf -fsplit-dwarf-inlining | no-dwo"),
    ("skeleton5", "-O2 -g -gdwarf-5 -gsplit-dwarf -fsplit-dwarf-inlining | no-dwo"),
]

# Shell commands with {out}, the program, in its folder. {out}.twin, if there is one, has the same code, and
# the peers read it in place of the program.
TWIN = "cp {out} {out}.twin && "
STEPS = {
    # Some builds of llvm-dwp wait for ever.
    "dwp": "timeout 60 llvm-dwp-{llvm} -e {out} -o {out}.dwp && rm -f *.dwo",
    # llvm-symbolizer does not read .gnu_debugaltlink.
    "dwz": TWIN + "cp {out} other && dwz -m common {out} other && rm other",
    # Of a program with a debug file llvm-symbolizer does not read the symbol table, which has the names of gcc's copies.
    "link": TWIN + "objcopy --only-keep-debug {out} {out}.debug && strip {out} && objcopy --add-gnu-debuglink={out}.debug {out}",
    "no-dwo": "rm *.dwo",
    "no-eh": TWIN + "objcopy --remove-section .eh_frame --remove-section .eh_frame_hdr {out}",
    "strip": "strip {out}",
    # MiniDebugInfo: a compressed symbol table in a section, which llvm-symbolizer does not read.
    "mini": TWIN + "objcopy --only-keep-debug {out} mini && xz mini && strip {out} && "
            "objcopy --add-section .gnu_debugdata=mini.xz {out} && rm mini.xz",
}

# Language: source, packages, compiler, command, programs. {n} is any version that the release has.
OTHERS = [
    ("Rust", "hot.rs", "rustc", "rustc -o {out} {source} {flags}",
     [("O0", "-g"), ("O2", "-g -O"), ("O3", "-g -C opt-level=3 -C codegen-units=1"), ("lto", "-g -O -C lto"),
      ("v0", "-g -O -C symbol-mangling-version=v0"), ("abort", "-g -O -C panic=abort")]),
    ("Go", "hot.go", "golang-go", "HOME=/tmp CGO_ENABLED=0 go build -o {out} {flags} {source}",
     [("default", ""), ("O0", "-gcflags='all=-N -l'"), ("pie", "-buildmode=pie"), ("no-gz", "-ldflags=-compressdwarf=false")]),
    ("Fortran", "hot.f90", "gfortran", "gfortran -o {out} {source} {flags}",
     [("O0", "-O0 -g"), ("O2", "-O2 -g"), ("O3", "-O3 -g"), ("lto", "-O2 -g -flto")]),
    ("D", "hot.d", "gdc", "gdc -o {out} {source} {flags}", [("O0", "-O0 -g"), ("O2", "-O2 -g")]),
    ("D", "hot.d", "ldc", "ldc2 -of={out} {source} {flags}", [("O0", "-g"), ("O2", "-O2 -g")]),
    ("Ada", "hot.adb", "gnat", "cp {source} . && gnatmake -o {out} hot.adb {flags}", [("O0", "-O0 -g"), ("O2", "-O2 -g")]),
    ("Pascal", "hot.pas", "fp-compiler fp-units-rtl", "cp {source} . && fpc -o{out} {flags} hot.pas",
     [("O1", "-gw3 -O1"), ("O3", "-gw3 -O3")]),
    ("OCaml", "hot.ml", "ocaml", "cp {source} . && ocamlopt -o {out} {flags} hot.ml", [("default", "-g"), ("O3", "-g -O3 -unsafe")]),
    ("OCaml", "fibers.ml", "ocaml", "cp {source} . && ocamlopt -o {out} {flags} fibers.ml", [("fibers", "-g")]),
    ("Haskell", "hot.hs", "ghc", "cp {source} . && ghc -o {out} {flags} hot.hs", [("O1", "-O1 -g"), ("O2", "-O2 -g2")]),
    ("Swift", "hot.swift", "swiftlang", "HOME=/tmp swiftc -o {out} {flags} {source}", [("O0", "-Onone -g"), ("O2", "-O -g")]),
    ("Zig", "hot.zig", "zig", "HOME=/tmp zig build-exe -femit-bin={out} {flags} {source}", [("O0", "-ODebug"), ("O2", "-OReleaseFast")]),
]

# Known differences from the oracle: a pattern of the test's title, and the reason.
KNOWN = [
    (r"sframe: stacks, gdb", "gdb does not read .sframe"),
    (r"^bookworm: .*dwp: stacks, gdb", "gdb 13 ends with an internal error"),
    (r"^bookworm: .*sframe", "binutils 2.40 writes .sframe version 1, which no program reads"),
    (r"Pascal.*: stacks", "Free Pascal 3.2.2 forgets saved registers in the .debug_frame of functions without a frame pointer"),
    (r"^bookworm: Go, .*: stacks", "Go 1.19: asyncPreempt on the first byte of a function, the first frames of threads, and the vdso"),
    (r"^bullseye: .*split4: lines", "LLVM 16 does not find the range lists of split DWARF 4"),
    (r"Haskell.*: lines", "GHC leaves code with lines out of its units' ranges, by which the peers find the unit first"),
]
