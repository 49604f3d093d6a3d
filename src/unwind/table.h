/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables: for one image, the rule of every address, as one immutable block of bytes. The
 * block is the same in memory and in a cache file (unwind/cache.h); its arrays go into BPF maps
 * unchanged.
 *
 *	struct unwind_header
 *	rules[n_rules]      8 bytes each (unwind/rule.h); rules[0] is "no rule"
 *	u32 pages[n_pages + 1]
 *	u32 rows[n_rows]
 *
 *	pages   | 0 | 3 | 4 | 9 | … | n_rows |     4 KiB of the image each,
 *	          |   |   |                        from first_page on
 *	          v   v   v
 *	rows    |0:r1|5e0:r4|ff2:r1|0:r4|0:r4|10:r7|…
 *
 * A row is 4 bytes, so a table takes a little more than 4 bytes a row. Rows that would repeat the
 * rule before them are left out, except at the start of a page. Padding between functions (less
 * than 16 bytes up to a multiple of 16) gets the rule before it, because it never runs.
 *
 * To find a rule: page = file_off / 4096 - first_page; beyond n_pages there is none; else
 * unwind_search() among the rows pages[page] to pages[page + 1].
 *
 * unwind_table_open() checks the arrays' bounds and the page index; users of a rule's number check
 * it. A block with wrong numbers can give wrong frames, never a bad access.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"
#include "unwind/rule.h"

struct elf_file;
struct error;

#define UNWIND_MAGIC   "assayunw"
#define UNWIND_VERSION 15

struct unwind_header {
	char magic[8];
	uint32_t version;
	uint32_t machine; /* EM_* */
	uint64_t size;    /* of the block */
	uint32_t first_page, n_pages;
	uint32_t n_rows, n_rules;
	uint32_t n_functions;   /* FDEs in the table */
	uint32_t n_unsupported; /* rows whose rule can't be followed */
	uint64_t code_bytes;    /* of the image's code; those without a rule */
	uint64_t bare_bytes;
	uint64_t evidence;        /* of a bare image: the state of its debug file's places */
	uint64_t checksum;        /* cache.h: XXH3 of the block, this field taken as 0 */
	struct build_id build_id; /* cache.h: the key, which is a build id only of trusted files */
	uint8_t pad;
	uint16_t owner; /* cache.h: who owns the image's file: block_owner() */
};
_Static_assert(sizeof(struct unwind_header) == 104, "unwind header is a file format");

/* So much code has no rule that a debug file, if there is one, probably has more. */
static inline bool unwind_is_bare(const struct unwind_header *h)
{
	return h->bare_bytes > h->code_bytes / 16;
}

/* A view of a block, which stays the caller's. */
struct unwind_table {
	const struct unwind_header *header;
	const struct unwind_rule *rules;
	const uint32_t *pages, *rows;
	uint32_t first_page, n_pages, n_rules;
};

/* False if the bytes are not a table of this version. They must be 8-byte aligned. */
bool unwind_table_open(struct unwind_table *out, const void *bytes, size_t size);

/* Whether the rows of each page ascend and their rules are there: of a block of a stranger. */
bool unwind_table_is_sound(const struct unwind_table *t);

/* The rule of an address, by file offset; zero (UNWIND_CFA_NONE) without a rule. */
struct unwind_rule unwind_table_find(const struct unwind_table *t, uint64_t file_off);

/* Fetches the data that unwind_table_find() will read, except the rule. */
void unwind_table_fetch(const struct unwind_table *t, uint64_t file_off);

/*
 * Compiles .eh_frame and .debug_frame of an image, and .debug_frame of its separate debug file
 * (NULL: none). Procedure linkage tables without call frame information get the rules of their
 * known form. If sources differ about an address, .eh_frame counts before .debug_frame, and the
 * image before the debug file. The block is the caller's to free(). An image without any source
 * gives a table without rows.
 *
 * -ENOTSUP: the image is for a processor whose stacks are not walked; -EFBIG: more rows or rules
 * than a table can name.
 */
int unwind_build(const struct elf_file *elf, const struct elf_file *debug,
		 struct unwind_header **out, struct error *err);
