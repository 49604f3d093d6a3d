/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack trace information of .sframe: what .eh_frame says of the frame address, the frame
 * pointer and the return address, in a form that needs no program to be run.
 *
 *	struct elf_sframe s;
 *	struct elf_sframe_function f;
 *	struct elf_sframe_row row;
 *
 *	if (elf_sframe_open(&s, &elf))
 *		for (uint32_t i = 0; elf_sframe_function(&s, i, &f); i++)
 *			while (elf_sframe_next(&s, &f, &row))
 *				...
 *
 * Format: "The SFrame Format" of GNU binutils, versions 2 and 3; x86-64 and AArch64. Flexible
 * functions of version 3 (other registers) are left out.
 */
#pragma once

#include "elf/elf_file.h"

struct elf_sframe {
	const struct elf_file *elf;
	struct reader functions, rows; /* the function index; what it points into */
	uint64_t functions_addr;       /* link address of the index */
	uint64_t start_addr;           /* … of the section */
	uint32_t n_functions;
	uint8_t version;
	bool is_pc_relative;   /* starts count from their own place, not from the section's */
	bool has_fixed_ra;     /* the return address is at CFA + ra_off */
	int8_t ra_off, fp_off; /* fp_off 0: each row has its own */
};

struct elf_sframe_function {
	uint64_t link_addr, size;
	uint32_t repeat;    /* the rows are those of each piece of so many bytes (PLT); 0: of the
			       function */
	uint8_t addr_bytes; /* of a row's start */
	uint32_t n_rows;    /* left */
	struct reader rows;
};

struct elf_sframe_row {
	uint32_t offset;     /* of the function, or of the piece */
	bool is_end;         /* the outermost frame */
	bool is_by_fp;       /* the CFA counts from the frame pointer, not from the stack pointer */
	bool has_ra, has_fp; /* they are saved; else in their registers */
	int32_t cfa, ra, fp; /* offsets in bytes; the last two from the CFA */
};

/* False if there is none of these versions and processors. */
bool elf_sframe_open(struct elf_sframe *out, const struct elf_file *elf);

/* The i-th one; false beyond the end. One that is not read has no rows. */
bool elf_sframe_function(const struct elf_sframe *s, uint32_t i, struct elf_sframe_function *out);
bool elf_sframe_next(const struct elf_sframe *s, struct elf_sframe_function *f,
		     struct elf_sframe_row *out);
