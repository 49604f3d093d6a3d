/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for people: C++ (Itanium ABI), Rust (legacy and v0), D, Fortran's modules; and OCaml, Ada
 * and Haskell, whose names only their image can tell from C's (symbol/demangle/name_units.h).
 * Swift's are in symbol/demangle/swift_names.h. docs/architecture.md says why.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* NAME_ANY: the name alone tells. The numbers are in cache files. */
enum name_language { NAME_ANY, NAME_OCAML, NAME_ADA, NAME_HASKELL, N_NAME_LANGUAGES };

/*
 * Puts the demangled name in place of what `out` holds, NUL-terminated. False
 * when the name is not a mangled one, is damaged, is longer than 128 KiB (Rust: 16 KiB, D: 1 KiB),
 * or unfolds to more than 64 KiB and 16 times its own length (names can double with every few
 * characters). What follows an '@' ("_Znwm@plt") stays as it is, and what compilers add for copies
 * of a function becomes " [clone .cold]". Rust's hash at the end of legacy names is left out. C++
 * has a demangler of our own (symbol/demangle/itanium.h); in a build without libiberty, Rust's new
 * names and D's stay as they are.
 */
bool demangle(const char *name, struct buf *out);
bool demangle_in(enum name_language language, const char *name, struct buf *out);

/* The same without parameters and what belongs to them: "shop::find", not "shop::find(int) const".
 */
bool demangle_short(const char *name, struct buf *out);
bool demangle_short_in(enum name_language language, const char *name, struct buf *out);

/* Whether a name can only be a mangled one (C++, Rust, D), readable or not. */
bool is_mangled_name(const char *name);
