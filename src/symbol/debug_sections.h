/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The debug sections of an ELF file as plain bytes: compressed ones are unpacked. */
#pragma once

#include "base/files/file.h"
#include "elf/dwarf.h"
#include "elf/elf_file.h"

struct debug_sections {
	struct dwarf_file dwarf;
	uint8_t *unpacked[N_DWARF_SECTIONS]; /* NULL: in the file's own bytes */
	bool is_refused; /* its compressed sections claim more than elf_unpack_budget() */
};

/*
 * The sections of a whole file or, with `is_split`, the .dwo ones. False if it has no units. They
 * are views of the file's bytes, which must outlive them. A section that can't be unpacked counts
 * as missing. If the compressed ones are too large together, nothing is unpacked: `is_refused`.
 */
bool debug_sections_load(struct debug_sections *d, const struct elf_file *elf, bool is_split);
void debug_sections_fini(struct debug_sections *d);
