/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits for names of D, whose demangler (libiberty's) can't be stopped half-way.
 *
 * "Q" and a distance repeat an earlier type or identifier of the name. A repeated type may repeat
 * others, so that the text can double with every five characters. The demangler also reads the type
 * of a function in a name twice if the type turns out to be damaged: the time can double with every
 * four characters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether `name`, of `len` characters, takes at most 4 MB of text and some 0.1 s. The estimate is
 * generous: of 16,856 names of libgphobos (gcc 15 and 16), 23 are refused.
 */
bool d_name_is_harmless(const char *name, size_t len);
