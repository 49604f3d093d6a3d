/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of an image that are OCaml's, Ada's or Haskell's.
 *
 * These compilers write names that a C function could have, too: "camlA__b_12", "a__b",
 * "a_B_c_info". So a name counts as theirs only if its unit (an OCaml or Haskell module, a package
 * of Ada) has a certain other symbol. The language's compiler writes it beside the unit's
 * functions, and C does not need it:
 *
 *	OCaml	camlA__code_begin, camlA.code_begin
 *	Ada	a_E, a___elabb, a___elabs; a source file a.adb or a.ads; and any use of GNAT's
 *		runtime, which is enough for the packages ada, gnat, interfaces and system
 *	Haskell	a_B_…_closure, and any use of GHC's runtime
 *
 * Symbols may be of data, and undefined.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "demangle/demangle.h"

struct elf_symbol;

struct name_units {
	VEC(uint64_t) units; /* hashes, sorted by name_units_settle() */
	bool has_gnat, has_ghc;
};

void name_units_fini(struct name_units *u);

/* Looks at a symbol of the image, of any kind. */
void name_units_add(struct name_units *u, const struct elf_symbol *symbol);

/* To be called behind the last name_units_add() and before the first name_units_language(). */
void name_units_settle(struct name_units *u);

/* The language of a function's name, which needs no NUL; NAME_ANY for all other names. */
enum name_language name_units_language(const struct name_units *u, const char *name, size_t len);
