/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of a tracepoint; print_format.c has its print fmt. */
#include "perfdata/tracepoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perfdata/print_format.h"

#define MAX_FIELDS 256

struct tracepoint_format {
	struct trace_fields fields;
	struct print_format *print; /* NULL: not understood */
	struct arena *arena;
};

static const char *line_end(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? newline : end;
}

/* The number behind "key:" in a line; false if there is none. */
static bool find_number(const char *line, const char *end, const char *key, uint32_t *out)
{
	size_t len = strlen(key);

	for (; (size_t)(end - line) > len; line++) {
		if (memcmp(line, key, len) != 0)
			continue;
		*out = 0;
		for (line += len; line < end && *line >= '0' && *line <= '9'; line++)
			*out = *out * 10 + (uint32_t)(*line - '0');
		return true;
	}
	return false;
}

static bool text_contains(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

/* "char comm[16]", "__data_loc char[] name", "unsigned long args[6]": the type and the name. */
static void read_declaration(struct trace_field *f, const char *text, size_t len,
			     struct arena *arena)
{
	const char *bracket, *end = text + len, *name;

	f->is_dynamic = text_contains(text, len, "__data_loc");
	f->is_relative = text_contains(text, len, "__rel_loc");
	f->is_dynamic |= f->is_relative;
	f->is_text = text_contains(text, len, "char") && !text_contains(text, len, "unsigned");
	bracket = f->is_dynamic ? NULL : memchr(text, '[', len);
	f->is_array = bracket != NULL || f->is_dynamic;
	if (bracket) {
		end = bracket;
		f->n_elements = 0;
		find_number(bracket, text + len, "[", &f->n_elements);
	}
	for (name = end; name > text && name[-1] != ' ' && name[-1] != '*' && name[-1] != '\t';)
		name--;
	f->name = arena_strndup(arena, name, (size_t)(end - name));
	if (text_contains(text, len, "long") || text_contains(text, len, "64"))
		f->element_size = 8;
	else if (text_contains(text, len, "short") || text_contains(text, len, "16"))
		f->element_size = 2;
	else
		f->element_size =
			text_contains(text, len, "char") || text_contains(text, len, "8") ? 1 : 4;
}

static void read_field(struct tracepoint_format *t, const char *line, const char *end)
{
	const char *semicolon = memchr(line, ';', (size_t)(end - line));
	struct trace_field f = { 0 };
	uint32_t is_signed = 0;

	if (!semicolon || t->fields.n >= MAX_FIELDS)
		return;
	if (!find_number(semicolon, end, "offset:", &f.offset) ||
	    !find_number(semicolon, end, "size:", &f.size))
		return;
	find_number(semicolon, end, "signed:", &is_signed);
	f.is_signed = is_signed;
	read_declaration(&f, line, (size_t)(semicolon - line), t->arena);
	if (f.is_array && !f.is_dynamic && f.n_elements)
		f.element_size = f.size / f.n_elements;
	f.is_common = !strncmp(f.name, "common_", 7);
	vec_push(&t->fields, f);
}

struct tracepoint_format *tracepoint_new(const char *text, size_t size, bool is_foreign)
{
	static const char field[] = "\tfield:", print[] = "print fmt: ";
	struct tracepoint_format *t = xcalloc(1, sizeof(*t));
	const char *end = text + size;

	t->arena = arena_new();
	t->fields.is_foreign = is_foreign;
	for (const char *at = text; at < end;) {
		const char *stop = line_end(at, end);
		size_t len = (size_t)(stop - at);

		if (len > sizeof(field) && !memcmp(at, field, sizeof(field) - 1))
			read_field(t, at + sizeof(field) - 1, stop);
		else if (len > sizeof(print) && !memcmp(at, print, sizeof(print) - 1) && !t->print)
			t->print = print_format_new(at + sizeof(print) - 1, len - sizeof(print) + 1,
						    &t->fields, t->arena);
		at = stop + 1;
	}
	return t;
}

void tracepoint_free(struct tracepoint_format *t)
{
	if (!t)
		return;
	vec_fini(&t->fields);
	arena_free(t->arena);
	free(t);
}

uint64_t trace_number(const struct trace_fields *fields, const uint8_t *raw, size_t size,
		      size_t offset, size_t n)
{
	uint8_t bytes[8] = { 0 };
	uint64_t v = 0;

	if (n != 1 && n != 2 && n != 4 && n != 8)
		return 0;
	if (offset < size)
		memcpy(bytes, raw + offset, MIN(n, size - offset));
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)bytes[fields->is_foreign ? n - 1 - i : i] << (8 * i);
	return v;
}

