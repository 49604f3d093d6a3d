/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/line_go.h"

#include <string.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "base/strings.h"
#include "elf/elf_go.h"

/* Tables may share texts, but not many times; further texts are left out. */
#define MAX_SHARING 16
#define MAX_DEPTH   64 /* of inlined functions; real ones have ten */

struct go_steps {
	struct elf_go_step *data;
	size_t n, cap;
};

struct go_lines {
	const struct elf_file *image;
	struct elf_go go;
	struct elf_go_function f; /* the function at hand … */
	struct go_steps files, lines, inlined;
	struct intmap node_of; /* … and the nodes of its entries */

	uint64_t base; /* offset of the first function */
	uint32_t end;  /* … from base, of the last one so far */
	VEC(struct line_row) rows;
	VEC(struct line_scope) scopes;
	VEC(struct line_node) nodes;
	VEC(struct line_place) places;
	struct intmap place_of, file_of; /* file and line to a place; unit's number to a text */
	struct strings texts;
	uint64_t n_text_bytes;
};

static uint32_t line_go_text(struct go_lines *l, const char *text)
{
	if (l->n_text_bytes / MAX_SHARING > l->image->size)
		return 0;
	l->n_text_bytes += strlen(text);
	return strings_add(&l->texts, text).n;
}

/* ---- places ---- */

static void read_steps(const struct go_lines *l, uint32_t place, struct go_steps *out)
{
	struct elf_go_steps steps;
	struct elf_go_step step;

	out->n = 0;
	elf_go_begin(&l->go, &l->f, place, &steps);
	while (elf_go_next(&steps, &step))
		vec_push(out, step);
}

