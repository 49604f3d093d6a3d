/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "annotate/annotate_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/utf8.h"

#define MAX_FUNCTION (4U << 20) /* bytes; more is no function, but a bracket of many */
#define MAX_ARROWS   400
#define MAX_LEVELS   6

void function_code_fini(struct function_code *c)
{
	vec_fini(&c->list);
	vec_fini(&c->arrows);
}

static int by_length(const void *a, const void *b)
{
	const struct jump_arrow *x = a, *y = b;
	int64_t n = llabs((int64_t)x->from - x->to), m = llabs((int64_t)y->from - y->to);

	return (n > m) - (n < m);
}

static uint32_t annotate_code_top(const struct jump_arrow *a)
{
	return MIN(a->from, a->to);
}

static uint32_t bottom(const struct jump_arrow *a)
{
	return MAX(a->from, a->to);
}

static bool is_level_free(const struct function_code *c, size_t n, const struct jump_arrow *arrow,
			  uint32_t level)
{
	for (size_t i = 0; i < n; i++) {
		const struct jump_arrow *other = &c->arrows.data[i];

		if (other->level == level && annotate_code_top(other) <= bottom(arrow) &&
		    annotate_code_top(arrow) <= bottom(other))
			return false;
	}
	return true;
}

/* Short arrows lie inside long ones; what finds no level is left out. */
static void place_arrows(struct function_code *c)
{
	if (c->arrows.n)
		qsort(c->arrows.data, c->arrows.n, sizeof(*c->arrows.data), by_length);
	for (size_t i = 0; i < c->arrows.n; i++) {
		struct jump_arrow *arrow = &c->arrows.data[i];

		arrow->level = 0;
		while (arrow->level < MAX_LEVELS && !is_level_free(c, i, arrow, arrow->level))
			arrow->level++;
		if (arrow->level < MAX_LEVELS)
			c->n_levels = MAX(c->n_levels, arrow->level + 1);
	}
}

static uint32_t annotate_code_instruction_at(const struct function_code *c, uint64_t offset)
{
	size_t low = 0, high = c->list.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->list.data[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->list.n && c->list.data[low].offset == offset ? (uint32_t)low : NO_INDEX;
}

static void find_arrows(struct function_code *c)
{
	for (uint32_t i = 0; i < c->list.n && c->arrows.n < MAX_ARROWS; i++) {
		const struct instruction *in = &c->list.data[i];
		uint32_t to = in->is_jump ? annotate_code_instruction_at(c, in->target) : NO_INDEX;

		if (to != NO_INDEX)
			vec_push(&c->arrows, (struct jump_arrow){ .from = i, .to = to });
	}
	place_arrows(c);
}

int function_code_load(struct annotation *a, uint32_t function, struct function_code *out,
		       struct error *err)
{
	const struct profile_function *f = &a->profile->functions.data[function];
	const struct symbol_table *table = a->profile->images.data[f->image].table;
	struct symbol symbol = symbol_get(table, f->symbol);
	struct code_bytes code;
	uint64_t at = 0;
	int r = code_files_get(a->code, table, symbol.offset,
			       MIN(symbol.size, (uint64_t)MAX_FUNCTION), &code, err);

	if (r < 0)
		return r;
	out->mtime_ns = code.mtime_ns;
	while (at < code.size) {
		struct instruction *in = vec_add(&out->list);

		disassemble(code.disassembler, code.bytes + at, code.size - at, symbol.offset + at,
			    in);
		at += in->size;
	}
	find_arrows(out);
	return 0;
}

void function_code_put_arrows(const struct function_code *c, uint32_t i, bool is_ascii,
			      struct buf *out)
{
	static const struct {
		const char *first, *last, *down, *along, *into;
	} looks[] = { { "\u250c", "\u2514", "\u2502", "\u2500", "\u2192" },
		      { ".", "'", "|", "-", ">" } },
	  *look;
	bool is_along = false, is_target = false;

	look = &looks[is_ascii];
	for (uint32_t level = c->n_levels; level-- > 0;) {
		const char *mark = is_along ? look->along : " ";

		vec_foreach (&c->arrows, arrow) {
			if (arrow->level != level || i < annotate_code_top(arrow) ||
			    i > bottom(arrow))
				continue;
			is_target |= arrow->to == i;
			if (i != annotate_code_top(arrow) && i != bottom(arrow)) {
				mark = is_along ? look->along : look->down;
				continue;
			}
			mark = i == annotate_code_top(arrow) ? look->first : look->last;
			is_along = true;
		}
		buf_str(out, mark);
	}
	buf_str(out, is_target ? look->into : is_along ? look->along : " ");
}

void function_code_put_target(const struct annotation *a, uint32_t image,
			      const struct instruction *in, struct buf *out)
{
	const struct symbol_table *table = a->profile->images.data[image].table;
	uint32_t i = in->has_target ? symbol_find(table, in->target) : NO_SYMBOL;
	uint64_t start;

	if (i == NO_SYMBOL)
		return;
	start = symbol_get(table, i).offset;
	buf_str(out, " <");
	if (i != symbol_find(table, in->offset))
		utf8_append_visible(out, symbol_name(a->symbols, table, i));
	if (in->target != start)
		buf_printf(out, "+0x%" PRIx64, in->target - start);
	buf_u8(out, '>');
}
