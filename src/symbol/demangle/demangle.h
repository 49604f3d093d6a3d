/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for people: C++ (Itanium ABI), Rust (legacy and v0) and D. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/*
 * Puts the demangled name in place of what `out` holds, NUL-terminated. False
 * when the name is not a mangled one, is damaged, is longer than 128 KiB (Rust: 16 KiB, D: 1 KiB),
 * or unfolds to more than 64 KiB and 16 times its own length (names can double with every few
 * characters). What follows an '@' ("_Znwm@plt") stays as it is. Rust's hash at the end of legacy
 * names is left out. C++ has a demangler of our own (symbol/demangle/itanium.h); in a build without
 * libiberty, Rust's new names and D's stay as they are.
 */
bool demangle(const char *name, struct buf *out);

/* The same without parameters and what belongs to them: "shop::find", not "shop::find(int) const".
 */
bool demangle_short(const char *name, struct buf *out);
