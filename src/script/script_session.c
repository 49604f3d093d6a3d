/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script/script_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/language.h"
#include "pipeline/frames.h"
#include "store/row_reader.h"
#include "store/session.h"
#include "store/times.h"
#include "symbol/symbols.h"

/* A sample with its own time, or the samples of a row that have the time of their block. */
struct stored_sample {
	uint64_t time_ns, number;
	struct count_row row;
};

struct reading {
	struct script_printer printer;
	const struct session *session;
	const struct segment *segment;
	struct perf_event_attr attr; /* what samples of a session have */
	struct code_addr code[MAX_FRAMES];
	/* Of the segment, not printed yet: samples of a later block may be older. */
	VEC(struct stored_sample) waiting;
	uint64_t n_samples;
	struct count_rows rows;    /* of the block */
	struct sample_times times; /* likewise */
};

static const struct image *stored_image(const void *context, image_id id)
{
	const struct reading *r = context;

	return &r->segment->images[id.n < r->segment->n_images ? id.n : 0];
}

static void stored_names(const void *context, image_id id,
			 void (*visit)(void *visitor, const struct given_symbol *symbol),
			 void *visitor)
{
	const struct reading *r = context;

	for (uint32_t i = 0; i < r->segment->n_symbols; i++) {
		const struct code_symbol *s = &r->segment->symbols[i];
		struct given_symbol symbol = { s->offset, s->size, s->name, s->line };

		if (s->image.n == id.n)
			visit(visitor, &symbol);
	}
}

static bool is_mark(const struct segment *s, const struct code_addr *code,
		    bool (*is_of)(const struct image *image))
{
	return code->image.n < s->n_images && is_of(&s->images[code->image.n]);
}

/* A stack of the tree, innermost first, without marks of memory accesses and of cut stacks. */
static uint32_t script_read_stack(struct reading *r, uint32_t node)
{
	uint32_t n = 0;

	for (; node && n < MAX_FRAMES; node = r->segment->nodes[node].parent) {
		r->code[n] = r->segment->nodes[node].code;
		if (is_mark(r->segment, &r->code[n], image_is_access_mark) ||
		    is_mark(r->segment, &r->code[n], image_is_latency_mark) ||
		    is_mark(r->segment, &r->code[n], image_is_label_mark))
			n = 0;
		else
			n += !is_mark(r->segment, &r->code[n], image_is_cut_mark);
	}
	if (!n)
		r->code[n++] = (struct code_addr){ IMAGE_UNKNOWN_ID, 0 };
	return n;
}

static const struct image *image_of_frame(const struct reading *r, uint32_t i)
{
	return stored_image(r, r->code[i].image);
}

/* Whether the frame around this one is the interpreter's loop (profile/shown_frames.h). */
static bool is_in_loop(const struct reading *r, uint32_t i, uint32_t n)
{
	const struct image *image = image_of_frame(r, i);

	return image->kind == IMAGE_LANGUAGE &&
	       !language_is_on_stack((unsigned int)image->language) && i + 1 < n &&
	       image_of_frame(r, i + 1)->kind == IMAGE_FILE;
}

static bool is_language_frame(const struct reading *r, uint32_t i)
{
	enum image_kind kind = image_of_frame(r, i)->kind;

	return kind == IMAGE_LANGUAGE ||
	       (kind == IMAGE_FILE && script_place_is_go(r->printer.places, r->code[i]));
}

/* Frames up to the last mark of a wait are its waker's, and stay. */
static uint32_t first_own_frame(const struct reading *r, uint32_t n)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < n; i++)
		if (image_is_wait_mark(image_of_frame(r, i)))
			first = i + 1;
	return first;
}

/*
 * Leaves out frames as reports do (profile/shown_frames.h). A stack without a frame of the kind
 * stays whole.
 */
static uint32_t choose_frames(struct reading *r, enum shown_frames frames, uint32_t n)
{
	uint32_t kept = first_own_frame(r, n), first = kept;

	for (uint32_t i = first; i < n; i++) {
		bool is_asked = frames == FRAMES_BOTH ||
				is_language_frame(r, i) == (frames == FRAMES_LANGUAGE);
		bool has_loop = frames == FRAMES_BOTH && is_in_loop(r, i, n);

		if (is_asked)
			r->code[kept++] = r->code[i];
		i += has_loop;
	}
	return kept > first ? kept : n;
}

static const char *script_string_of(const struct segment *segment, string_id id)
{
	return id.n < segment->n_strings ? segment->strings[id.n] : "";
}