/* The value at an offset in the function; -1 if there is none. */
static int32_t value_at(const struct go_steps *steps, uint64_t offset)
{
	size_t low = 0, high = steps->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps->data[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < steps->n ? steps->data[low].value : -1;
}

static uint32_t file_of(struct go_lines *l, int32_t number)
{
	uint32_t *known;
	bool is_new;

	if (number < 0)
		return 0;
	known = intmap_put(&l->file_of, (uint64_t)l->f.unit + (uint32_t)number, &is_new);
	if (is_new)
		*known = line_go_text(l, elf_go_file(&l->go, &l->f, number));
	return *known;
}

static uint32_t place_of(struct go_lines *l, int32_t file_number, int32_t line)
{
	uint32_t file = file_of(l, file_number), *known;
	bool is_new;

	if (!file || line <= 0)
		return 0;
	known = intmap_put(&l->place_of, (uint64_t)file << 32 | (uint32_t)line, &is_new);
	if (is_new) {
		*known = (uint32_t)l->places.n;
		vec_push(&l->places, (struct line_place){ .file = file, .line = (uint32_t)line });
	}
	return *known;
}

/* ---- nodes ---- */

static uint32_t add_node(struct go_lines *l, uint32_t parent, const char *name, uint32_t called,
			 uint32_t decl_line)
{
	vec_push(&l->nodes, (struct line_node){ parent, line_go_text(l, name), called, decl_line });
	return (uint32_t)(l->nodes.n - 1);
}

/*
 * The node of an entry in the tree, and of those around it. An entry around one is found by the
 * place of the call. A damaged tree may have a circle: then the function itself is around it.
 */
static uint32_t node_of(struct go_lines *l, int32_t number, uint32_t function)
{
	int32_t numbers[MAX_DEPTH];
	struct elf_go_inlined entry;
	uint32_t depth = 0, node = function;

	while (depth < MAX_DEPTH && elf_go_inlined(&l->go, &l->f, number, &entry)) {
		const uint32_t *known = intmap_find(&l->node_of, (uint32_t)number);

		if (known) {
			node = *known;
			break;
		}
		numbers[depth++] = number;
		number = value_at(&l->inlined, entry.called);
	}
	while (depth--) {
		bool is_new;
		uint32_t *known, called;

		elf_go_inlined(&l->go, &l->f, numbers[depth], &entry);
		called = place_of(l, value_at(&l->files, entry.called),
				  value_at(&l->lines, entry.called));
		known = intmap_put(&l->node_of, (uint32_t)numbers[depth], &is_new);
		if (is_new)
			*known = add_node(l, node, entry.name, called, entry.start_line);
		node = *known;
	}
	return node;
}

/* ---- functions ---- */

static void add_row(struct go_lines *l, uint32_t start, uint32_t place)
{
	if (!l->rows.n || l->rows.data[l->rows.n - 1].place != place)
		vec_push(&l->rows, (struct line_row){ start, place });
}

static void add_scope(struct go_lines *l, uint32_t start, uint32_t node)
{
	if (!l->scopes.n || l->scopes.data[l->scopes.n - 1].node != node)
		vec_push(&l->scopes, (struct line_scope){ start, node });
}

static void end_code(struct go_lines *l)
{
	add_row(l, l->end, 0);
	add_scope(l, l->end, NO_NODE);
}

/* A row where the file or the line changes. */
static void add_rows(struct go_lines *l, uint32_t start)
{
	size_t file = 0, line = 0;

	while (file < l->files.n && line < l->lines.n) {
		const struct elf_go_step *f = &l->files.data[file], *s = &l->lines.data[line];

		add_row(l, start + (uint32_t)MAX(f->start, s->start),
			place_of(l, f->value, s->value));
		file += f->end <= s->end;
		line += s->end <= f->end;
	}
}

static void add_function(struct go_lines *l, uint32_t start)
{
	uint32_t function;

	if (start != l->end)
		end_code(l);
	read_steps(l, l->f.file_numbers, &l->files);
	read_steps(l, l->f.lines, &l->lines);
	read_steps(l, l->f.inlined, &l->inlined);
	intmap_clear(&l->node_of);
	function = add_node(l, NO_NODE, elf_go_name(&l->go, &l->f), 0, l->f.start_line);
	add_rows(l, start);
	add_scope(l, start, function);
	vec_foreach (&l->inlined, s)
		add_scope(l, start + (uint32_t)s->start,
			  s->value < 0 ? function : node_of(l, s->value, function));
	l->end = start + (uint32_t)l->f.size;
}

/* The offset of the function at hand, which is cut at its segment's end. */
static bool function_offset(struct go_lines *l, const struct code_segments *segments, uint64_t *out)
{
	vec_foreach (segments, s) {
		uint64_t skip = l->f.link_addr - s->link_addr;

		if (l->f.link_addr < s->link_addr || skip >= s->size)
			continue;
		l->f.size = MIN(l->f.size, s->size - skip);
		*out = s->offset + skip;
		return true;
	}
	return false;
}

/* Functions in the order of the table. One before the end of the last one is damaged. */
static void add_functions(struct go_lines *l, const struct code_segments *segments)
{
	bool is_first = true;
	uint64_t offset;

	for (uint32_t i = 0; elf_go_function(&l->go, i, &l->f); i++) {
		if (!l->f.size || !function_offset(l, segments, &offset))
			continue;
		if (is_first)
			l->base = offset;
		is_first = false;
		if (offset < l->base + l->end || offset + l->f.size - l->base >= UINT32_MAX)
			continue;
		add_function(l, (uint32_t)(offset - l->base));
	}
	end_code(l);
}

/* ---- the block ---- */

/* The texts' places, by their numbers, and their size. */
static uint32_t *lay_out_texts(const struct strings *s, uint64_t *size)
{
	uint32_t *at = xcalloc((size_t)s->n + 1, sizeof(*at));

	*size = 1;
	for (uint32_t i = 1; i < s->n; i++) {
		at[i] = *size <= UINT32_MAX ? (uint32_t)*size : 0;
		*size += s->len[i] + 1U;
	}
	return at;
}

static struct line_header *line_go_block(const struct go_lines *l, size_t *size)
{
	struct line_header like = {
		.n_rows = (uint32_t)l->rows.n,
		.n_scopes = (uint32_t)l->scopes.n,
		.n_nodes = (uint32_t)l->nodes.n,
		.n_places = (uint32_t)l->places.n,
		.base = l->base,
	};
	cleanup(free_at_exit) uint32_t *text_at = lay_out_texts(&l->texts, &like.text_size);
	struct line_index out;
	struct line_header *block = line_block_new(&like, l->end, size, &out);
	struct line_node *nodes = (struct line_node *)out.nodes;
	struct line_place *places = (struct line_place *)out.places;
	char *text = (char *)out.text;

	memcpy((void *)out.rows, l->rows.data, l->rows.n * sizeof(*out.rows));
	memcpy((void *)out.scopes, l->scopes.data, l->scopes.n * sizeof(*out.scopes));
	vec_foreach (&l->nodes, node) {
		*nodes = *node;
		nodes++->name = text_at[node->name];
	}
	vec_foreach (&l->places, place) {
		*places = *place;
		places++->file = text_at[place->file];
	}
	*text++ = '\0';
	for (uint32_t i = 1; i < l->texts.n; i++)
		text = mempcpy(text, l->texts.text[i], l->texts.len[i] + 1U);
	line_block_seal(block, *size);
	return block;
}

struct line_header *line_go_make(const struct elf_file *image, const struct code_segments *s,
				 size_t *size)
{
	struct go_lines l = { .image = image };
	struct line_header *block = NULL;

	if (!elf_go_open(&l.go, image))
		return NULL;
	strings_init(&l.texts);
	vec_push(&l.places, (struct line_place){ 0 });
	add_functions(&l, s);
	if (l.nodes.n)
		block = line_go_block(&l, size);
	vec_fini(&l.files);
	vec_fini(&l.lines);
	vec_fini(&l.inlined);
	vec_fini(&l.rows);
	vec_fini(&l.scopes);
	vec_fini(&l.nodes);
	vec_fini(&l.places);
	intmap_fini(&l.node_of);
	intmap_fini(&l.place_of);
	intmap_fini(&l.file_of);
	strings_fini(&l.texts);
	return block;
}
