/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ada's names, as GNAT writes them (its exp_dbug.ads describes the encoding).
 *
 *	_ada_hello			hello
 *	shop__basket__put__2		shop.basket.put		(the second of that name)
 *	shop__Oadd			shop."+"
 *	shop__basketSR			shop.basket'Read
 *	shop___elabb			shop'Elab_Body
 *
 * Names are spelled as gdb and c++filt spell them. (libiberty has an ada_demangle().)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Puts the readable form in place of the content of `out`; false, and nothing in it, if damaged. */
bool gnat_demangle(const char *name, size_t len, struct buf *out);
