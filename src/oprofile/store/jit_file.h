/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A .jo file: an ELF file with names only, at the addresses of a process's JIT code. OProfile's
 * tools look for TGID.jo beside the folders of a process's anonymous memory, and so does `assay
 * import`.
 *
 * It has the functions as symbols, and sections without content; a gap of a page or more between
 * two functions begins a new section. Source of the layout: the ELF specification, and the output
 * of opjitconv.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf;

struct jit_symbol {
	uint64_t addr, size;
	const char *name;
	uint32_t order; /* of two that overlap, the one with the higher is whole */
};

/* Appends the file. The symbols are sorted, and cut where they overlap; empty ones are left out. */
void jit_file_write(struct buf *out, struct jit_symbol *symbols, size_t n);
