/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frame of a segment file: its header, and the headers of its blocks.
 * docs/formats.md draws it byte by byte.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/session.h"

#define SEGMENT_MAGIC       "ASSAYSEG"
#define SEGMENT_VERSION     1 /* of segments without groups */
#define SEGMENT_VERSION_MAX 3 /* with seconds in groups, and overviews */
#define SEGMENT_HEADER_SIZE 32
#define SEGMENT_SUFFIX      ".segment"
#define SEGMENTS_DIR        "samples/current"

#define BLOCK_MAGIC           "aBLK"
#define BLOCK_HEADER_MIN      32
#define BLOCK_HEADER_MAX      1024
#define BLOCK_SIZE_MAX        (256u << 20)
#define BLOCK_LOSSES_MAX      48 /* rows; more of them are added up over counters */
#define BLOCK_NAMES_MAX       (64u << 20)
#define SESSION_COUNTERS_MAX  256
#define SEGMENT_FILE_SIZE_MAX (1u << 30)

/* Ids a segment may have of one kind, and rows a block may have. */
#define SEGMENT_IDS_MAX    (1u << 20)
#define SEGMENT_IMAGES_MAX (1u << 16)

enum block_kind {
	BLOCK_INFO,
	BLOCK_SAMPLES,
	BLOCK_END,
	BLOCK_GROUP, /* of version 2: read, and no longer written */
	BLOCK_SECONDS,
	BLOCK_OVERVIEW,
	N_BLOCK_KINDS
};

/* Whether it holds several blocks (store/group.h). */
static inline bool is_group(enum block_kind kind)
{
	return kind >= BLOCK_GROUP && kind < N_BLOCK_KINDS;
}

/* The tables of a segment that blocks add to. */
enum table { TABLE_STRINGS, TABLE_IMAGES, TABLE_CLASSES, TABLE_NODES, TABLE_SYMBOLS, N_TABLES };

/* INFO and END blocks have SECTION_NAMES only, which holds what they tell. */
enum section { SECTION_NAMES, SECTION_NODES, SECTION_COUNTS, N_SECTIONS };

struct segment_header {
	uint32_t version;
	uint32_t number;           /* of the segment in its session */
	uint64_t delivered_before; /* as in struct block_header, at the segment's start */
};

struct block_header {
	enum block_kind kind;
	uint32_t header_size; /* bytes, set by block_header_parse() */
	uint64_t first_ns, last_ns;
	uint64_t samples, period;
	/*
	 * Samples stored or counted as LOST in all blocks of the session before
	 * this one. What a damaged block took with it is known from the next.
	 */
	uint64_t delivered_before;
	uint32_t first_id[N_TABLES], n_ids[N_TABLES]; /* that this block adds */
	uint32_t n_rows, n_losses;
	uint32_t section_size[N_SECTIONS];
	uint64_t section_hash[N_SECTIONS]; /* XXH3, 64 bits, of the stored bytes */
};

void segment_header_write(struct buf *out, const struct segment_header *h);

/* 0, or -EBADMSG: no magic or a wrong checksum. The version may be any. */
int segment_header_parse(const uint8_t *bytes, size_t size, struct segment_header *out);

/* n_losses rows of losses. */
void block_header_write(struct buf *out, const struct block_header *h,
			const struct loss_row *losses);

/*
 * Parses and checks one header. -ENODATA: the bytes end within it. -EBADMSG: it
 * is none. `losses` has room for BLOCK_LOSSES_MAX rows.
 */
int block_header_parse(const uint8_t *bytes, size_t size, struct block_header *out,
		       struct loss_row *losses);

uint64_t block_size(const struct block_header *h); /* header and sections */

/* The samples that a block speaks of: stored in it, or lost. */
uint64_t block_delivered(const struct block_header *h, const struct loss_row *losses);

/* What INFO and END blocks tell, before packing. */
void info_encode(struct buf *out, const struct session_info *info);
void end_encode(struct buf *out, const struct session_end *end);

/*
 * The reverse. The strings of *out point into `text`; *counters is allocated
 * and the caller's. -EBADMSG when it does not parse.
 */
int info_decode(const uint8_t *text, size_t size, struct session_info *out);
int end_decode(const uint8_t *text, size_t size, struct session_end *out);
