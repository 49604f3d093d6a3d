/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for people: C++ (Itanium ABI), Rust (legacy and v0), D and Fortran's modules. Also OCaml,
 * Ada and Haskell, whose names differ from C's only by their image (demangle/name_units.h).
 * Swift's are in demangle/swift_names.h. docs/architecture.md has the reasons.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/*
 * NAME_ANY: the language follows from the name. Go's names are not mangled. The numbers are in
 * cache files.
 */
enum name_language { NAME_ANY, NAME_OCAML, NAME_ADA, NAME_HASKELL, NAME_GO, N_NAME_LANGUAGES };

/*
 * Puts the demangled name in place of the content of `out`, NUL-terminated. False if the name is
 * not mangled, is damaged, is longer than 128 KiB (Rust: 16 KiB, D: 1 KiB), or unfolds to more than
 * 64 KiB and 16 times its own length. (Names can double with every few characters.)
 *
 * Text behind an '@' ("_Znwm@plt") stays as it is. Compilers' additions for copies of a function
 * become " [clone .cold]". Rust's hash at the end of legacy names is left out. C++ has our own
 * demangler (demangle/itanium.h); in a build without libiberty, Rust's new names and D's
 * stay as they are.
 */
bool demangle(const char *name, struct buf *out);
bool demangle_in(enum name_language language, const char *name, struct buf *out);

/* The same without parameters and their qualifiers: "shop::find", not "shop::find(int) const". */
bool demangle_short(const char *name, struct buf *out);
bool demangle_short_in(enum name_language language, const char *name, struct buf *out);

/* Whether a name can only be a mangled one (C++, Rust, D), readable or not. */
bool is_mangled_name(const char *name);
