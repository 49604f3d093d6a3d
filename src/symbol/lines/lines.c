/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/lines.h"

#include <string.h>

#include "symbol/lines/line_table.h"
#include "symbol/readable_names.h"
#include "symbol/table.h"

const char *const line_status_texts[N_LINE_STATUSES] = {
#define X(id, text) text,
	LINE_STATUSES(X)
#undef X
};

/* A function_id with this bit is the index of the frame's symbol. */
#define ID_OF_SYMBOL 0x80000000U

/* Lines are a cache of the table, which is otherwise immutable and belongs to `s`. */
static struct line_table *lines_of(struct symbolizer *s, const struct symbol_table *table)
{
	struct symbol_table *t = (struct symbol_table *)table;

	if (!t->lines)
		t->lines = line_table_open(s, &t->image);
	return t->lines;
}

static void set_frame_place(const struct line_index *ix, uint32_t i, struct line_frame *out)
{
	const struct line_place place = line_index_place(ix, i);

	out->file = line_index_text(ix, place.file);
	out->file_id = place.file;
	out->line = place.line;
	out->column = place.column;
	out->discriminator = place.discriminator;
}

/* The outermost frame is the symbol's: of several equal functions, it has the linker's name. */
static void set_symbol_frame(const struct symbol_table *t, uint32_t i, struct line_frame *frame)
{
	struct symbol symbol;

	if (i == NO_SYMBOL || i >= ID_OF_SYMBOL)
		return;
	symbol = symbol_get(t, i);
	if ((symbol.name_end || !*symbol.name) && *frame->function)
		return;
	frame->function = symbol.name;
	frame->function_id = i | ID_OF_SYMBOL;
}

/* A line that came with the session, for the function that it names. */
static bool given_span(const struct line_table *lines, size_t at, struct line_span *out)
{
	const struct line_given *g = &lines->given.data[at];

	if (at >= lines->given.n)
		return false;
	*out = (struct line_span){
		.start = g->offset,
		.end = g->offset + g->size,
		.file = strings_get(&lines->given_files, g->file),
		.file_id = g->file.n,
		.line = g->line,
	};
	return true;
}

static bool given_span_of(const struct line_table *lines, uint64_t offset, struct line_span *out)
{
	return given_span(lines, line_table_given_at(lines, offset), out) && out->start <= offset;
}

static bool lines_is_known(const struct line_frame *f)
{
	return *f->function || *f->file || f->line || (f->function_id & ID_OF_SYMBOL);
}

/* An offset's place in the tables. */
struct spot {
	uint64_t offset;
	uint32_t row, node, symbol; /* UINT32_MAX, NO_NODE, NO_SYMBOL: none */
};

static struct spot find_spot(const struct line_index *ix, const struct symbol_table *t,
			     uint64_t offset)
{
	uint32_t scope = line_index_scope(ix, offset);
	uint32_t node = scope == UINT32_MAX ? NO_NODE : ix->scopes[scope].node;

	return (struct spot){
		.offset = offset,
		.row = line_index_row(ix, offset),
		.node = ix->header && node < ix->header->n_nodes ? node : NO_NODE,
		.symbol = symbol_find(t, offset),
	};
}

static size_t frames_at(const struct line_table *lines, const struct symbol_table *t,
			const struct spot *spot, struct line_frame *out, size_t max)
{
	const struct line_index *ix = &lines->index;
	struct line_frame frame = { .function = "", .file = "" };
	uint32_t node = spot->node;
	struct line_span given;
	size_t n = 0;

	if (lines->given.n && given_span_of(lines, spot->offset, &given)) {
		frame.file = given.file;
		frame.file_id = given.file_id;
		frame.line = given.line;
	}
	if (spot->row != UINT32_MAX)
		set_frame_place(ix, ix->rows[spot->row].place, &frame);
	while (node != NO_NODE) {
		const struct line_node *at = &ix->nodes[node];

		frame.function = line_index_text(ix, at->name);
		frame.function_id = at->name;
		frame.decl_line = at->decl_line;
		if (at->parent >= node) /* none; or damage, because parents come first */
			break;
		frame.is_inline = true;
		out[n] = frame;
		n += n + 1 < max;
		frame = (struct line_frame){ .function = "" };
		set_frame_place(ix, at->called, &frame);
		node = at->parent;
	}
	set_symbol_frame(t, spot->symbol, &frame);
	if (!n && !lines_is_known(&frame))
		return 0;
	out[n++] = frame;
	return n;
}

size_t lines_find(struct symbolizer *s, const struct symbol_table *t, uint64_t offset,
		  struct line_frame *out, size_t max)
{
	const struct line_table *lines = lines_of(s, t);
	const struct spot spot = find_spot(&lines->index, t, offset);

	return max ? frames_at(lines, t, &spot, out, max) : 0;
}

/* ---- many at once ---- */

/* As many as a core's cache misses that run at once; their data fits its first cache. */
#define GROUP 32

