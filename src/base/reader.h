/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded reader for untrusted bytes.
 *
 * Every read checks the bounds. The first read that does not fit sets `bad`, and all later reads
 * return zeros. So a parser reads a whole record and checks once. Numbers are little-endian unless
 * a function says otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const uint8_t *at, *end;
	bool bad;
};

static inline struct reader reader_over(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	return (struct reader){ .at = at, .end = at + size };
}

static inline size_t reader_left(const struct reader *r)
{
	return (size_t)(r->end - r->at);
}

/* n bytes in place, or NULL (and bad) when fewer are left. */
static inline const void *reader_bytes(struct reader *r, size_t n)
{
	const uint8_t *at = r->at;

	if (reader_left(r) < n) {
		r->bad = true;
		r->at = r->end;
		return NULL;
	}
	r->at += n;
	return at;
}

#define READER_FIXED(name, type)                             \
	static inline type name(struct reader *r)            \
	{                                                    \
		type v = 0;                                  \
		const void *at = reader_bytes(r, sizeof(v)); \
                                                             \
		if (at)                                      \
			memcpy(&v, at, sizeof(v));           \
		return v;                                    \
	}
READER_FIXED(reader_u8, uint8_t)
READER_FIXED(reader_u16, uint16_t)
READER_FIXED(reader_u32, uint32_t)
READER_FIXED(reader_u64, uint64_t)
#undef READER_FIXED

/* ULEB128 (DWARF 5 section 7.6); more than 64 bits of value is bad. */
static inline uint64_t reader_uleb(struct reader *r)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (r->at == r->end)
			break;
		byte = *r->at++;
		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	r->bad = true;
	r->at = r->end;
	return 0;
}

/* DWARF's SLEB128 (DWARF 5 section 7.6). */
static inline int64_t reader_sleb128(struct reader *r)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64 && r->at < r->end; shift += 7) {
		uint8_t byte = *r->at++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (shift + 7 < 64 && (byte & 0x40))
			v |= ~(uint64_t)0 << (shift + 7);
		return (int64_t)v;
	}
	r->bad = true;
	r->at = r->end;
	return 0;
}

/* What buf_sleb() wrote: a zigzag ULEB128. */
static inline int64_t reader_sleb(struct reader *r)
{
	uint64_t v = reader_uleb(r);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* A NUL-terminated string in place, or NULL (and bad) when no NUL is left. */
static inline const char *reader_cstr(struct reader *r)
{
	const uint8_t *at = r->at;
	const uint8_t *nul = reader_left(r) ? memchr(at, 0, reader_left(r)) : NULL;

	if (!nul) {
		r->bad = true;
		r->at = r->end;
		return NULL;
	}
	r->at = nul + 1;
	return (const char *)at;
}
