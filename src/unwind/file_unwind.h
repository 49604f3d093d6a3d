/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind table of an ELF file: a row of the parser (guard/parser.h). Its wishes are debug files
 * (symbol/debug_file.h).
 *
 *	question: struct build_id, u8      of the wanted file, len 0: any; whether to search a debug
 *	                                   file
 *	answer:   struct file_unwind_head, the name of the debug link, padding to 8 bytes, and a
 *	          block (unwind/table.h)
 */
#pragma once

#include "guard/parser.h"
#include "unwind/table.h"

struct file_unwind_head {
	int32_t result;       /* of elf_file_open() and unwind_build() */
	uint32_t is_replaced; /* the file has another build id */
	uint32_t is_elf;
	uint32_t is_cut; /* bytes were read that the image has no longer */
	uint32_t link_crc;
	struct build_id build_id;
	uint8_t pad[7];
};

struct file_unwind {
	struct file_unwind_head head;
	const char *link_name; /* "" */
	const void *block;     /* NULL: none */
	size_t block_size;
};

extern const struct parser_row file_unwind_row;

/* False: it is no answer of the row. Then *out has no meaning. */
bool file_unwind_read(struct file_unwind *out, const void *bytes, size_t size);
