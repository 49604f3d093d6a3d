/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The C expressions of TP_printk(): "format", then arguments. An argument consists of fields,
 * numbers, operators, casts and the helpers of include/trace/stages (__print_flags, __get_str …).
 *
 *   text ─► tokens ─► tree of nodes ─► per sample: a number or a text for each argument
 */
#include "perfdata/print_format.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perfdata/print_format_value.h"

static void put_flags(const struct print_node *n, uint64_t v, struct buf *out)
{
	bool is_first = true;

	for (size_t i = 0; i < n->n_words; i++) {
		uint64_t flag = n->words[i].value;

		if (!v && !flag && is_first) {
			buf_str(out, n->words[i].text);
			return;
		}
		if (!flag || (v & flag) != flag)
			continue;
		if (!is_first)
			buf_str(out, n->text);
		buf_str(out, n->words[i].text);
		is_first = false;
		v &= ~flag;
	}
	if (v)
		buf_printf(out, "%s0x%" PRIx64, is_first ? "" : n->text, v);
}

static void put_symbolic(const struct print_node *n, uint64_t v, struct buf *out)
{
	for (size_t i = 0; i < n->n_words; i++) {
		if (n->words[i].value == v) {
			buf_str(out, n->words[i].text);
			return;
		}
	}
	buf_printf(out, "0x%" PRIx64, v);
}

static void put_hex_bytes(const struct evaluation *e, const struct print_node *n, struct buf *out)
{
	struct trace_bytes b = evaluation_bytes(e, n->a);
	uint64_t wanted = evaluation_number(e, n->b);

	for (size_t i = 0; i < b.n && i < wanted; i++)
		buf_printf(out, "%s%02x", i && n->has_blanks ? " " : "", b.bytes[i]);
}

static void put_array(const struct evaluation *e, const struct print_node *n, struct buf *out)
{
	struct trace_bytes b = evaluation_bytes(e, n->a);
	uint64_t count = evaluation_number(e, n->b), size = evaluation_number(e, n->c);

	buf_u8(out, '{');
	for (size_t i = 0; size && size <= 8 && i < count && (i + 1) * size <= b.n; i++)
		buf_printf(out, "%s0x%" PRIx64, i ? "," : "",
			   trace_number(e->fields, b.bytes, b.n, i * size, size));
	buf_u8(out, '}');
}

static void print_format_put_bytes(struct trace_bytes b, struct buf *out)
{
	buf_bytes(out, b.bytes, b.n ? strnlen((const char *)b.bytes, b.n) : 0);
}

static void print_format_put_text(const struct evaluation *e, const struct print_node *n,
				  struct buf *out)
{
	switch (n->kind) {
	case NODE_TEXT:
		buf_str(out, n->text);
		break;
	case NODE_FIELD:
		if (e->fields->data[n->field].is_array && !n->a)
			print_format_put_bytes(evaluation_bytes(e, n), out);
		else
			buf_printf(out, "(0x%" PRIx64 ")", evaluation_number(e, n));
		break;
	case NODE_BYTES:
		print_format_put_bytes(evaluation_bytes(e, n), out);
		break;
	case NODE_CHOICE:
		print_format_put_text(e, evaluation_number(e, n->a) ? n->b : n->c, out);
		break;
	case NODE_CAST:
		print_format_put_text(e, n->a, out);
		break;
	case NODE_FLAGS:
		put_flags(n, evaluation_number(e, n->a), out);
		break;
	case NODE_SYMBOLIC:
		put_symbolic(n, evaluation_number(e, n->a), out);
		break;
	case NODE_HEX:
		put_hex_bytes(e, n, out);
		break;
	case NODE_ARRAY:
		put_array(e, n, out);
		break;
	default:
		buf_printf(out, "%" PRId64, (int64_t)evaluation_number(e, n));
	}
}

/* The format. */

#define MAX_WIDTH 4096

/* One conversion: "%-16s", "%08llx", "%.*s". */
struct conversion {
	char flags[8];
	int width, precision; /* -1: none */
	int n_longs, n_shorts;
	char letter;
};

struct printing {
	const struct print_format *format;
	struct evaluation e;
	size_t next; /* argument */
	struct buf *out;
};

static const struct print_node *next_arg(struct printing *p)
{
	return p->next < p->format->n_args ? p->format->args[p->next++] : NULL;
}

static uint64_t next_number(struct printing *p)
{
	const struct print_node *n = next_arg(p);

	return n ? evaluation_number(&p->e, n) : 0;
}

