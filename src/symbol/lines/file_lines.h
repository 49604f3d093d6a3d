/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of an ELF file, from its own debug information or its debug file's: a row of the parser
 * (guard/parser.h).
 *
 *	question: struct build_id     of the wanted file; len 0: any
 *	answer:   struct file_lines_head, two texts, padding to 8 bytes, and a line block
 *	          (symbol/lines/line_index.h), which is empty without debug information
 *
 * Its wishes are debug files (symbol/debug_file.h), split ones (symbol/split_files.h), and
 *
 *	WISH_ALT_FILE   u8 place (0: of its name, 1: of its build id), struct build_id, name
 */
#pragma once

#include "guard/parser.h"
#include "symbol/debug_file.h"
#include "symbol/elf_draft.h"
#include "symbol/lines/line_index.h"
#include "symbol/lines/lines.h"

/* A file whose compressed sections are too large together (symbol/debug_sections.h). */
enum { REFUSED_NONE, REFUSED_IMAGE, REFUSED_DEBUG_FILE, REFUSED_ALT_FILE, N_REFUSED };

struct file_lines_head {
	int32_t result;  /* of elf_file_open() */
	uint32_t status; /* LINES_OWN, LINES_DEBUG_FILE or LINES_NONE */
	uint32_t refused;
	uint32_t is_cut;     /* bytes were read that a file has no longer */
	uint32_t is_damaged; /* more than debug information can have in its size */
	uint32_t pad0;
	uint64_t n_units, n_bad_units;
	uint64_t n_missing_split; /* .dwo files that are missing, or of another build */
	struct build_id build_id;
	uint8_t pad[3];
};

struct file_lines {
	struct file_lines_head head;
	const char *missing_alt;   /* the name of dwz's common file, if it was not found; "" */
	const char *missing_split; /* the path of one, as the debug information has it; "" */
	const void *block;         /* NULL: not the wanted file */
	size_t block_size;
};

extern const struct parser_row file_lines_row;

/* False: it is no answer of the row. Then *out has no meaning. */
bool file_lines_read(struct file_lines *out, const void *bytes, size_t size);

/* Appends an answer for an image that is open and right. `segments`: of its code. */
void file_lines_make(struct parser_job *job, const struct elf_file *image,
		     const struct code_segments *segments);
