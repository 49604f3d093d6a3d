/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where an image has code: its executable sections, or, without any, its executable segments.
 *
 * A segment is more than code where the linker did not separate it: headers, constants and unwind
 * tables can be twice as long.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct elf_code_range {
	uint64_t link_addr, file_off, size; /* within the file; size > 0 */
};

struct elf_code {
	struct elf_code_range *data; /* by file_off, without overlaps */
	size_t n, cap;
};

/* Fills an empty `out`. Sections count as far as they lie in executable PT_LOADs. */
void elf_code_find(const struct elf_file *image, struct elf_code *out);
void elf_code_fini(struct elf_code *code);