uint64_t trace_extend(uint64_t v, size_t size)
{
	unsigned int shift = size && size < 8 ? 64 - 8 * (unsigned int)size : 0;

	return (uint64_t)((int64_t)(v << shift) >> shift);
}

/* The field holds the place of an array: u32, low half its offset, high half its size. */
struct trace_bytes trace_bytes_of(const struct trace_fields *fields, const struct trace_field *f,
				  const uint8_t *raw, size_t size)
{
	size_t offset = f->offset, len = f->size;

	if (f->is_dynamic) {
		uint64_t place = trace_number(fields, raw, size, f->offset, 4);

		offset = place & 0xffff;
		len = place >> 16;
		if (f->is_relative)
			offset += f->offset + 4;
	}
	if (offset > size)
		return (struct trace_bytes){ raw, 0 };
	return (struct trace_bytes){ raw + offset, MIN(len, size - offset) };
}

static void tracepoint_put_value(const struct trace_fields *fields, const struct trace_field *f,
				 const uint8_t *raw, size_t size, size_t offset, size_t n,
				 struct buf *out)
{
	uint64_t v = trace_number(fields, raw, size, offset, n);

	if (f->is_signed)
		buf_printf(out, "%" PRId64, (int64_t)trace_extend(v, n));
	else
		buf_printf(out, "%" PRIu64, v);
}

static bool tracepoint_put_field(const struct trace_fields *fields, const struct trace_field *f,
				 const uint8_t *raw, size_t size, struct buf *out)
{
	struct trace_bytes b;

	if (!f->is_array) {
		tracepoint_put_value(fields, f, raw, size, f->offset, f->size, out);
		return true;
	}
	b = trace_bytes_of(fields, f, raw, size);
	if (f->is_text && f->element_size == 1) {
		buf_bytes(out, b.bytes, strnlen((const char *)b.bytes, b.n));
		return false;
	}
	for (size_t i = 0; f->element_size && i + f->element_size <= b.n; i += f->element_size) {
		if (i)
			buf_u8(out, ',');
		tracepoint_put_value(fields, f, b.bytes, b.n, i, f->element_size, out);
	}
	return false;
}

static const struct trace_field *visible_field(const struct tracepoint_format *t, uint32_t i)
{
	vec_foreach (&t->fields, f)
		if (!f->is_common && !i--)
			return f;
	return NULL;
}

uint32_t tracepoint_n_fields(const struct tracepoint_format *t)
{
	uint32_t n = 0;

	vec_foreach (&t->fields, f)
		n += !f->is_common;
	return n;
}

const char *tracepoint_field_name(const struct tracepoint_format *t, uint32_t i)
{
	return visible_field(t, i)->name;
}

bool tracepoint_field_value(const struct tracepoint_format *t, uint32_t i, const uint8_t *raw,
			    size_t size, struct buf *out)
{
	return tracepoint_put_field(&t->fields, visible_field(t, i), raw, size, out);
}

void tracepoint_print(const struct tracepoint_format *t, const uint8_t *raw, size_t size,
		      struct buf *out)
{
	bool is_first = true;

	if (t->print) {
		print_format_print(t->print, &t->fields, raw, size, out);
		return;
	}
	vec_foreach (&t->fields, f) {
		if (f->is_common)
			continue;
		buf_printf(out, "%s%s=", is_first ? "" : " ", f->name);
		tracepoint_put_field(&t->fields, f, raw, size, out);
		is_first = false;
	}
}
