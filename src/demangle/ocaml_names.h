/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OCaml's names, as ocamlopt writes them: "camlModule__name_123" up to OCaml 5.0,
 * "camlModule.name_123" later, "camlModule$name_123" on some systems. The number stays: functions
 * of one name have different numbers. "$2b" is a character by its code.
 *
 *	camlStdlib__List.map_321	Stdlib.List.map_321
 *	camlStdlib__$40_193		Stdlib.@_193
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Puts the readable form in place of the content of `out`; false, and nothing in it, if damaged. */
bool ocaml_demangle(const char *name, size_t len, struct buf *out);
