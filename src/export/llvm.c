/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LLVM's sample profile as text, for `clang -fprofile-sample-use=FILE` and `llvm-profdata`
 * (llvm-project, ProfileData/SampleProfReader.h; Clang's manual, "Sample Profile Text Format"):
 *
 *   function:TOTAL:HEAD
 *    OFFSET[.DISCRIMINATOR]: COUNT           a line, counted from the function's declaration
 *    OFFSET[.DISCRIMINATOR]: callee:TOTAL    an inlined function; its lines, a blank deeper
 *     OFFSET[.DISCRIMINATOR]: COUNT
 *
 * Functions have the names of the symbol table. HEAD has the samples at the first instruction.
 * Counts of call targets are left out: samples count no calls.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/strings.h"
#include "export/export.h"
#include "symbol/lines/lines.h"

/* LLVM's place in a function: 16 bits of lines, and the piece of the line's code. */
struct llvm_place {
	uint32_t offset, discriminator;
};

/* A function, or a copy that is inlined into another one. */
struct llvm_function {
	uint32_t parent; /* 0: not inlined */
	struct llvm_place called;
	string_id name;
	uint64_t total, head;
};

struct llvm_line {
	uint32_t function;
	struct llvm_place place;
	uint64_t count;
};

/* Keys of tables: all of a function, or line, except its counts. */
struct function_key {
	uint32_t parent, offset, discriminator, name;
};
struct line_key {
	uint32_t function, offset, discriminator;
};

struct llvm {
	const struct export *x;
	struct sink *out;
	struct strings names, function_keys, line_keys; /* entry i is string i */
	VEC(struct llvm_function) functions;            /* [0] is unused */
	VEC(struct llvm_line) lines;                    /* [0] is unused */
	uint32_t *first_line, *first_inlined; /* by function, in the sorted lists, and one more */
	uint32_t *order;                      /* of functions, as written */
};

/* The length before the suffixes that compilers add to copies and parts; profiles use that name. */
static size_t plain_length(const char *name)
{
	static const char *const added[] = { ".llvm.", ".cold", ".part.", ".isra.", ".constprop." };
	size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(added); i++) {
		const char *at = strstr(name, added[i]);

		if (at && at > name)
			n = MIN(n, (size_t)(at - name));
	}
	return n;
}

/* A name begins a line, and so do blanks, numbers and comments. */
static bool llvm_is_name(const char *name)
{
	return *name && !strchr(" #!0123456789", *name) && !strchr(name, '\n') &&
	       !strchr(name, '\r');
}

static struct llvm_place llvm_place_of(const struct line_frame *f)
{
	return (struct llvm_place){ (f->line - f->decl_line) & 0xffff, f->discriminator };
}

static bool frame_has_lines(const struct line_frame *f)
{
	return f->line && f->decl_line;
}

static uint32_t llvm_add_function(struct llvm *w, uint32_t parent, struct llvm_place called,
				  const struct line_frame *f)
{
	string_id name = strings_add_n(&w->names, f->function, plain_length(f->function));
	struct function_key key = { parent, called.offset, called.discriminator, name.n };
	uint32_t id = strings_add_n(&w->function_keys, (const char *)&key, sizeof(key)).n;

	if (id == w->functions.n)
		vec_push(&w->functions, (struct llvm_function){
						.parent = parent, .called = called, .name = name });
	return id;
}

static void llvm_add_line(struct llvm *w, uint32_t function, struct llvm_place place,
			  uint64_t count)
{
	struct line_key key = { function, place.offset, place.discriminator };
	uint32_t id = strings_add_n(&w->line_keys, (const char *)&key, sizeof(key)).n;

	if (id == w->lines.n)
		vec_push(&w->lines, (struct llvm_line){ .function = function, .place = place });
	w->lines.data[id].count += count;
}

/* From the symbol's function inwards, while names and lines are known. */
static void llvm_add_samples(struct llvm *w, const struct line_frame *frames, size_t n,
			     bool is_entry, uint64_t count)
{
	uint32_t function;

	if (!n || !llvm_is_name(frames[n - 1].function) || !frame_has_lines(&frames[n - 1]))
		return;
	function = llvm_add_function(w, 0, (struct llvm_place){ 0 }, &frames[n - 1]);
	w->functions.data[function].head += is_entry ? count : 0;
	while (true) {
		const struct line_frame *f = &frames[--n];

		w->functions.data[function].total += count;
		if (!n || !llvm_is_name(frames[n - 1].function) ||
		    !frame_has_lines(&frames[n - 1])) {
			llvm_add_line(w, function, llvm_place_of(f), count);
			return;
		}
		function = llvm_add_function(w, function, llvm_place_of(f), &frames[n - 1]);
	}
}

static void llvm_add_place(struct llvm *w, const struct profile_place *place, uint64_t count)
{
	const struct profile *p = w->x->profile;
	const struct profile_function *f = &p->functions.data[place->function];
	const struct symbol_table *table = p->images.data[f->image].table;
	struct line_frame frames[LINES_MAX_FRAMES];
	size_t n;

	if (!table || f->symbol == NO_SYMBOL || !count)
		return;
	n = lines_find(p->symbols, table, place->offset, frames, LINES_MAX_FRAMES);
	llvm_add_samples(w, frames, n, place->offset == symbol_get(table, f->symbol).offset, count);
}

