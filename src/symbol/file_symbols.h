/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of an ELF file and of its debug file: a row of the parser (guard/parser.h).
 *
 *	question: struct file_symbols_question
 *	answer:   struct file_symbols_head, two texts, padding to 8 bytes, and an index block
 *	          (symbol/index.h)
 */
#pragma once

#include "guard/parser.h"
#include "symbol/debug_file.h"
#include "symbol/index.h"
#include "symbol/symbols.h"

struct file_symbols_question {
	struct build_id build_id; /* of the wanted file; len 0: any */
	uint8_t wants_objects;    /* variables, by the offsets of data_segments_of_image() */
};

struct file_symbols_head {
	int32_t result;       /* of elf_file_open(), with its message as the first text */
	uint32_t passed_over; /* the place of a debug file of another build; DEBUG_FILE_NONE */
	uint32_t is_cut;      /* bytes were read that a file has no longer */
	struct build_id build_id;
	uint8_t pad[3];
};

struct file_symbols {
	struct file_symbols_head head;
	const char *text, *link_name; /* in the answer; "" */
	const void *block;            /* NULL: another build, or neither symbols nor code */
	size_t block_size;
};

extern const struct parser_row file_symbols_row;

/* The same for names that a recording keeps: no other question waits for these. */
extern const struct parser_row file_symbols_kept_row;

/* False: it is no answer of the row. Then *out has no meaning. */
bool file_symbols_read(struct file_symbols *out, const void *bytes, size_t size);
