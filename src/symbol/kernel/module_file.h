/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside symbol/: the file of a kernel module, as the kernel has it in memory.
 *
 * A module is a relocatable ELF file: its sections have no addresses until it is loaded. The kernel
 * lays the executable ones out one behind the other, in the order of the file
 * (kernel/module/main.c, layout_sections()); architectures add to that. So the layout is worked out
 * as the kernel does it, and where functions' offsets are known from when it was loaded, they have
 * the last word.
 *
 * What is given is a copy in which sections and symbols have addresses, so that it reads like a
 * linked file: MODULE_BASE is where the module begins, and offsets (machine/image.h) count from
 * there.
 */
#pragma once

#include "base/files/file.h"
#include "symbol/elf_draft.h"
#include "symbol/table.h"

#define MODULE_BASE (1ULL << 40)

struct module_file {
	uint8_t *bytes; /* NULL: not open */
	size_t size;
	struct elf_file elf; /* ET_REL, with addresses */
	struct code_segments segments;
	char *path;
	uint64_t mtime_ns;
};

enum module_content { MODULE_CODE, MODULE_SYMBOLS, MODULE_LINES };

/*
 * The file of an image of kind MODULE that has this content: by its build id in DEBUGDIR/.build-id,
 * or by its name in the modules.dep of /lib/modules/RELEASE, there and below DEBUGDIR; compressed
 * (.xz, .zst, .gz) or not; else by its name in the symbolizer's image_dirs. Without a build id it
 * is that of the running kernel. `known` (NULL: none) has offsets of functions.
 */
bool module_file_open(const struct symbolizer *s, const struct image *image,
		      enum module_content content, const struct symbol_table *known,
		      struct module_file *out);
void module_file_close(struct module_file *m); /* { 0 } is fine */

/* Inside: gives addresses to the copy that bytes and elf are of. */
void module_file_link(struct module_file *m, const struct symbol_table *known);

/* Where a link address is in the copy; false where the file has no bytes for it. */
bool module_file_off(const struct module_file *m, uint64_t link_addr, uint64_t *file_off);