static void llvm_add_all(struct llvm *w)
{
	const struct profile *p = w->x->profile;
	cleanup(free_at_exit) uint64_t *counts = xcalloc(p->places.n + 1, sizeof(*counts));

	for (size_t i = 0; i < p->entries.n; i++) {
		uint32_t node = p->entries.data[i].node;
		const struct weight *weight = &p->weights.data[i];

		if (node)
			counts[p->node_places.data[node]] +=
				w->x->options->by_period ? weight->period : weight->samples;
	}
	for (size_t i = 0; i < p->places.n; i++)
		llvm_add_place(w, &p->places.data[i], counts[i]);
}

/* Writing. */

static int llvm_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int llvm_by_place(struct llvm_place a, struct llvm_place b)
{
	int r = llvm_compare(a.offset, b.offset);

	return r ? r : llvm_compare(a.discriminator, b.discriminator);
}

static int line_order(const void *a, const void *b)
{
	const struct llvm_line *x = a, *y = b;
	int r = llvm_compare(x->function, y->function);

	return r ? r : llvm_by_place(x->place, y->place);
}

/* Functions inlined into one by their places; the others by their counts, largest first. */
static int function_order(const void *a, const void *b, void *context)
{
	const struct llvm *w = context;
	const struct llvm_function *x = &w->functions.data[*(const uint32_t *)a];
	const struct llvm_function *y = &w->functions.data[*(const uint32_t *)b];
	int r = llvm_compare(x->parent, y->parent);

	r = r           ? r
	    : x->parent ? llvm_by_place(x->called, y->called)
			: llvm_compare(y->total, x->total);
	return r ? r : strcmp(strings_get(&w->names, x->name), strings_get(&w->names, y->name));
}

static void llvm_sort(struct llvm *w)
{
	uint32_t n = (uint32_t)w->functions.n;

	w->order = xcalloc(n, sizeof(*w->order));
	w->first_line = xcalloc(n + 1, sizeof(*w->first_line));
	w->first_inlined = xcalloc(n + 1, sizeof(*w->first_inlined));
	qsort(w->lines.data, w->lines.n, sizeof(*w->lines.data), line_order);
	for (uint32_t i = 0; i < n; i++)
		w->order[i] = i;
	qsort_r(w->order + 1, n - 1, sizeof(*w->order), function_order, w);
	for (uint32_t i = 1; i < w->lines.n; i++)
		w->first_line[w->lines.data[i].function + 1] = i + 1;
	for (uint32_t i = 1; i < n; i++)
		w->first_inlined[w->functions.data[w->order[i]].parent + 1] = i + 1;
	/* functions without any begin at the end of the one before */
	w->first_line[0] = w->first_inlined[0] = 1;
	for (uint32_t i = 1; i <= n; i++) {
		w->first_line[i] = MAX(w->first_line[i], w->first_line[i - 1]);
		w->first_inlined[i] = MAX(w->first_inlined[i], w->first_inlined[i - 1]);
	}
}

static void llvm_put_place(struct buf *out, uint32_t depth, struct llvm_place place)
{
	buf_printf(out, "%*s%" PRIu32, (int)depth, "", place.offset);
	if (place.discriminator)
		buf_printf(out, ".%" PRIu32, place.discriminator);
	buf_str(out, ": ");
}

/* As deep as inlining: LINES_MAX_FRAMES at most. */
static void put_function(struct llvm *w, uint32_t id,
			 uint32_t depth) /* NOLINT(misc-no-recursion) */
{
	const struct llvm_function *f = &w->functions.data[id];
	struct buf *out = &w->out->buf;

	if (depth)
		llvm_put_place(out, depth, f->called);
	buf_printf(out, "%s:%" PRIu64, strings_get(&w->names, f->name), f->total);
	if (!depth)
		buf_printf(out, ":%" PRIu64, f->head);
	buf_u8(out, '\n');
	for (uint32_t i = w->first_line[id]; i < w->first_line[id + 1]; i++) {
		llvm_put_place(out, depth + 1, w->lines.data[i].place);
		buf_printf(out, "%" PRIu64 "\n", w->lines.data[i].count);
	}
	sink_step(w->out);
	for (uint32_t i = w->first_inlined[id]; i < w->first_inlined[id + 1]; i++)
		put_function(w, w->order[i], depth + 1);
}

static int llvm_put_all(struct llvm *w, struct error *err)
{
	llvm_add_all(w);
	if (w->lines.n == 1)
		return error_set(err, -ENODATA,
				 "llvm needs lines, and no sample is in code with debug "
				 "information; compile "
				 "with -g ('assay why' names the missing parts)");
	llvm_sort(w);
	for (uint32_t i = w->first_inlined[0]; i < w->first_inlined[1] && !sink_failed(w->out); i++)
		put_function(w, w->order[i], 0);
	return 0;
}

static int write_llvm(const struct export *x, struct sink *out, struct error *err)
{
	struct llvm w = { .x = x, .out = out };
	int r;

	if (x->profile->n_lanes > 1)
		return error_set(
			err, -EINVAL,
			"llvm holds one event; choose it with event:NAME ('assay info' has "
			"their names)");
	strings_init(&w.names);
	strings_init(&w.function_keys);
	strings_init(&w.line_keys);
	vec_add(&w.functions);
	vec_add(&w.lines);
	r = llvm_put_all(&w, err);
	strings_fini(&w.names);
	strings_fini(&w.function_keys);
	strings_fini(&w.line_keys);
	vec_fini(&w.functions);
	vec_fini(&w.lines);
	free(w.first_line);
	free(w.first_inlined);
	free(w.order);
	return r;
}

const struct export_ops export_llvm = {
	.target = EXPORT_STREAM,
	.with_places = true,
	.write = write_llvm,
};
