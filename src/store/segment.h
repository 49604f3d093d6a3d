/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One segment's bytes to tables. Bytes may be anything: what can't be read is
 * counted, said in a warning, and left out.
 */
#pragma once

#include <stdarg.h>

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

	uint32_t n_warnings;
	struct session *warnings_to;
};

void segment_warn(struct segment_context *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Parses a whole file. NULL when there is no block to be found in it. Rows are
 * read again from `bytes` when dir_fd is -1 (they then must outlive the
 * segment), else from the file `name` below dir_fd, which stays the caller's.
 */
struct segment *segment_parse(struct segment_context *c, int dir_fd, const char *name,
			      const uint8_t *bytes, size_t size);
void segment_free(struct segment *seg); /* NULL is fine */

/* Classes and losses of counters that the session does not have go to counter 0, or to all. */
void segment_limit_counters(struct segment *seg, uint32_t n_counters);
uint32_t segment_max_counter(const struct segment *seg);
