/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/kallsyms: the names of the running kernel and of its modules.
 *
 * Lines of "ADDRESS TYPE NAME" and, for a module's, "\t[MODULE]". Text symbols
 * have the types t, T, w and W, and data those of nm(1): b, d, r, g, s, v. Without permission
 * (kernel.kptr_restrict) all addresses are 0. See proc(5) and kernel/kallsyms.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct kernel_symbol {
	uint64_t addr;
	const char *name; /* NULL for data: it only ends the code before it; of_objects: for code */
	uint32_t name_len;
	uint16_t module; /* index into modules; 0: the kernel itself */
	char type;
};

struct kallsyms {
	VEC(struct kernel_symbol) symbols; /* in the file's order */
	VEC(char *) modules;               /* names without brackets; [0] is "" */
	uint64_t text_addr;                /* of _text; 0 if not there */
	bool has_kernel;                   /* false once the kernel's own symbols were dropped */
	bool is_hidden;                    /* there are symbols, and all addresses are 0 */
	bool of_objects;                   /* set before parsing: variables have names, not code */
	char *text;                        /* memory of names that were read from a file */
};

/* Reads and parses a file; 0 or a negative errno. */
int kallsyms_read(struct kallsyms *k, const char *path);

/* Parses bytes, which the names then point into. Lines that do not parse are left out. */
void kallsyms_parse(struct kallsyms *k, const char *text, size_t size);
void kallsyms_fini(struct kallsyms *k);

/* Frees the kernel's own symbols, and all memory if there are no modules. */
void kallsyms_drop_kernel(struct kallsyms *k);

/* The module's index, or -1. Brackets, a directory and ".ko…" are ignored, '-' counts as '_'. */
int kallsyms_module(const struct kallsyms *k, const char *name);

/*
 * The kernel's spelling of a module's name ("snd_hda" of "/lib/…/snd-hda.ko.xz"). The caller frees.
 */
char *kernel_module_name(const char *name);
