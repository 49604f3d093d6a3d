/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that V8's optimising compiler put into others.
 *
 * Optimised code has a table of pairs (step of its bytes, step of a source position), as bytecode
 * has (v8_lines.c), with numbers of 64 bits. It has entries at calls. A position names the place in
 * the source, and the number of an inlined function:
 *
 *	46          31 30                      1   0
 *	+-------------+-------------------------+---+
 *	| number + 1  | place in the source + 1 | 1: of something else
 *
 * A list in the data of deoptimisation has, for each number, the position of the call, which is in
 * the function outside of it, and the index of its SharedFunctionInfo among the literals.
 */
#include <string.h>

#include "base/mem.h"
#include "base/reader.h"
#include "lang/v8.h"

#define TABLE_MAX 32768

#define NUMBER_BYTES 10

static int64_t read_number(struct reader *r)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < NUMBER_BYTES; i++) {
		uint8_t byte = reader_u8(r);

		sum |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return (int64_t)(sum >> 1) ^ -(int64_t)(sum & 1);
	}
	r->bad = true;
	return 0;
}

/* Entries of a table around an address. */
struct around {
	uint64_t before, behind; /* positions */
	bool has_before, has_behind;
};

/* `at`: before the first entry. */
static void look_around(struct reader r, uint64_t at, int64_t off, struct around *out)
{
	uint64_t position = 0;

	*out = (struct around){ 0 };
	while (reader_left(&r)) {
		int64_t step = read_number(&r);

		at += (uint64_t)(step >= 0 ? step : -(step + 1));
		position += (uint64_t)read_number(&r);
		if (r.bad)
			return;
		if ((int64_t)at > off) {
			out->behind = position;
			out->has_behind = true;
			return;
		}
		out->before = position;
		out->has_before = true;
	}
}

/* Parts of the data of deoptimisation. */
struct inlined_data {
	uint64_t literals, positions; /* tagged arrays */
	uint64_t n_literals, n_positions;
};

/* The bytes of an array of bytes. False: it can't be read, or is another object. */
static bool read_count(const struct v8 *v, uint64_t array, uint64_t *out)
{
	if (v8_type(v, array) != v->layout.type_bytes || !v8_field(v, array, V8_ARRAY_COUNT, out))
		return false;
	*out >>= V8_SMI_SHIFT;
	return true;
}

#define POSITION_SIZE 16 /* of an entry: the position of the call, the index of the function */

static bool read_data(const struct v8 *v, uint64_t data, struct inlined_data *out)
{
	const struct v8_layout *l = &v->layout;

	if (!v8_field(v, data, V8_ARRAY_DATA + 8 * (uint32_t)l->deopt_literals, &out->literals) ||
	    !v8_field(v, data, V8_ARRAY_DATA + 8 * (uint32_t)(l->deopt_shared + 1),
		      &out->positions) ||
	    !v8_field(v, out->literals, V8_ARRAY_COUNT, &out->n_literals) ||
	    !read_count(v, out->positions, &out->n_positions))
		return false;
	out->n_literals >>= V8_SMI_SHIFT;
	out->n_positions /= POSITION_SIZE;
	return true;
}

#define WEAK_BIT 2 /* of a weak pointer's tag */

/* The array is one of weak pointers in most versions. */
static bool read_literal(const struct v8 *v, const struct inlined_data *data, uint64_t index,
			 uint64_t *out)
{
	if (!lang_read_word(&v->memory, data->literals - 1 + V8_ARRAY_DATA + index * 8, out))
		return false;
	*out &= ~(uint64_t)WEAK_BIT;
	return true;
}

static uint32_t offset_of(uint64_t position)
{
	return position & 1 ? UINT32_MAX : (uint32_t)((position >> 1 & 0x3fffffff) - 1);
}

/* The functions of a position, the innermost first; 0: it is not sound. */
static uint32_t read_chain(const struct v8 *v, const struct v8_code *code,
			   const struct inlined_data *data, uint64_t position,
			   struct v8_site out[V8_INLINED_MAX])
{
	for (uint32_t n = 0; n < V8_INLINED_MAX; n++) {
		uint64_t number = position >> 31 & 0xffff, entry[POSITION_SIZE / 8], index;

		out[n] = (struct v8_site){ code->shared, offset_of(position) };
		if (!number)
			return n + 1;
		if (number > data->n_positions ||
		    !lang_read(&v->memory,
			       data->positions - 1 + V8_ARRAY_DATA + (number - 1) * POSITION_SIZE,
			       entry, sizeof(entry)))
			return 0;
		index = (uint32_t)entry[1];
		if (index >= data->n_literals || !read_literal(v, data, index, &out[n].shared) ||
		    v8_type(v, out[n].shared) != v->layout.type_shared)
			return 0;
		position = entry[0];
	}
	return 0;
}

/* The outer part that two chains have in common, in `a`. Returns its first site. */
static uint32_t common_part(struct v8_site *a, uint32_t n_a, const struct v8_site *b, uint32_t n_b)
{
	uint32_t k = 0;

	while (k < n_a && k < n_b && a[n_a - 1 - k].shared == b[n_b - 1 - k].shared) {
		bool is_same = a[n_a - 1 - k].offset == b[n_b - 1 - k].offset;

		k++;
		if (is_same)
			continue;
		a[n_a - k].offset = UINT32_MAX;
		break;
	}
	return n_a - k;
}

static uint32_t outermost(const struct v8_code *code, struct v8_site out[V8_INLINED_MAX])
{
	out[0] = (struct v8_site){ code->shared, UINT32_MAX };
	return 1;
}

/* Code without places has another object there. What can't be read may be a table. */
static bool has_table(const struct v8 *v, const struct v8_code *code)
{
	uint16_t type = v8_type(v, code->positions);

	return type == v->layout.type_bytes || type == UINT16_MAX;
}

uint32_t v8_sites(const struct v8 *v, const struct v8_code *code, uint64_t pc, bool is_call,
		  struct v8_site out[V8_INLINED_MAX])
{
	static _Thread_local uint8_t bytes[TABLE_MAX];
	struct v8_site other[V8_INLINED_MAX];
	struct inlined_data data;
	struct around around;
	uint64_t size;
	uint32_t n, n_other, first;

	if (!v->layout.code_positions || !has_table(v, code))
		return outermost(code, out);
	if (!read_count(v, code->positions, &size) || size > TABLE_MAX ||
	    !lang_read(&v->memory, code->positions - 1 + V8_ARRAY_DATA, bytes, size))
		return 0;
	if (!size)
		return outermost(code, out);
	if (!read_data(v, code->data, &data))
		return 0;
	look_around(reader_over(bytes, size), v->forms->has_entry ? UINT64_MAX : 0,
		    (int64_t)(pc - code->start), &around);
	if (!around.has_before || (!is_call && !around.has_behind))
		return outermost(code, out);
	n = read_chain(v, code, &data, around.before, out);
	if (is_call || !n)
		return n;
	n_other = read_chain(v, code, &data, around.behind, other);
	first = common_part(out, n, other, n_other);
	n -= first;
	memmove(out, out + first, n * sizeof(*out));
	return n ? n : outermost(code, out);
}
