/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callgrind's profile format, version 1 (valgrind's manual, "Callgrind Format Specification"), for
 * callgrind_annotate and KCachegrind. An event has two columns: samples, and the events they stand
 * for.
 *
 * A cost line is one instruction: its offset in the image as address, and the line of the innermost
 * function inlined there. The number of calls is not known: "calls=" has the samples below the
 * call. Without sources, cost lines have no line: speedscope takes the second column for a weight.
 */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "export/calls.h"
#include "export/code_lines.h"
#include "export/export.h"
#include "export/names.h"
#include "export/text.h"
#include "store/session.h"

struct callgrind {
	const struct export *x;
	struct sink *out;
	struct calls calls;
	bool *image_is_named, *function_is_named; /* then "(3)" is enough */
	struct strings files;                     /* named so far; id 0 is the unknown file */
	bool unknown_file_is_named;
	const char *file; /* of the last cost line */
};

/* Names end with the line. */
static void callgrind_put_text(struct buf *out, const char *text)
{
	utf8_append_visible(out, text);
}

/* "fn=(3) name", or "fn=(3)" after the first time. */
static void callgrind_put_name(struct callgrind *w, const char *key, uint32_t id, const char *name,
			       bool *is_named)
{
	struct buf *out = &w->out->buf;

	buf_printf(out, "%s=(%" PRIu32 ")", key, id + 1);
	if (!*is_named) {
		buf_u8(out, ' ');
		callgrind_put_text(out, name);
	}
	*is_named = true;
	buf_u8(out, '\n');
}

static void put_image(struct callgrind *w, const char *key, uint32_t image)
{
	callgrind_put_name(w, key, image, frame_image_path(w->x->frames, image),
			   &w->image_is_named[image]);
}

static void callgrind_put_function(struct callgrind *w, const char *key, uint32_t function)
{
	callgrind_put_name(w, key, function, frame_name(w->x->frames, function),
			   &w->function_is_named[function]);
}

static void callgrind_put_file(struct callgrind *w, const char *key, const char *file)
{
	uint32_t n = w->files.n, id = strings_add(&w->files, file).n;
	bool is_named = id < n;

	callgrind_put_name(w, key, id, id ? file : "???",
			   id ? &is_named : &w->unknown_file_is_named);
}

/* The file of a function; callers refer to the function by it. */
static const char *function_file(const struct callgrind *w, uint32_t function)
{
	const struct code_lines *c = w->x->lines;

	return c->functions.data[c->symbol[function]].file;
}

/* Event names are words: other characters become '_'. */
static void callgrind_put_event(struct buf *out, const char *name)
{
	static const char word[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.-";

	for (; *name; name++)
		buf_u8(out, strchr(word, *name) ? (uint8_t)*name : '_');
}

static bool callgrind_has_lines(const struct callgrind *w)
{
	return !w->x->options->no_source;
}

static void callgrind_put_head(struct callgrind *w)
{
	const struct profile *p = w->x->profile;
	const struct session_info *info = &p->session->info;
	struct buf *out = &w->out->buf;

	buf_str(out, "# callgrind format\nversion: 1\ncreator: assay\ncmd: ");
	callgrind_put_text(out, info->command);
	buf_printf(out, "\npositions: instr%s\nevents:", callgrind_has_lines(w) ? " line" : "");
	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		uint32_t counter = p->lanes[lane].counter;
		const char *name = counter == NO_INDEX ? "events" : info->counters[counter].name;

		if (p->n_lanes > 1) {
			buf_u8(out, ' ');
			callgrind_put_event(out, name);
			buf_str(out, "_samples ");
		} else {
			buf_str(out, " samples ");
		}
		callgrind_put_event(out, name);
	}
	buf_u8(out, '\n');
}

static void callgrind_put_cost(struct buf *out, const struct weight *weight)
{
	buf_u8(out, ' ');
	text_u64(out, weight->samples);
	buf_u8(out, ' ');
	text_u64(out, weight->period);
}

static void put_costs(struct buf *out, const struct weight *weights, uint32_t n_lanes)
{
	for (uint32_t lane = 0; lane < n_lanes; lane++)
		callgrind_put_cost(out, &weights[lane]);
	buf_u8(out, '\n');
}

static void put_totals(struct callgrind *w, const char *key)
{
	const struct profile *p = w->x->profile;

	buf_str(&w->out->buf, key);
	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		callgrind_put_cost(&w->out->buf, &p->lanes[lane].total);
	buf_u8(&w->out->buf, '\n');
}

