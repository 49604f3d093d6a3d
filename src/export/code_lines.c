/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/code_lines.h"

#include <stdlib.h>

#include "base/strings.h"
#include "symbol/lines.h"

struct maker {
	struct code_lines *c;
	const struct profile *p;
	struct frame_names *names;
	struct strings keys; /* key of function i is string i + 1 */
	struct strings files;
};

/* Symbols are known by their function, inlined ones by their name in the image's table. */
struct function_key {
	uint32_t image, id, file, is_inline;
};

static uint32_t add_function(struct maker *m, uint32_t symbol, const struct line_frame *frame)
{
	const struct profile_function *f = &m->p->functions.data[symbol];
	struct function_key key = { .image = f->image, .id = symbol };
	struct code_function function = { .image = f->image, .symbol = symbol };
	uint32_t id;

	if (frame && frame->is_inline) {
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

static void add_place(struct maker *m, const struct profile_place *place, bool with_source)
{
	const struct profile_function *f = &m->p->functions.data[place->function];
	const struct symbol_table *table = m->p->images.data[f->image].table;
	struct line_frame frames[LINES_MAX_FRAMES];
	size_t n = 0;

	if (with_source && table)
		n = lines_find(m->p->symbols, table, place->offset, frames, LINES_MAX_FRAMES);
	for (size_t i = 0; i < n; i++) {
		frames[i].is_inline = i + 1 < n;
		vec_push(&m->c->lines,
			 (struct code_line){ add_function(m, place->function, &frames[i]),
					     frames[i].line });
	}
	if (!n)
		vec_push(&m->c->lines,
			 (struct code_line){ add_function(m, place->function, NULL), 0 });
	if (m->c->symbol[place->function] == NO_INDEX)
		m->c->symbol[place->function] = m->c->lines.data[m->c->lines.n - 1].function;
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
	for (size_t i = 0; i < p->places.n; i++) {
		add_place(&m, &p->places.data[i], with_source);
		c->first[i + 1] = (uint32_t)c->lines.n;
	}
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
