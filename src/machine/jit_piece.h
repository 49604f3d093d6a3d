/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A piece of a jitdump (foreign/jitdump.h): a row of the parser (guard/parser.h). A dump grows, so
 * each question goes on where the last answer ended.
 *
 *	question: u64     the place in the file
 *	          u64     the end of the file for the one who asks; it may have grown since
 *	          u8      JIT_PIECE_HEADER, JIT_PIECE_SWAPPED: as the last answer said
 *	answer:   struct jit_piece_head, codes, and the text of their names
 */
#pragma once

#include <stdint.h>

#include "foreign/jitdump.h"
#include "guard/parser.h"

enum {
	JIT_PIECE_HEADER = 1,     /* the file's header has been read */
	JIT_PIECE_SWAPPED = 2,    /* the file has the other byte order */
	JIT_PIECE_ARCH_CLOCK = 4, /* as in struct jitdump */
	JIT_PIECE_BROKEN = 8,     /* likewise */
	JIT_PIECE_LARGE = 16,     /* a record is larger than JIT_DUMP_RECORD_MAX_BYTES */
};

struct jit_piece_head {
	uint64_t end;      /* of the whole records that were read; the next question begins there */
	uint32_t n, flags; /* codes */
};

/* Without lines. The name of a move is not used. */
struct jit_piece_code {
	uint64_t addr, size, from_ns, file_off, index;
	uint32_t name; /* into the text */
	uint32_t is_move;
};

struct jit_piece {
	struct jit_piece_head head;
	const struct jit_piece_code *codes;
	const char *text;
};

extern const struct parser_row jit_piece_row;

/* Without a copy. False: it is no answer of the row. */
bool jit_piece_read(struct jit_piece *piece, const void *bytes, size_t size);

/* Adds the piece's codes to a dump. */
void jit_piece_add(const struct jit_piece *piece, struct jitdump *d);

/*
 * Asks for the piece at `at`. `flags` are those of the answer before, at first 0. *piece is in the
 * answer, which is the caller's. On failure there is no answer.
 */
int jit_piece_ask(const struct file_mapping *file, uint64_t at, uint32_t flags,
		  struct parser_answer *answer, struct jit_piece *piece);
