/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The header of a segment file and the headers of its blocks. docs/formats.md shows every byte. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/segment.h"

#define SEGMENT_MAGIC          "ASSAYSEG"
#define SEGMENT_VERSION        1 /* without groups */
#define SEGMENT_VERSION_GROUPS 3 /* with groups of seconds and overviews */
#define SEGMENT_VERSION_TIMES  4 /* with exact times, and maybe groups */
#define SEGMENT_VERSION_LISTS  5 /* with lists of codes: a block of a fleet */
#define SEGMENT_VERSION_MAX    5
#define SEGMENT_HEADER_SIZE    32
#define SEGMENT_SUFFIX         ".segment"
#define SEGMENTS_DIR           "samples/current"

#define BLOCK_MAGIC           "aBLK"
#define BLOCK_HEADER_MIN      32
#define BLOCK_HEADER_MAX      1024
#define BLOCK_SIZE_MAX        (256u << 20)
#define BLOCK_LOSSES_MAX      128 /* rows; further rows are added up over the counters */
#define BLOCK_NAMES_MAX       (64u << 20)
#define SESSION_COUNTERS_MAX  256
#define SEGMENT_FILE_SIZE_MAX (1u << 30)

/* The most ids of one kind in a segment. A block has as many rows at most. */
#define SEGMENT_IDS_MAX    (1u << 20)
#define SEGMENT_IMAGES_MAX (1u << 16)

/*
 * Deep recursion packs to almost nothing, and so do texts that repeat. A small file must not cost a
 * reader much memory all the same. So a session has at least a byte for so many ids and rows, and
 * for so many bytes of names. Writers fill sections up with zeros behind their content. Writers
 * before November 2026 did not. For their sessions, all that a process has open may exceed this by
 * the free items and names (free_items.h): four segments of the deepest recursion.
 */
#define SEGMENT_ITEMS_FREE   (4u << 20)
#define SEGMENT_ITEMS_A_BYTE 4
#define NAMES_FREE           (32u << 20)
#define NAMES_BYTES_FREE     (1u << 20) /* of a section */
#define NAMES_BYTES_A_BYTE   32

/* The most bytes of names that a section of a size unpacks to. */
static inline size_t names_bytes_max(size_t packed)
{
	size_t most = NAMES_BYTES_FREE + packed * NAMES_BYTES_A_BYTE;

	return most < BLOCK_NAMES_MAX ? most : BLOCK_NAMES_MAX;
}

enum block_kind {
	BLOCK_INFO,
	BLOCK_SAMPLES,
	BLOCK_END,
	BLOCK_GROUP, /* version 2: still read, no longer written */
	BLOCK_SECONDS,
	BLOCK_OVERVIEW,
	N_BLOCK_KINDS
};

/* Whether the block holds several seconds or an overview (store/group.h). */
static inline bool is_group(enum block_kind kind)
{
	return kind >= BLOCK_GROUP && kind < N_BLOCK_KINDS;
}

/* The tables of a segment, which its blocks fill. */
enum table { TABLE_STRINGS, TABLE_IMAGES, TABLE_CLASSES, TABLE_NODES, TABLE_SYMBOLS, N_TABLES };

/* INFO and END blocks have their content in SECTION_NAMES and no other section. */
/* The header has SECTION_TIMES behind the losses, and only if it is not empty. */
enum section { SECTION_NAMES, SECTION_NODES, SECTION_COUNTS, SECTION_TIMES, N_SECTIONS };

struct segment_header {
	uint32_t version;
	uint32_t number;           /* of the segment in its session */
	uint64_t delivered_before; /* as in struct block_header, at the start of the segment */
};

struct block_header {
	enum block_kind kind;
	uint32_t header_size; /* bytes, set by block_header_parse() */
	uint64_t first_ns, last_ns;
	uint64_t samples, period;
	/*
	 * The samples in all earlier blocks of the session, stored or counted as LOST. The number
	 * of the next whole block shows how many samples a damaged block held.
	 */
	uint64_t delivered_before;
	uint32_t first_id[N_TABLES], n_ids[N_TABLES]; /* the ids that this block adds */
	uint32_t n_rows, n_losses;
	uint64_t early_us; /* the first exact time, in microseconds before first_ns */
	uint32_t section_size[N_SECTIONS];
	uint64_t section_hash[N_SECTIONS]; /* XXH3, 64 bits, of the stored bytes */
};

void segment_header_write(struct buf *out, const struct segment_header *h);

/* -EBADMSG: no magic number or a wrong checksum. Any version is accepted. */
int segment_header_parse(const uint8_t *bytes, size_t size, struct segment_header *out);

/* `losses` has h->n_losses rows. */
void block_header_write(struct buf *out, const struct block_header *h,
			const struct loss_row *losses);

/*
 * Parses and checks one header. -ENODATA: the bytes end within the header. -EBADMSG: no header is
 * here. `losses` has room for BLOCK_LOSSES_MAX rows.
 */
int block_header_parse(const uint8_t *bytes, size_t size, struct block_header *out,
		       struct loss_row *losses);

uint64_t block_size(const struct block_header *h); /* header and sections */

/* The ids that exist behind the block, and its rows. */
uint64_t block_items(const struct block_header *h);

/*
 * Fill a section of a block up as SEGMENT_ITEMS_A_BYTE and NAMES_BYTES_A_BYTE want it. Each block
 * has the bytes for its own ids and rows. Call them when the section has its content.
 */
void block_fill_names(struct buf *names);
void block_fill_counts(struct buf *counts, const struct block_header *h);

/* The number of samples that a block stores or counts as lost. */
uint64_t block_delivered(const struct block_header *h, const struct loss_row *losses);

/* The content of INFO and END blocks, before packing. */
void info_encode(struct buf *out, const struct session_info *info);
void end_encode(struct buf *out, const struct session_end *end);

/*
 * The reverse. The strings of *out point into `text`. The caller frees out->counters. -EBADMSG: the
 * text does not parse.
 */
int info_decode(const uint8_t *text, size_t size, struct session_info *out);
int end_decode(const uint8_t *text, size_t size, struct session_end *out);
