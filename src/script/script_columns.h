/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers, names and padding of the columns of a row, without printf, which would take most of the
 * time. They are inline for the same reason.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "script/script.h"
#include "script/script_hex.h"

static inline void script_put_blanks(struct buf *out, int n)
{
	static const char blanks[] = "                                ";

	for (; n > 0; n -= 32)
		buf_bytes(out, blanks, (size_t)MIN(n, 32));
}

static inline void script_put_right(struct buf *out, const char *text, size_t len, int width)
{
	script_put_blanks(out, width - (int)len);
	buf_bytes(out, text, len);
}

/* A name that a program chose. */
static inline void script_put_name(struct script_printer *p, const char *name, int width)
{
	size_t start = p->out.len, len, pad;

	utf8_append_visible(&p->out, name);
	len = p->out.len - start;
	if ((size_t)width <= len)
		return;
	pad = (size_t)width - len;
	script_put_blanks(&p->out, (int)pad);
	memmove(p->out.data + start + pad, p->out.data + start, len);
	memset(p->out.data + start, ' ', pad);
}

static inline void script_put_name_left(struct script_printer *p, const char *name, int width)
{
	size_t start = p->out.len;

	utf8_append_visible(&p->out, name);
	script_put_blanks(&p->out, width - (int)(p->out.len - start));
}

static inline void script_put_dec(struct buf *out, uint64_t v, int width)
{
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	script_put_right(out, digits + at, sizeof(digits) - at, width);
}

static inline void script_put_zero_padded(struct buf *out, uint64_t v, int width)
{
	char digits[24];

	for (int i = width; i-- > 0; v /= 10)
		digits[i] = (char)('0' + v % 10);
	buf_bytes(out, digits, (size_t)width);
}

static inline void script_put_int(struct buf *out, int32_t v, int width)
{
	char digits[16];

	if (v >= 0)
		script_put_dec(out, (uint64_t)v, width);
	else
		script_put_right(out, digits, (size_t)snprintf(digits, sizeof(digits), "%d", v),
				 width);
}

static inline void script_put_hex(struct buf *out, uint64_t v, int width)
{
	uint8_t digits[16];
	unsigned int n = script_hex_columns(digits, v);

	if (width == 16)
		buf_bytes(out, digits, sizeof(digits));
	else
		script_put_right(out, (char *)digits + 16 - n, n, width);
}

static inline struct script_end_text *script_end_text(struct script_printer *p, uint64_t addr)
{
	return &p->end_texts[addr * 0x9e3779b97f4a7c15ULL >> (64 - SCRIPT_TEXTS_LOG2)];
}

/* While this is the same, so is the name of the address; 0: not known. */
static inline uint32_t script_end_generation(const struct script_row *row, uint64_t addr)
{
	return addr >> 63 ? row->kernel_generation : row->generation;
}

static inline bool script_is_end(const struct script_end_text *t, uint64_t addr,
				 uint32_t generation)
{
	return t->addr == addr && t->generation == generation && generation;
}

/* The other place of an end: two that are hot may have the same first place. */
static inline struct script_end_text *script_end_beside(struct script_printer *p,
							const struct script_end_text *t)
{
	return &p->end_texts[(t - p->end_texts) ^ 1];
}

/*
 * An end of a branch. A trace has the same addresses millions of times, so each text is made once.
 * The fields are the same for all branches. Most texts are short: so many bytes are copied in any
 * case.
 */
static inline void script_put_end(struct script_printer *p, uint64_t fields,
				  const struct script_row *row, uint64_t addr)
{
	const struct script_end_text *known = script_end_text(p, addr);
	uint32_t generation = script_end_generation(row, addr);
	enum { SHORT = 48 };
	uint8_t *to;

	if (!script_is_end(known, addr, generation))
		known = script_end_beside(p, known);
	if (!script_is_end(known, addr, generation)) {
		script_make_end(p, fields, row, addr);
		return;
	}
	buf_reserve(&p->out, sizeof(known->text));
	to = p->out.data + p->out.len;
	memcpy(to, known->text, SHORT);
	if (known->len > SHORT)
		memcpy(to + SHORT, known->text + SHORT, sizeof(known->text) - SHORT);
	p->out.len += known->len;
}
