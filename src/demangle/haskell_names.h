/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Haskell's names as GHC writes them (z-encoding): package_Module_name_info.
 *
 *	base_GHCziBase_map_info		base:GHC.Base.map
 *	Main_zdwfib_info		Main.$wfib
 *	base_GHCziBase_Just_con_info	base:GHC.Base.Just [con_info]
 *
 * In an encoded part, 'z' and 'Z' start an escape, and there is no '_'.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* The length of "package_Module" or "Module" at the start of a symbol of GHC; 0 in other names. */
size_t haskell_module_len(const char *name, size_t len);

/* Puts the readable form in place of the content of `out`; false, and nothing in it, if damaged. */
bool haskell_demangle(const char *name, size_t len, struct buf *out);
