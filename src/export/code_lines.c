/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/code_lines.h"

#include <assert.h>
#include <stdlib.h>

#include "base/strings.h"
#include "symbol/lines/lines.h"

struct maker {
	struct code_lines *c;
	const struct profile *p;
	struct frame_names *names;
	struct strings keys; /* key of function i is string i + 1 */
	struct strings files;
	size_t first;          /* of the places in the current call … */
	VEC(uint64_t) offsets; /* … and their offsets in the image */
};

/* A symbol's key is its function, an inlined function's key its name in the image's table. */
struct function_key {
	uint32_t image, id, file, is_inline;
};

static uint32_t code_lines_add_function(struct maker *m, uint32_t symbol,
					const struct line_frame *frame, bool is_inline)
{
	const struct profile_function *f = &m->p->functions.data[symbol];
	struct function_key key = { .image = f->image, .id = symbol };
	struct code_function function = { .image = f->image, .symbol = symbol };
	uint32_t id;

	if (is_inline) {
		key.id = frame->function_id;
		key.is_inline = 1;
		function.symbol = NO_INDEX;
	}
	key.file = frame ? strings_add(&m->files, frame->file).n : 0;
	id = strings_add_n(&m->keys, (const char *)&key, sizeof(key)).n - 1;
	if (id < m->c->functions.n)
		return id;
	function.file = key.file ? frame_text(m->names, frame->file) : "";
	if (key.is_inline) {
		const struct symbol_table *table = m->p->images.data[f->image].table;

		function.name = frame_text(m->names, lines_name(m->p->symbols, table, frame));
		function.system_name = frame_text(m->names, frame->function);
	} else {
		function.name = frame_name(m->names, symbol);
		function.system_name = frame_system_name(m->names, symbol);
	}
	vec_push(&m->c->functions, function);
	return id;
}

/* The lines of the next place. The outermost frame is its symbol. */
static void code_lines_add_place(void *context, size_t index, const struct line_frame *frames,
				 size_t n)
{
	struct maker *m = context;
	uint32_t symbol = m->p->places.data[m->first + index].function;
	struct code_lines *c = m->c;

	for (size_t i = 0; i < n; i++)
		vec_push(&c->lines,
			 (struct code_line){
				 code_lines_add_function(m, symbol, &frames[i], i + 1 < n),
				 frames[i].line });
	if (!n)
		vec_push(&c->lines,
			 (struct code_line){ code_lines_add_function(m, symbol, NULL, false), 0 });
	if (c->symbol[symbol] == NO_INDEX)
		c->symbol[symbol] = c->lines.data[c->lines.n - 1].function;
	assert(c->first[m->first + index] < c->lines.n); /* a place has at least one line */
	c->first[m->first + index + 1] = (uint32_t)c->lines.n;
}

static uint32_t code_lines_image_of(const struct profile *p, size_t place)
{
	return p->functions.data[p->places.data[place].function].image;
}

/* The number of places of one image in a row from `first` on. */
static size_t code_lines_add_places(struct maker *m, bool with_source)
{
	const struct profile *p = m->p;
	uint32_t image = code_lines_image_of(p, m->first);
	const struct symbol_table *table = p->images.data[image].table;
	size_t n = 0;

	m->offsets.n = 0;
	for (; m->first + n < p->places.n && code_lines_image_of(p, m->first + n) == image; n++)
		vec_push(&m->offsets, p->places.data[m->first + n].offset);
	if (with_source && table)
		lines_find_each(p->symbols, table, m->offsets.data, n, code_lines_add_place, m);
	else
		for (size_t i = 0; i < n; i++)
			code_lines_add_place(m, i, NULL, 0);
	return n;
}

void code_lines_init(struct code_lines *c, const struct profile *p, struct frame_names *names,
		     bool with_source)
{
	struct maker m = { .c = c, .p = p, .names = names };

	*c = (struct code_lines){
		.first = xcalloc(p->places.n + 1, sizeof(uint32_t)),
		.symbol = xcalloc(p->functions.n + 1, sizeof(uint32_t)),
	};
	strings_init(&m.keys);
	strings_init(&m.files);
	for (size_t i = 0; i < p->functions.n; i++)
		c->symbol[i] = NO_INDEX;
	while (m.first < p->places.n)
		m.first += code_lines_add_places(&m, with_source);
	assert(m.first == p->places.n && c->first[m.first] == c->lines.n);
	vec_fini(&m.offsets);
	strings_fini(&m.keys);
	strings_fini(&m.files);
}

void code_lines_fini(struct code_lines *c)
{
	vec_fini(&c->functions);
	vec_fini(&c->lines);
	free(c->first);
	free(c->symbol);
}

void code_lines_chain(const struct code_lines *c, const struct profile *p, uint32_t node,
		      struct line_chain *out)
{
	size_t first = out->n;

	for (; node; node = p->nodes.data[node].parent) {
		uint32_t place = p->node_places.data[node];

		for (uint32_t i = c->first[place]; i < c->first[place + 1]; i++)
			vec_push(out, i);
	}
	for (size_t i = first, k = out->n; i + 1 < k; i++) {
		uint32_t swapped = out->data[i];

		out->data[i] = out->data[--k];
		out->data[k] = swapped;
	}
}
