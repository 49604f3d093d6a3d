/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line index: the lines and inlined functions of one image's code, as one immutable block.
 *
 * As with symbols (symbol/index.h), the block is the same in memory and in a cache file,
 * DIR/BUILDID.lines. So a cached one only needs to be mapped and its checksum compared:
 *
 *	struct line_header
 *	struct line_row rows[n_rows]         ascending, as are scopes, by start: offset - base
 *	struct line_scope scopes[n_scopes]
 *	struct line_node nodes[n_nodes]
 *	struct line_place places[n_places]   each once, mostly; places[0] is none
 *	struct line_bucket buckets[n_buckets + 1]   bucket b is of the starts from b << shift on, so
 *	                                     that a look-up reads two cache lines of each array
 *	char text[]                          NUL-terminated names and paths; text[0] is ""
 *
 *	row:    |file 3 line 10|file 3 line 11 |file 9 line 210  |file 3 line 12 |no line|
 *	scope:  |main          |std::sort      |__introsort      |main           |none   |
 *	nodes:  main <- std::sort (called at file 3 line 11) <- __introsort (at file 7 line 1977)
 *
 * An index without rows and scopes says that there is no debug information. It is good as long as
 *no debug file appears.
 *
 * A row or scope reaches to the next one's start. Offsets count as in machine/image.h; an image's
 * code spans less than 4 GiB from `base`. line_index_open() checks that the arrays are inside the
 * block and that the text ends. Users of the arrays check each number, so a damaged block can give
 * wrong names, never a bad access.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/files/file.h"

#define LINE_MAGIC   "assaylin"
#define LINE_VERSION 7

#define NO_NODE UINT32_MAX

struct line_header {
	char magic[8];
	uint32_t version;
	uint32_t n_rows, n_scopes, n_nodes, n_places, n_buckets;
	uint32_t shift;
	uint32_t debug_link; /* of an empty index: the image's link to a debug file, in text */
	uint64_t base;
	uint64_t text_size; /* the last NUL included */
	uint64_t checksum;  /* XXH3 of the block, this field taken as 0 */
	uint64_t evidence;  /* of an empty index: debug_file_evidence() when it was made */
	struct build_id build_id;
	struct build_id own_id; /* of an empty index: the image's own */
	uint16_t owner;         /* who owns the image's file: block_owner() */
	uint8_t pad[4];
};
_Static_assert(sizeof(struct line_header) == 120, "line header is a file format");

/* Templates in headers are compiled often: many rows share few places, which are separate. */
struct line_row {
	uint32_t start;
	uint32_t place; /* 0: code without a line */
};
_Static_assert(sizeof(struct line_row) == 8, "line rows are a file format");

struct line_scope {
	uint32_t start;
	uint32_t node; /* the innermost function there; NO_NODE: not known */
};
_Static_assert(sizeof(struct line_scope) == 8, "line scopes are a file format");

struct line_place {
	uint32_t file; /* in text; 0: none */
	uint32_t line;
	uint16_t column;
	uint16_t discriminator; /* as LLVM numbers a line's pieces of code */
};
_Static_assert(sizeof(struct line_place) == 12, "line places are a file format");

struct line_node {
	uint32_t parent;    /* the function that this one is inlined into; NO_NODE: not inlined */
	uint32_t name;      /* in text, as in the symbol table (mangled); 0: not known */
	uint32_t called;    /* if inlined: the place of the call */
	uint32_t decl_line; /* line of the function's declaration; 0: not known */
};
_Static_assert(sizeof(struct line_node) == 16, "line nodes are a file format");

struct line_bucket {
	uint32_t row, scope; /* the number of starts before it */
};
_Static_assert(sizeof(struct line_bucket) == 8, "line buckets are a file format");

struct line_index {
	const struct line_header *header;
	size_t size;
	const struct line_row *rows;
	const struct line_scope *scopes;
	const struct line_node *nodes;
	const struct line_place *places;
	const struct line_bucket *buckets;
	const char *text;
};

/*
 * A new block with the counts and the base of `like`, for code that ends at offset base + span. The
 * caller fills the arrays through *out, and the text_size bytes of text, and then calls
 * line_block_seal(). The block is the caller's to free().
 */
struct line_header *line_block_new(const struct line_header *like, uint32_t span, size_t *size,
				   struct line_index *out);
void line_block_seal(struct line_header *block, size_t size);

/* An empty index. `debug_link`: "" without one. */
struct line_header *line_block_empty(const struct build_id *own_id, const char *debug_link,
				     size_t *size);

static inline bool line_index_is_empty(const struct line_index *ix)
{
	return !ix->header->n_rows && !ix->header->n_scopes;
}

/* False if the bytes (8-byte aligned) are not an index of this version. */
bool line_index_open(struct line_index *ix, const void *bytes, size_t size);

/* Whether all numbers are in their bounds and starts ascend: of a block that a stranger made. */
bool line_index_is_sound(const struct line_index *ix);

/*
 * The last start at or below the offset: UINT32_MAX if there is none. Less than n_rows, n_scopes.
 */
uint32_t line_index_row(const struct line_index *ix, uint64_t offset);
uint32_t line_index_scope(const struct line_index *ix, uint64_t offset);

/* Two steps that fetch data into the cache: the first for many offsets, then the second. */
void line_index_fetch_bucket(const struct line_index *ix, uint64_t offset);
void line_index_fetch_starts(const struct line_index *ix, uint64_t offset);

/* None beyond the end. */
static inline struct line_place line_index_place(const struct line_index *ix, uint32_t i)
{
	return ix->header && i < ix->header->n_places ? ix->places[i] : (struct line_place){ 0 };
}

/* "" beyond the end. */
static inline const char *line_index_text(const struct line_index *ix, uint32_t at)
{
	return ix->header && at < ix->header->text_size ? ix->text + at : "";
}

/* As cache_open() and cache_write() of symbol/cache.h. */
bool line_cache_open(const char *dir, const struct build_id *id, struct file_mapping *mapping,
		     struct line_index *ix);
void line_cache_write(const char *dir, const struct build_id *id, uint32_t uid,
		      struct line_header *block, size_t size);
