/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One segment's bytes to tables. Bytes may be anything: what can't be read is
 * counted, said in a warning, and left out.
 */
#pragma once

#include <stdarg.h>

#include "base/files/file.h"
#include "store/block.h"

/* What the segments of one session have to know of each other. */
struct segment_context {
	struct unpacker *unpacker;
	/* As far as the session has been read; see struct block_header. */
	uint64_t delivered;
	bool has_delivered;
	uint64_t last_ns; /* of the block before */
	bool is_last;     /* this segment: its torn tail may be one that is being written */

	struct session_info info; /* its strings point into info_text */
	uint8_t *info_text;
	bool has_info;
	struct session_end end;
	bool has_end;

	const struct block_filter *filter; /* NULL: all blocks are wanted */
	bool is_past;                      /* a block began behind all that is wanted */

	uint32_t n_warnings;
	struct session *warnings_to;
};

void segment_warn(struct segment_context *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Parses a whole file, whose bytes must outlive the segment. NULL when there is no block to be
 * found in it. Of blocks that the filter does not want only names and nodes are read, where their
 * times can be told already: segment_filter() leaves them out.
 */
struct segment *segment_parse(struct segment_context *c, const char *name, const uint8_t *bytes,
			      size_t size);
void segment_free(struct segment *seg); /* NULL is fine */

/* The segment's bytes are those of a mapping, which becomes its own. */
void segment_own(struct segment *seg, const struct file_mapping *map);

/* Leaves out the blocks that are not wanted; `info` tells the clock. */
void segment_filter(struct segment *seg, const struct block_filter *filter,
		    const struct session_info *info);

/* Reads the INFO that a segment begins with, if it is whole. */
void segment_find_info(struct segment_context *c, const uint8_t *bytes, size_t size);

/* Reads the END that the bytes of a session's last segment end in, if they do. */
void segment_find_end(struct segment_context *c, const uint8_t *bytes, size_t size);

/* Classes and losses of counters that the session does not have go to counter 0, or to all. */
void segment_limit_counters(struct segment *seg, uint32_t n_counters);
uint32_t segment_max_counter(const struct segment *seg);
