/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ClickHouse's format RowBinary: the values of a row one after the other, without names or types.
 * Numbers are little-endian (base/buf.h, base/reader.h have them). A text is its length (LEB128)
 * and its bytes, and an array its number of values (LEB128) and the values.
 * https://clickhouse.com/docs/interfaces/formats/RowBinary
 */
#pragma once

#include <string.h>

#include "base/buf.h"
#include "base/reader.h"

static inline void row_binary_put_text(struct buf *out, const char *text)
{
	size_t n = strlen(text);

	buf_uleb(out, n);
	buf_bytes(out, text, n);
}

/* Reads a text in place, which has no NUL behind it. NULL, and bad: fewer bytes are left. */
static inline const char *row_binary_text(struct reader *r, size_t *n)
{
	uint64_t len = reader_uleb(r);

	*n = 0;
	if (r->bad || len > reader_left(r)) {
		r->bad = true;
		r->at = r->end;
		return NULL;
	}
	*n = (size_t)len;
	return reader_bytes(r, *n);
}

/* The number of values of an array, each of which takes `size` bytes or more. 0, and bad: fewer
 * bytes are left. */
static inline uint64_t row_binary_count(struct reader *r, size_t size)
{
	uint64_t n = reader_uleb(r);

	if (n > reader_left(r) / size) {
		r->bad = true;
		r->at = r->end;
		return 0;
	}
	return n;
}