/* Names of templates are longer than a line of the cache. */
static void fetch_text(const char *text)
{
	__builtin_prefetch(text);
	__builtin_prefetch(text + 64);
}

static void fetch_names(const struct symbol_table *t, const struct line_index *ix,
			const struct spot *spot)
{
	if (spot->symbol != NO_SYMBOL)
		fetch_text(symbol_get(t, spot->symbol).name);
	if (spot->node != NO_NODE)
		__builtin_prefetch(&ix->nodes[spot->node]);
}

/* The names of inlined functions: from each of the nodes, one step outwards at a time. */
static void fetch_outwards(const struct line_index *ix, uint32_t *nodes, size_t n)
{
	while (n) {
		size_t n_left = 0;

		for (size_t i = 0; i < n; i++) {
			const struct line_node *at;

			if (nodes[i] == NO_NODE)
				continue;
			at = &ix->nodes[nodes[i]];
			if (at->parent >= nodes[i])
				continue; /* the symbol has its name */
			fetch_text(line_index_text(ix, at->name));
			__builtin_prefetch(&ix->nodes[at->parent]);
			nodes[n_left++] = at->parent;
		}
		n = n_left;
	}
}

static void find_group(const struct line_table *lines, const struct symbol_table *t,
		       const uint64_t *offsets, size_t n, struct spot *spots)
{
	const struct line_index *ix = &lines->index;
	uint32_t nodes[GROUP];

	for (size_t i = 0; i < n; i++)
		line_index_fetch_bucket(ix, offsets[i]);
	for (size_t i = 0; i < n; i++)
		line_index_fetch_starts(ix, offsets[i]);
	for (size_t i = 0; i < n; i++) {
		spots[i] = find_spot(ix, t, offsets[i]);
		fetch_names(t, ix, &spots[i]);
		nodes[i] = spots[i].node;
	}
	fetch_outwards(ix, nodes, n);
}

void lines_find_each(struct symbolizer *s, const struct symbol_table *t, const uint64_t *offsets,
		     size_t n, lines_take_fn *take, void *context)
{
	const struct line_table *lines = lines_of(s, t);
	struct line_frame frames[LINES_MAX_FRAMES];
	struct spot spots[GROUP];

	for (size_t at = 0; at < n; at += GROUP) {
		size_t n_group = MIN(n - at, (size_t)GROUP);

		find_group(lines, t, offsets + at, n_group, spots);
		for (size_t i = 0; i < n_group; i++)
			take(context, at + i, frames,
			     frames_at(lines, t, &spots[i], frames, LINES_MAX_FRAMES));
	}
}

static const char *demangled_name(struct symbolizer *s, struct symbol_table *t, uint32_t at,
				  const char *plain)
{
	struct line_table *lines = lines_of(s, t);
	bool is_new;
	uint32_t *index = intmap_put(&lines->name_index, at, &is_new);

	if (is_new) {
		const char *name = plain;

		s->scratch.len = 0;
		if (readable_name(s->readable, t, plain, language_of_inlined(t, plain), NAME_LONG,
				  &s->scratch))
			name = arena_strndup(s->names, buf_cstr(&s->scratch), s->scratch.len);
		*index = (uint32_t)lines->names.n;
		vec_push(&lines->names, name);
	}
	return lines->names.data[*index];
}

const char *lines_name(struct symbolizer *s, const struct symbol_table *t,
		       const struct line_frame *frame)
{
	if (frame->function_id & ID_OF_SYMBOL)
		return symbol_name(s, t, frame->function_id & ~ID_OF_SYMBOL);
	return demangled_name(s, (struct symbol_table *)t, frame->function_id, frame->function);
}

enum line_status lines_status(struct symbolizer *s, const struct symbol_table *t)
{
	return lines_of(s, t)->status;
}

const char *lines_detail(struct symbolizer *s, const struct symbol_table *t)
{
	const char *detail = lines_of(s, t)->detail;

	return detail ? detail : "";
}

static bool span_at(const struct line_index *ix, uint32_t row, struct line_span *out)
{
	const struct line_row *at = &ix->rows[row];
	const struct line_place place = line_index_place(ix, at->place);

	if (!place.file && !place.line)
		return false;
	*out = (struct line_span){
		.start = ix->header->base + at->start,
		.end = row + 1 < ix->header->n_rows ? ix->header->base + at[1].start : UINT64_MAX,
		.file = line_index_text(ix, place.file),
		.file_id = place.file,
		.line = place.line,
		.column = place.column,
	};
	return true;
}

bool lines_span(struct symbolizer *s, const struct symbol_table *t, uint64_t offset,
		struct line_span *out)
{
	const struct line_table *lines = lines_of(s, t);
	const struct line_index *ix = &lines->index;
	uint32_t row = line_index_row(ix, offset);

	if (lines->given.n)
		return given_span_of(lines, offset, out);
	return row != UINT32_MAX && span_at(ix, row, out);
}
