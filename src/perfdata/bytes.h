/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of a recording, in the byte order of the machine that made it. */
#pragma once

#include <linux/perf_event.h>

#include "base/reader.h"

struct order_reader {
	struct reader r;
	bool is_foreign; /* the other byte order than ours */
};

static inline struct order_reader order_reader_over(const void *bytes, size_t size, bool is_foreign)
{
	return (struct order_reader){ reader_over(bytes, size), is_foreign };
}

static inline uint16_t order_u16(struct order_reader *o)
{
	uint16_t v = reader_u16(&o->r);

	return o->is_foreign ? __builtin_bswap16(v) : v;
}

static inline uint32_t order_u32(struct order_reader *o)
{
	uint32_t v = reader_u32(&o->r);

	return o->is_foreign ? __builtin_bswap32(v) : v;
}

static inline uint64_t order_u64(struct order_reader *o)
{
	uint64_t v = reader_u64(&o->r);

	return o->is_foreign ? __builtin_bswap64(v) : v;
}

/* The header of the record at `bytes`, which hold at least a header. */
static inline struct perf_event_header order_header(const void *bytes, bool is_foreign)
{
	struct perf_event_header h;

	memcpy(&h, bytes, sizeof(h));
	if (is_foreign) {
		h.type = __builtin_bswap32(h.type);
		h.misc = __builtin_bswap16(h.misc);
		h.size = __builtin_bswap16(h.size);
	}
	return h;
}

/*
 * perf_header_string: u32 length, then the characters and NULs up to it. NULL (and bad) without a
 * NUL in this length.
 */
static inline const char *order_string(struct order_reader *o)
{
	uint32_t size = order_u32(o);
	const char *text = reader_bytes(&o->r, size);

	if (!text || !size || !memchr(text, 0, size)) {
		o->r.bad = true;
		return NULL;
	}
	return text;
}
