/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A .jo file: an ELF file of names alone, at the addresses where a process had made code.
 * OProfile's tools look for TGID.jo beside the folders of a process's anonymous memory, and so does
 * `assay import`.
 *
 * It has sections without content, a new one where a page or more is between two functions, and
 * the functions as symbols. Source of the layout: the ELF specification, and what opjitconv makes.
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
