/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "buf_u32 and buf_u64 store as is");

void buf_fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

void buf_grow_(struct buf *b, size_t more)
{
	b->data = vec_grow_(b->data, &b->cap, b->len + more, 1);
}

void buf_u32(struct buf *b, uint32_t v)
{
	buf_bytes(b, &v, sizeof(v));
}

void buf_u64(struct buf *b, uint64_t v)
{
	buf_bytes(b, &v, sizeof(v));
}

void buf_uleb(struct buf *b, uint64_t v)
{
	buf_reserve(b, 10);
	while (v >= 0x80) {
		b->data[b->len++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	b->data[b->len++] = (uint8_t)v;
}

void buf_sleb(struct buf *b, int64_t v)
{
	buf_uleb(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void buf_str(struct buf *b, const char *s)
{
	buf_bytes(b, s, strlen(s));
}

void buf_cstr0(struct buf *b, const char *s)
{
	buf_bytes(b, s, strlen(s) + 1);
}

void buf_vprintf(struct buf *b, const char *format, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (n <= 0)
		return;
	buf_reserve(b, (size_t)n + 1);
	vsnprintf((char *)b->data + b->len, (size_t)n + 1, format, ap);
	b->len += (size_t)n;
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	buf_vprintf(b, format, ap);
	va_end(ap);
}

const char *buf_cstr(struct buf *b)
{
	buf_reserve(b, 1);
	b->data[b->len] = '\0';
	return (const char *)b->data;
}

void buf_duration(struct buf *b, uint64_t ns)
{
	static const struct {
		double from, unit;
		const char *name;
	} units[] = { { 1e9, 1e9, "s" }, { 1e6, 1e6, "ms" }, { 1e3, 1e3, "us" }, { 0, 1, "ns" } };
	size_t i = 0;

	while ((double)ns < units[i].from)
		i++;
	buf_printf(b, "%.*f %s",
		   units[i].unit > 1 ? 3 - (ns >= units[i].unit * 100) - (ns >= units[i].unit * 10)
				     : 0,
		   (double)ns / units[i].unit, units[i].name);
}
