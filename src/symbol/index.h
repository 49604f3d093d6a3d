/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A symbol index: one image's sorted symbols as one immutable block of bytes.
 *
 * The block is the same in memory and in a cache file (symbol/cache.h), so a cached one only needs
 * to be mapped:
 *
 *	struct index_header
 *	u64 starts[n]      ascending; units as in machine/image.h
 *	u32 sizes[n]
 *	u32 names[n]       into text; of a bracketed one: the known symbol below
 *	u32 outers[n]      only with INDEX_NESTED: the symbol around it, or NO_SYMBOL
 *	u32 ends[n]        only with INDEX_BRACKETED: the known symbol above;
 *	                   NO_SYMBOL for one that has a name
 *	u8 languages[n]    only with INDEX_LANGUAGES: enum name_language
 *	char text[]        NUL-terminated names; text[0] is ""
 *
 * index_open() checks that the arrays are inside the block and that the text ends. Users of the
 * arrays check each number. A block with wrong numbers can give wrong names, never a bad access.
 *
 * An address with several symbols (aliases) gets one of them, by these rules in turn. A function
 * before an untyped label. A symbol that other files can see (global or weak) before a local one.
 * Fewer leading underscores ("write", which is weak in the C library, before its global "__write").
 * Global before weak. The larger one. The shorter name. The first in byte order.
 *
 * A symbol without a size runs to the next symbol or the end of its section. Inside a sized symbol,
 * it is a label of that symbol and left out. Sized symbols may nest (an entry point inside a
 * function): an address belongs to the innermost one that covers it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/mem.h"
#include "demangle/name_units.h"

#define INDEX_MAGIC "assaysym"
#define INDEX_VERSION \
	8 /* changes with the layout, the flags, and the rules for aliases and sizes */
/*
 * Still read where files are not made again, as in fleets. Version 6 never had INDEX_OLD_GO, and
 * before version 8 no function had NAME_GO.
 */
#define INDEX_OLDEST 6

enum { INDEX_NESTED = 1, INDEX_BRACKETED = 2, INDEX_LANGUAGES = 4, INDEX_OLD_GO = 8 };

struct index_header {
	char magic[8];
	uint32_t version;
	uint32_t n;
	uint32_t flags;
	uint32_t status;    /* enum symbol_status of the table */
	uint64_t text_size; /* bytes of text, the last NUL included */
	uint64_t evidence;  /* cache.h: the state of the files that a stripped image's search saw */
	uint64_t checksum;  /* cache.h: XXH3 of the block, this field taken as 0 */
	struct build_id build_id; /* cache.h: the key, which is a build id only of trusted files */
	struct build_id own_id;   /* the image's; len 0: it has none */
	uint16_t owner;           /* cache.h: who owns the image's file: block_owner() */
	uint32_t debug_link;      /* in text: the .gnu_debuglink of the image; "" if none */
};
_Static_assert(sizeof(struct index_header) == 96, "index header is a file format");

/* A view of a block, which stays the caller's. */
struct index {
	const struct index_header *header;
	size_t size; /* of the whole block */
	uint32_t n;
	const uint64_t *starts;
	const uint32_t *sizes, *names, *outers, *ends; /* the last two may be NULL */
	const uint8_t *languages;                      /* may be NULL */
	const char *text;
	uint64_t text_size;
};

/* INDEX_OLDEST to INDEX_VERSION. */
bool index_version_is_known(uint32_t version);

/* False if the bytes are not an index of a known version. They must be 8-byte aligned. */
bool index_open(struct index *ix, const void *bytes, size_t size);

/* Whether all numbers are in their bounds and the starts ascend: of a block that a stranger made.
 */
bool index_is_sound(const struct index *ix);

/* The innermost symbol that covers the offset, or NO_SYMBOL (UINT32_MAX). */
uint32_t index_find(const struct index *ix, uint64_t offset);

const char *index_text(const struct index *ix, uint32_t at); /* "" beyond the end */

enum name_language index_language(const struct index *ix, uint32_t i);

/* The input of an index: symbols in any order. */
struct index_draft_symbol {
	uint64_t offset, size; /* size 0: not known */
	const char *name;      /* not NUL-terminated; NULL: a function without a name */
	uint32_t name_len;
	uint8_t rank;  /* 0 is best: index_draft_rank() */
	bool is_end;   /* no symbol: only ends one without a size that starts before it */
	bool is_bound; /* a known symbol that brackets nameless ones (not a PLT entry) */
};

struct code_range {
	uint64_t start, end;
};

struct index_draft {
	VEC(struct index_draft_symbol) symbols;
	VEC(struct code_range) code; /* executable sections; not needed if all sizes are known */
	const char *debug_link;      /* kept in the index; may be NULL */
	VEC(struct code_range) go;   /* code of Go: symbols that begin there are Go's functions */
	bool fill_gaps;              /* code that no symbol covers becomes nameless functions */
	struct name_units units;     /* of all symbol tables of the image */
};

void index_draft_fini(struct index_draft *d);

enum index_draft_binding { DRAFT_GLOBAL, DRAFT_WEAK, DRAFT_LOCAL };
static inline uint8_t index_draft_rank(bool is_function, enum index_draft_binding binding)
{
	return (uint8_t)((is_function ? 0 : 3) + binding);
}

/*
 * Adds a symbol with a name. Names longer than 64 KiB are cut. Without enough memory, the draft
 * loses symbols, and reserve_failures() counts on.
 */
void index_draft_add(struct index_draft *d, uint64_t offset, uint64_t size, const char *name,
		     uint8_t rank);

/* True if an address of both belongs to `a` rather than `b`. */
bool index_draft_is_better(const struct index_draft_symbol *a, const struct index_draft_symbol *b);

/*
 * Sorts and repairs the draft and makes its block, which the caller frees. The rest of the header
 * is zero. The draft is used up.
 */
struct index_header *index_draft_finish(struct index_draft *d, size_t *size);
