/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The procedure linkage table: the stubs for calls to other images.
 *
 * A stub jumps through a slot of the global offset table, and a relocation names the symbol whose
 * address the loader writes there. So stubs are found by decoding their jumps and looking up the
 * slots. This works for each section (.plt, .plt.sec, .plt.got, .iplt) and each linker. x86-64,
 * i386 and AArch64.
 *
 * Format: the psABIs' "Procedure Linkage Table" sections.
 */
#pragma once

#include "elf/elf_file.h"

struct elf_plt_entry {
	uint64_t link_addr, size;
	const char *name; /* of the function it leads to, in the file; NULL where … */
	uint64_t target;  /* … a resolver at this address chooses it (IRELATIVE); 0: not known */
};

/* A section that holds stubs; also what in it is no entry, such as the lazy resolver's. */
struct elf_plt_section {
	uint64_t link_addr, size;
};

struct elf_plt {
	struct {
		struct elf_plt_entry *data;
		size_t n, cap;
	} entries;
	struct {
		struct elf_plt_section *data;
		size_t n, cap;
	} sections;
};

/* Appends what there is, in no order that means anything. */
void elf_plt_read(const struct elf_file *elf, struct elf_plt *out);
void elf_plt_fini(struct elf_plt *plt);
