/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside symbol/: the lines of one image, and their sources. */
#pragma once

#include "base/buf.h"
#include "base/files/file.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/strings.h"
#include "guard/parser.h"
#include "machine/image.h"
#include "symbol/lines/line_index.h"
#include "symbol/lines/lines.h"

/*
 * Lines of a session's code without a file, sorted by offset. They are spread over all addresses,
 * which an index can't be.
 */
struct line_given {
	uint64_t offset, size;
	string_id file;
	uint32_t line;
};

struct line_table {
	struct line_index index;     /* no header: empty */
	struct parser_answer answer; /* of the parser, which has the block, or … */
	struct line_header *block;   /* … it is owned; or … */
	struct file_mapping mapping; /* … the cache file */
	enum line_status status;
	char *detail;             /* NULL: "" */
	struct buf missing_split; /* the wish (WISH_SPLIT) for the .dwo file that detail names */
	struct intmap name_index; /* place in text, to … */
	VEC(const char *) names;  /* … its name for people, in the symbolizer's arena */
	VEC(struct line_given) given; /* instead of an index */
	struct strings given_files;
};

/* Never NULL. */
struct line_table *line_table_open(struct symbolizer *s, const struct image *image);

/* The lines in the given symbols; NULL if there are none. */
struct line_table *line_table_given(const struct given_symbol *given, size_t n);

/* The first of the given lines that ends behind the offset; n of them if there is none. */
size_t line_table_given_at(const struct line_table *t, uint64_t offset);
void line_table_free(struct line_table *t); /* NULL is fine */
