/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions start and end, from the unwind tables (.eh_frame).
 *
 * strip(1) leaves these, as exceptions and backtraces need them. An FDE covers
 * a function, or one part of a function that the compiler split (elf/elf_frames.h).
 */
#pragma once

#include "elf/elf_file.h"

struct elf_function {
	uint64_t link_addr, size;
};
struct elf_functions {
	struct elf_function *data;
	size_t n, cap;
};

/* Appends them in the file's order; what can't be read is left out. */
void elf_functions_read(const struct elf_file *elf, struct elf_functions *out);
void elf_functions_fini(struct elf_functions *f);
