/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the bytes of one segment into tables. The bytes may be hostile: unreadable content is
 * counted, left out, and reported in a warning.
 */
#pragma once

#include <stdarg.h>

#include "base/files/file.h"
#include "store/block.h"
#include "store/free_items.h"
#include "store/session.h"

/* The state that the segments of one session share while they are read in order. */
struct segment_context {
	struct unpacker *unpacker;
	/* delivered_before of the next block (see struct block_header) */
	uint64_t delivered;
	bool has_delivered;
	uint64_t last_ns; /* of the block before */
	bool is_last;     /* the last segment: a torn block at its end may still be in the making */

	struct session_info info; /* its strings point into info_text */
	uint8_t *info_text;
	bool has_info;
	struct session_end end;
	bool has_end;

	const struct block_filter *filter; /* NULL: all blocks are wanted */
	bool is_past;                      /* a block began after the time that the filter wants */

	/* of the segments so far, against SEGMENT_ITEMS_A_BYTE and NAMES_BYTES_A_BYTE */
	uint64_t n_bytes, n_items, n_names;
	struct free_held held;

	uint32_t n_warnings;
	struct session *warnings_to;
};

void segment_warn(struct segment_context *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Parses a whole file. The bytes must outlive the segment. NULL: the file has no readable block. If
 * the header's times already show that the filter does not want a block, only its names and nodes
 * are read. segment_filter() removes the rest.
 */
struct segment *segment_parse(struct segment_context *c, const char *name, const uint8_t *bytes,
			      size_t size);
void segment_free(struct segment *seg); /* NULL is fine */

/* The segment's bytes are in this mapping. The segment unmaps it at its end. */
void segment_own(struct segment *seg, const struct file_mapping *map);

/* Whether the filter takes a block, whose times are of the session's clock. */
bool filter_takes(const struct block_filter *filter, const struct session_info *info,
		  uint64_t level_ns, const struct block_span *span);

/* Whether the first block with counts is one of many seconds, or an overview. */
bool segment_has_groups(const uint8_t *bytes, size_t size);

/* Adds to all times, for a segment of another clock. The sum may wrap around. */
void segment_shift(struct segment *seg, uint64_t shift_ns);

/*
 * Removes the blocks that the filter does not want, and cuts blocks with exact times. `info` has
 * the clock.
 */
void segment_filter(struct segment *seg, const struct block_filter *filter,
		    const struct session_info *info);

/* Reads the INFO block at the beginning of a segment if it is whole. */
void segment_find_info(struct segment_context *c, const uint8_t *bytes, size_t size);

/* Reads the END block at the end of a session's last segment, if there is one. */
void segment_find_end(struct segment_context *c, const uint8_t *bytes, size_t size);

/*
 * Moves classes of counters that the session does not have to counter 0, and their losses to "all
 * counters".
 */
void segment_limit_counters(struct segment *seg, uint32_t n_counters);
uint32_t segment_max_counter(const struct segment *seg);