/* "0x1234 17": an instruction and its line; 0: not known. */
static void put_position(struct callgrind *w, uint64_t offset, uint32_t line)
{
	buf_printf(&w->out->buf, "0x%" PRIx64, offset);
	if (callgrind_has_lines(w))
		buf_printf(&w->out->buf, " %" PRIu32, line);
}

/* The innermost line of a place. It belongs to an inlined function, possibly of another file. */
static const struct code_line *callgrind_line_of(const struct callgrind *w, uint32_t place)
{
	return &w->x->lines->lines.data[w->x->lines->first[place]];
}

static void callgrind_put_place(struct callgrind *w, uint32_t place)
{
	put_position(w, w->x->profile->places.data[place].offset,
		     callgrind_line_of(w, place)->line);
}

/* Names the file of the next lines, if it differs from the file of the last lines. */
static void put_file_change(struct callgrind *w, uint32_t place, const char *home)
{
	const char *file = w->x->lines->functions.data[callgrind_line_of(w, place)->function].file;

	if (strcmp(file, w->file) != 0)
		callgrind_put_file(w, strcmp(file, home) ? "fi" : "fe", file);
	w->file = file;
}

static uint64_t samples_of(const struct weight *weights, uint32_t n_lanes)
{
	uint64_t n = 0;

	for (uint32_t lane = 0; lane < n_lanes; lane++)
		n += weights[lane].samples;
	return n;
}

static uint64_t entry_of(const struct profile *p, uint32_t function)
{
	const struct profile_function *f = &p->functions.data[function];

	return f->symbol == NO_SYMBOL
		       ? 0
		       : symbol_get(p->images.data[f->image].table, f->symbol).offset;
}

static void callgrind_put_call(struct callgrind *w, const struct call *call,
			       const struct weight *weights)
{
	const struct profile *p = w->x->profile;
	struct buf *out = &w->out->buf;

	put_image(w, "cob", p->functions.data[call->callee].image);
	callgrind_put_file(w, "cfi", function_file(w, call->callee));
	callgrind_put_function(w, "cfn", call->callee);
	buf_str(out, "calls=");
	text_u64(out, samples_of(weights, p->n_lanes));
	buf_u8(out, ' ');
	put_position(w, entry_of(p, call->callee), 0);
	buf_u8(out, '\n');
	callgrind_put_place(w, call->caller);
	put_costs(out, weights, p->n_lanes);
}

static void begin_function(struct callgrind *w, uint32_t function)
{
	w->file = function_file(w, function);
	buf_u8(&w->out->buf, '\n');
	put_image(w, "ob", w->x->profile->functions.data[function].image);
	callgrind_put_file(w, "fl", w->file);
	callgrind_put_function(w, "fn", function);
}

/* The places of all functions, each followed by its calls: both are in the same order. */
static void put_places(struct callgrind *w)
{
	const struct profile *p = w->x->profile;
	uint32_t *order = places_by_function(p), function = NO_INDEX;
	const struct call *call = w->calls.list.data, *end = call + w->calls.list.n;

	for (size_t i = 0; i < p->places.n && !sink_failed(w->out); i++) {
		uint32_t place = order[i];
		const struct weight *self = &w->calls.self[(size_t)place * p->n_lanes];

		if (p->places.data[place].function != function)
			begin_function(w, function = p->places.data[place].function);
		put_file_change(w, place, function_file(w, function));
		if (samples_of(self, p->n_lanes)) {
			callgrind_put_place(w, place);
			put_costs(&w->out->buf, self, p->n_lanes);
		}
		for (; call < end && call->caller == place; call++)
			callgrind_put_call(w, call,
					   &w->calls.weights[(size_t)(call - w->calls.list.data) *
							     p->n_lanes]);
		sink_step(w->out);
	}
	free(order);
}

static int write_callgrind(const struct export *x, struct sink *out, struct error *err)
{
	struct callgrind w = { .x = x, .out = out };

	(void)err;
	strings_init(&w.files);
	calls_init(&w.calls, x->profile);
	w.image_is_named = xcalloc(x->profile->images.n + 1, sizeof(bool));
	w.function_is_named = xcalloc(x->profile->functions.n + 1, sizeof(bool));
	callgrind_put_head(&w);
	put_totals(&w, "summary:");
	put_places(&w);
	put_totals(&w, "\ntotals:");
	free(w.image_is_named);
	free(w.function_is_named);
	calls_fini(&w.calls);
	strings_fini(&w.files);
	return 0;
}

const struct export_ops export_callgrind = {
	.target = EXPORT_STREAM,
	.with_chains = true,
	.with_places = true,
	.with_source = true,
	.write = write_callgrind,
};