static const char *read_count(struct printing *p, const char *at, int *out)
{
	uint64_t v = 0;

	if (*at == '*') {
		v = next_number(p);
		*out = (int)MIN(v, MAX_WIDTH);
		return at + 1;
	}
	for (; isdigit((unsigned char)*at); at++)
		v = MIN(v * 10 + (uint64_t)(*at - '0'), MAX_WIDTH);
	*out = (int)v;
	return at;
}

/* The conversion behind a '%'. */
static const char *read_conversion(struct printing *p, const char *at, struct conversion *c)
{
	size_t n = 0;

	*c = (struct conversion){ .width = -1, .precision = -1 };
	for (; *at && strchr("-+ #0", *at); at++)
		if (n + 1 < sizeof(c->flags))
			c->flags[n++] = *at;
	if (isdigit((unsigned char)*at) || *at == '*')
		at = read_count(p, at, &c->width);
	if (*at == '.')
		at = read_count(p, at + 1, &c->precision);
	for (; *at && strchr("hlLqjzt", *at); at++)
		*at == 'h' ? c->n_shorts++ : c->n_longs++;
	c->letter = *at;
	return *at ? at + 1 : at;
}

/* A conversion for printf() of a 64-bit number or a text. */
static void make_format(const struct conversion *c, const char *end, char *out, size_t size)
{
	int n = snprintf(out, size, "%%%s", c->flags);

	if (c->width >= 0)
		n += snprintf(out + n, size - (size_t)n, "%d", c->width);
	if (c->precision >= 0)
		n += snprintf(out + n, size - (size_t)n, ".%d", c->precision);
	snprintf(out + n, size - (size_t)n, "%s", end);
}

static uint64_t print_format_narrow(const struct conversion *c, uint64_t v)
{
	size_t size = c->n_longs ? 8 : c->n_shorts > 1 ? 1 : c->n_shorts ? 2 : 4;
	bool is_signed = c->letter == 'd' || c->letter == 'i';

	if (size == 8)
		return v;
	return is_signed ? trace_extend(v, size) : v & (((uint64_t)1 << (8 * size)) - 1);
}

static void print_format_put_number(struct printing *p, const struct conversion *c)
{
	char format[48], end[8], text[MAX_WIDTH + 64];
	uint64_t v = print_format_narrow(c, next_number(p));

	snprintf(end, sizeof(end), "%s",
		 c->letter == 'x'   ? PRIx64
		 : c->letter == 'X' ? PRIX64
		 : c->letter == 'o' ? PRIo64
		 : c->letter == 'u' ? PRIu64
				    : PRId64);
	make_format(c, end, format, sizeof(format));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), format, v);
#pragma GCC diagnostic pop
	buf_str(p->out, text);
}

static void print_format_put_string(struct printing *p, const struct conversion *c)
{
	const struct print_node *n = next_arg(p);
	struct buf text = { 0 };
	size_t len, width = c->width > 0 ? (size_t)c->width : 0;
	bool is_left = strchr(c->flags, '-');

	if (n)
		print_format_put_text(&p->e, n, &text);
	len = c->precision >= 0 ? MIN(text.len, (size_t)c->precision) : text.len;
	for (size_t i = len; i < width && !is_left; i++)
		buf_u8(p->out, ' ');
	buf_bytes(p->out, text.data, len);
	for (size_t i = len; i < width && is_left; i++)
		buf_u8(p->out, ' ');
	buf_fini(&text);
}

static const char *print_format_put_conversion(struct printing *p, const char *at)
{
	struct conversion c;

	at = read_conversion(p, at, &c);
	switch (c.letter) {
	case '%':
		buf_u8(p->out, '%');
		break;
	case 's':
		print_format_put_string(p, &c);
		break;
	case 'c':
		buf_u8(p->out, (uint8_t)next_number(p));
		break;
	case 'p':
		/* "%pS" and the like: the letters choose a form, but only the address is known */
		while (isalnum((unsigned char)*at))
			at++;
		buf_printf(p->out, "0x%" PRIx64, next_number(p));
		break;
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		print_format_put_number(p, &c);
		break;
	default:
		break;
	}
	return at;
}

void print_format_print(const struct print_format *f, const struct trace_fields *fields,
			const uint8_t *raw, size_t size, struct buf *out)
{
	struct printing p = { .format = f, .e = { fields, raw, size }, .out = out };

	for (const char *at = f->format; *at;) {
		if (*at == '%')
			at = print_format_put_conversion(&p, at + 1);
		else
			buf_u8(out, (uint8_t)*at++);
	}
}
