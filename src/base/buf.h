/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growable byte buffer for writing formats and text.
 *
 * Numbers are little-endian. `data` is not NUL-terminated unless buf_cstr()
 * was called last. { 0 } is a valid empty buffer.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
	uint8_t *data;
	size_t len, cap;
};

void buf_fini(struct buf *b);

void buf_grow_(struct buf *b, size_t more);

/* Room for `more` bytes behind len. */
static inline void buf_reserve(struct buf *b, size_t more)
{
	if (b->cap - b->len < more)
		buf_grow_(b, more);
}

static inline void buf_u8(struct buf *b, uint8_t v)
{
	buf_reserve(b, 1);
	b->data[b->len++] = v;
}

static inline void buf_bytes(struct buf *b, const void *bytes, size_t n)
{
	if (!n)
		return;
	buf_reserve(b, n);
	memcpy(b->data + b->len, bytes, n);
	b->len += n;
}

void buf_u32(struct buf *b, uint32_t v);
void buf_u64(struct buf *b, uint64_t v);
void buf_uleb(struct buf *b, uint64_t v);     /* LEB128, DWARF 5 section 7.6 */
void buf_sleb(struct buf *b, int64_t v);      /* zigzag, then ULEB128 (not DWARF's SLEB128) */
void buf_str(struct buf *b, const char *s);   /* the characters, no terminator */
void buf_cstr0(struct buf *b, const char *s); /* the characters and the NUL */
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list ap)
	__attribute__((format(printf, 2, 0)));
void buf_duration(struct buf *b, uint64_t ns); /* "1.234 ms", "12.34 s", "123.4 us", "7 ns" */
const char *buf_cstr(struct buf *b); /* NUL-terminates (not counted) and returns the text */
