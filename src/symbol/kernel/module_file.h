/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside symbol/: the file of a kernel module, laid out as in the kernel's memory.
 *
 * A module is a relocatable ELF file: its sections have no addresses until it is loaded. The kernel
 * lays out the executable ones one behind the other, in the order of the file
 * (kernel/module/main.c, layout_sections()); architectures add to that. This code computes the same
 * layout. Offsets of functions that were known while the module was loaded correct it.
 *
 * The result is a copy in which sections and symbols have addresses, so that it reads like a linked
 * file. The module begins at MODULE_BASE, and offsets (machine/image.h) count from there.
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
 * The file of an image of kind MODULE with the image's content. By its build id in
 * DEBUGDIR/.build-id; or by its name in the modules.dep of /lib/modules/RELEASE, there and below
 * DEBUGDIR, compressed (.xz, .zst, .gz) or not; else by its name in the symbolizer's image_dirs. An
 * image without a build id must be the running kernel's. `known` (NULL: none) has offsets of
 * functions.
 */
bool module_file_open(struct symbolizer *s, const struct image *image, enum module_content content,
		      const struct symbol_table *known, struct module_file *out);
/*
 * The file of a module of another kernel, by its name. `release` is uname -r of that kernel, whose
 * modules.dep is below the symbolizer's root. "": the release is not known, and image_dirs has the
 * file.
 */
bool module_file_open_of_release(struct symbolizer *s, const struct image *image,
				 const char *release, struct module_file *out);
void module_file_close(struct module_file *m); /* { 0 } is fine */

/* Inside: gives addresses to the copy in bytes and elf. */
void module_file_link(struct module_file *m, const struct symbol_table *known);

/* The place of a link address in the copy; false if the file has no bytes for it. */
bool module_file_off(const struct module_file *m, uint64_t link_addr, uint64_t *file_off);
