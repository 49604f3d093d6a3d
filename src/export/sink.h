/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of a format's bytes: gathered, optionally gzipped, and written to a file descriptor.
 *
 * A format appends to `buf` and calls sink_step() after each record, so an export of any size needs
 * little memory here. The first failed write is kept, and sink_finish() reports it; later bytes are
 * dropped. A format that runs for long may check sink_failed() and stop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct sink {
	struct buf buf; /* the next bytes; formats only append */
	int fd;
	int code; /* negative errno of the first failure; 0 */
	uint64_t n_written;
	struct sink_zip *zip; /* NULL: not gzipped */
};

#define SINK_BYTES (256 << 10) /* gathered before they are written */

void sink_init(struct sink *s, int fd); /* fd stays the caller's */

/* From here on gzipped (RFC 1952); nothing may have been appended yet. */
void sink_gzip(struct sink *s);

void sink_flush(struct sink *s);

static inline void sink_step(struct sink *s)
{
	if (s->buf.len >= SINK_BYTES)
		sink_flush(s);
}

static inline bool sink_failed(const struct sink *s)
{
	return s->code < 0;
}

/* Writes what is left and frees. 0 or the negative errno of the first failure. */
int sink_finish(struct sink *s);
