/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of a message in the wire format of protocol buffers, one by one. So the caller bounds what
 * each of them may cost, and no small message grows to a large one.
 */
#pragma once

#include "base/reader.h"
#include "foreign/slice.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;       /* of a number */
	struct reader inside; /* of a message, string or packed array */
};

/* False: there is no other field, or r->bad. */
static inline bool wire_next(struct reader *r, struct wire_field *f)
{
	uint64_t tag, size;
	const uint8_t *at;

	if (!reader_left(r))
		return false;
	tag = reader_uleb(r);
	*f = (struct wire_field){ .number = (uint32_t)(tag >> 3), .type = tag & 7 };
	switch (tag & 7) {
	case WIRE_VARINT:
		f->value = reader_uleb(r);
		break;
	case WIRE_FIXED64:
		f->value = reader_u64(r);
		break;
	case WIRE_BYTES:
		size = reader_uleb(r);
		at = size <= reader_left(r) ? reader_bytes(r, (size_t)size) : NULL;
		r->bad |= !at;
		if (at)
			f->inside = reader_over(at, (size_t)size);
		break;
	case WIRE_FIXED32:
		f->value = reader_u32(r);
		break;
	default:
		r->bad = true;
	}
	return !r->bad && f->number;
}

static inline struct slice wire_text(const struct wire_field *f)
{
	return (struct slice){ (const char *)f->inside.at, reader_left(&f->inside) };
}
