/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line index: what one image's debug information says of its code, as one immutable block.
 *
 * As with symbols (symbol/index.h) the block is the same in memory and in a cache file,
 * DIR/BUILDID.lines, so that opening a cached one is a mapping and a checksum:
 *
 *	struct line_header
 *	u32 row_starts[n_rows]       ascending, as are all starts: offset - base
 *	u32 scope_starts[n_scopes]
 *	struct line_place row_places[n_rows]
 *	u32 scope_nodes[n_scopes]    the innermost function there; NO_NODE: none is known
 *	struct line_node nodes[n_nodes]
 *	char text[]                  NUL-terminated names and paths; text[0] is ""
 *
 *	row:    |file 3 line 10|file 3 line 11 |file 9 line 210  |file 3 line 12 |no line|
 *	scope:  |main          |std::sort      |__introsort      |main           |none   |
 *	nodes:  main <- std::sort (called at file 3 line 11) <- __introsort (at file 7 line 1977)
 *
 * A row or scope holds up to the next one's start. Offsets count as machine/image.h
 * says; an image's code spans less than 4 GiB from `base`. line_index_open() checks that
 * the arrays are inside the block and the text ends; numbers out of them are checked where they
 * are used, so that a damaged block can give wrong names and never a bad access.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/file.h"

#define LINE_MAGIC   "assaylin"
#define LINE_VERSION 1

#define NO_NODE UINT32_MAX

struct line_header {
	char magic[8];
	uint32_t version;
	uint32_t n_rows, n_scopes, n_nodes;
	uint64_t base;
	uint64_t text_size; /* the last NUL included */
	uint64_t checksum;  /* XXH3 of the block, this field taken as 0 */
	struct build_id build_id;
	uint8_t pad[3];
};
_Static_assert(sizeof(struct line_header) == 72, "line header is a file format");

struct line_place {
	uint32_t file; /* in text; 0: none */
	uint32_t line;
	uint16_t column, pad;
};
_Static_assert(sizeof(struct line_place) == 12, "line places are a file format");

struct line_node {
	uint32_t parent; /* the function that this one is inlined into; NO_NODE: it is not */
	uint32_t name;   /* in text, as in the symbol table (mangled); 0: not known */
	struct line_place called; /* where, if inlined */
};
_Static_assert(sizeof(struct line_node) == 20, "line nodes are a file format");

struct line_index {
	const struct line_header *header;
	size_t size;
	const uint32_t *row_starts, *scope_starts, *scope_nodes;
	const struct line_place *row_places;
	const struct line_node *nodes;
	const char *text;
};

/* False if the bytes (8-byte aligned) are not an index of this version. */
bool line_index_open(struct line_index *ix, const void *bytes, size_t size);

/* The last start at or below the offset: UINT32_MAX if there is none. */
uint32_t line_index_row(const struct line_index *ix, uint64_t offset);
uint32_t line_index_scope(const struct line_index *ix, uint64_t offset);

const char *line_index_text(const struct line_index *ix, uint32_t at); /* "" beyond the end */

/* As cache_open() and cache_write() of symbol/cache.h. */
bool line_cache_open(const char *dir, const struct build_id *id, struct file_mapping *mapping,
		     struct line_index *ix);
void line_cache_write(const char *dir, const struct build_id *id, struct line_header *block,
		      size_t size);
