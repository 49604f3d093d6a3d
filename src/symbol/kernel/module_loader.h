/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside symbol/: the kernel that a module was loaded into, and the module's code from its file.
 *
 * A file must have the build id of the recording, or put its functions where kallsyms has them.
 * symbol/kernel/module_code.h lists the changes that loading makes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/reader.h"

struct elf_file;
struct module_code;
struct module_file;
struct module_loader;

struct module_loader_config {
	const char *kallsyms; /* a copy of /proc/kallsyms; NULL: only its file has the symbols */
	/* The kernel's file, and the distance from its addresses; NULL: not needed. */
	const struct elf_file *vmlinux;
	uint64_t slide;
	/* The kernel's code as it was in memory; empty: only a file has it. Of the caller. */
	struct reader memory;
	uint64_t memory_addr;
};

/* Slow, and once for all modules of a kernel. */
struct module_loader *module_loader_new(const struct module_loader_config *config);
void module_loader_free(struct module_loader *l); /* NULL is fine */

/*
 * The code of the module that was loaded at `start`. NULL: *why is a sentence's end, static.
 * `has_build_id`: the file has the recorded one.
 */
struct module_code *module_loader_load(const struct module_loader *l,
				       const struct module_file *file, const char *name,
				       uint64_t start, uint64_t end, bool has_build_id,
				       const char **why);
