/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's list of its modules, /proc/modules, and copies of it (proc_modules(5)). A line:
 *
 *     nf_tables 303104 1 nft_compat, Live 0xffffffffc0a01000 (E)
 *     name, bytes, users, modules that need it, state, address, perhaps flags
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { PROC_MODULES_BYTES = 16 << 20, PROC_MODULE_NAME = 128 }; /* a longer list is refused */

struct proc_module {
	char name[PROC_MODULE_NAME]; /* a longer name is cut */
	uint64_t size, addr;
};

/*
 * The next module of a text that ends with NUL; *text goes on behind its line. Other lines, and
 * modules with the size 0 or a hidden address (0), are left out. False: there is none.
 */
bool proc_modules_next(const char **text, struct proc_module *out);