static int take_stored(struct reading *r, const struct stored_sample *s)
{
	const struct count_row *count = &s->row;
	const struct profile_class *c = &r->segment->classes[count->class];
	const struct session_info *info = &r->session->info;
	struct script_row row = {
		.comm = script_string_of(r->segment, c->comm),
		.cgroup = script_string_of(r->segment, c->cgroup),
		.event = c->counter < info->n_counters ? info->counters[c->counter].name : "",
		.attr = &r->attr,
		.pid = c->pid,
		.tid = c->tid,
		.cpu = c->cpu,
		.time_ns = s->time_ns,
		.period = count->period,
		.samples = count->samples,
		.code = r->code,
		.has_chain = r->attr.sample_type & PERF_SAMPLE_CALLCHAIN,
	};

	row.n_frames = script_read_stack(r, count->node);
	row.n_frames = choose_frames(r, r->printer.options->frames, row.n_frames);
	return script_take_row(&r->printer, &row);
}

/* Samples of the same time keep their order. */
static int by_time(const void *a, const void *b)
{
	const struct stored_sample *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Prints the samples that no later block can precede. */
static int take_waiting(struct reading *r, uint64_t until_ns)
{
	size_t n = 0;
	int e = 0;

	if (r->waiting.n)
		qsort(r->waiting.data, r->waiting.n, sizeof(*r->waiting.data), by_time);
	for (; n < r->waiting.n && r->waiting.data[n].time_ns < until_ns && !e; n++)
		e = take_stored(r, &r->waiting.data[n]);
	r->waiting.n -= n;
	if (n && r->waiting.n)
		memmove(r->waiting.data, r->waiting.data + n,
			r->waiting.n * sizeof(*r->waiting.data));
	return e;
}

/* The samples without an exact time have that of the block, and come first. */
static void wait_with(struct reading *r, const struct block *block)
{
	vec_foreach (&r->times, t) {
		struct count_row *row = &r->rows.data[t->row];

		row->samples -= t->samples;
		row->period -= t->period;
	}
	vec_foreach (&r->rows, row)
		if (row->samples)
			vec_push(&r->waiting,
				 (struct stored_sample){ block->first_ns, r->n_samples++, *row });
	vec_foreach (&r->times, t) {
		struct count_row row = r->rows.data[t->row];

		row.samples = t->samples;
		row.period = t->period;
		vec_push(&r->waiting, (struct stored_sample){ t->time_ns, r->n_samples++, row });
	}
}

static int take_block(struct reading *r, uint32_t b, struct error *err)
{
	const struct block *block = &r->segment->blocks[b];
	int e;

	r->rows.n = r->times.n = 0;
	if (!block->n_rows)
		return 0;
	e = take_waiting(r, block->first_ns > TIMES_LATE_NS ? block->first_ns - TIMES_LATE_NS : 0);
	if (!e)
		e = segment_read_rows(r->segment, b, &r->rows, err);
	if (e)
		return e;
	/* Of damaged times, the warning of the session tells. */
	segment_read_times(r->segment, b, &r->rows, &r->times);
	wait_with(r, block);
	return 0;
}

static int take_segment(struct reading *r, const struct segment *segment, struct error *err)
{
	int e = 0;

	r->segment = segment;
	for (uint32_t b = 0; b < segment->n_blocks && !e; b++)
		e = take_block(r, b, err);
	if (!e || e == -EBADMSG)
		e = take_waiting(r, UINT64_MAX) ?: e;
	r->waiting.n = 0;
	return e;
}

static bool has_cgroups(const struct session *session)
{
	for (uint32_t i = 0; i < session->n_segments; i++)
		for (uint32_t c = 0; c < session->segments[i]->n_classes; c++)
			if (session->segments[i]->classes[c].cgroup.n)
				return true;
	return false;
}

struct perf_event_attr script_stored_attr(const struct session *session)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
	};

	if (strncmp(session->info.stacks, "none", 4) != 0)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (has_cgroups(session))
		attr.sample_type |= PERF_SAMPLE_CGROUP;
	return attr;
}

int script_run_session(const struct script_input *input, const struct script_options *options,
		       struct error *err)
{
	struct reading *r = xcalloc(1, sizeof(*r));
	struct script_places_config places = {
		.symbolizer = input->symbolizer,
		.image = stored_image,
		.names = stored_names,
		.context = r,
		.with_brackets = input->with_brackets,
	};
	const struct session_info *info = &input->session->info;
	int e = 0;

	r->session = input->session;
	r->printer.options = options;
	r->printer.file = input->file;
	r->attr = script_stored_attr(input->session);
	for (uint32_t i = 0; i < info->n_counters; i++)
		r->printer.event_width =
			MAX(r->printer.event_width, (int)strlen(info->counters[i].name));
	for (uint32_t i = 0; i < input->session->n_segments && !e; i++) {
		r->printer.places = script_places_new(&places);
		e = take_segment(r, input->session->segments[i], err);
		script_places_free(r->printer.places);
	}
	script_flush(&r->printer);
	e = r->printer.has_failed ? -EPIPE : e;
	buf_fini(&r->printer.out);
	vec_fini(&r->waiting);
	vec_fini(&r->rows);
	vec_fini(&r->times);
	free(r);
	return e;
}
