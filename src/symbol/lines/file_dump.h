/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names and the lines of a jitdump (foreign/jitdump.h): a row of the parser (guard/parser.h).
 *
 *	question: u8      enum dump_part
 *	answer:   struct file_dump_head, and a block: of symbols (symbol/index.h), or of lines
 *	          (symbol/lines/line_index.h)
 */
#pragma once

#include "base/files/file.h"
#include "guard/parser.h"

enum dump_part { DUMP_SYMBOLS, DUMP_LINES, N_DUMP_PARTS };

struct file_dump_head {
	uint32_t part, pad;
};

extern const struct parser_row file_dump_row;

/* False: it is no answer of the row. *block NULL: the dump has none. */
bool file_dump_read(enum dump_part *part, void **block, size_t *size, void *bytes, size_t n_bytes);

/*
 * Asks for a part. *block is in the answer, which is the caller's; NULL: the dump has none. On
 * failure there is no answer.
 */
int file_dump_ask(const struct file_mapping *file, enum dump_part part,
		  struct parser_answer *answer, void **block, size_t *size, struct error *err);
