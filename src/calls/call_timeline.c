/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calls/call_timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/intmap.h"
#include "base/strings.h"
#include "calls/trace_calls.h"
#include "pt/flow.h"
#include "replay/replay.h"
#include "script/script_places.h"
#include "trace/call_stack.h"

#define MAX_CALLS 1000000
#define MAX_DEPTH 1024
/*
 * Without a sample for so many periods, a thread did not run. For a shorter time, its functions
 * count as running, because another thread may have had the CPU.
 */
#define GAP_PERIODS 3
#define GAP_NS      50000000ULL

/* A function that a thread is in while its samples are read. */
struct open_function {
	uint32_t function, samples;
	uint64_t start_ns;
};

struct reading_thread {
	VEC(struct open_function) open; /* outermost first */
	uint64_t last_ns;
};

struct timeline_reader {
	struct replay_sink sink;       /* of samples; first: the sink is also this … */
	struct trace_calls_sink calls; /* … and of a trace */
	const struct call_timeline_config *config;
	struct call_timeline *to;
	struct replay *replay;
	struct trace_calls *trace;
	struct script_places *places;
	struct strings names; /* id: the function */
	struct intmap by_tid; /* the thread's index */
	VEC(struct reading_thread) threads;
	VEC(uint32_t) by_trace_function; /* name id + 1 */
	VEC(struct timeline_work) work;  /* by name id */
	bool *is_mark;                   /* by counter */
	size_t n_counters;
	bool has_marks;
	uint64_t period_ns;
};

static uint32_t call_timeline_thread_of(struct timeline_reader *r, int32_t pid, int32_t tid,
					const char *comm)
{
	bool is_new;
	uint32_t *at =
		intmap_put(&r->by_tid, (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid, &is_new);

	if (is_new) {
		*at = (uint32_t)r->threads.n;
		vec_add(&r->threads);
		vec_push(&r->to->threads,
			 ((struct timeline_thread){ .pid = pid, .tid = tid, .comm = "" }));
	}
	if (comm && *comm && strcmp(r->to->threads.data[*at].comm, comm) != 0)
		r->to->threads.data[*at].comm = arena_strndup(r->to->arena, comm, strlen(comm));
	return *at;
}

/* The newest are kept: twice as many as wanted are thinned out at once. */
static void thin_out(struct call_timeline *t, size_t most)
{
	size_t drop = t->calls.n - most;

	memmove(t->calls.data, t->calls.data + drop, most * sizeof(*t->calls.data));
	t->calls.n = most;
	t->n_left_out += drop;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Keeps the `most` longest calls, and others that are as long as the last one of these. */
static void thin_out_short(struct call_timeline *t, size_t most)
{
	cleanup(free_at_exit) uint64_t *lengths = NULL;
	size_t n = 0;

	if (t->calls.n <= most)
		return;
	lengths = xcalloc(t->calls.n, sizeof(*lengths));
	vec_foreach (&t->calls, c)
		lengths[n++] = c->end_ns - c->start_ns;
	qsort(lengths, n, sizeof(*lengths), by_number);
	t->shortest_ns = MAX(t->shortest_ns, lengths[n - most]);
	n = 0;
	vec_foreach (&t->calls, c)
		if (c->end_ns - c->start_ns >= t->shortest_ns)
			t->calls.data[n++] = *c;
	t->n_left_out += t->calls.n - n;
	t->calls.n = n;
}

static void call_timeline_thin_out(struct timeline_reader *r, size_t most)
{
	if (r->config->window)
		thin_out_short(r->to, most);
	if (r->to->calls.n > most)
		thin_out(r->to, most);
}

/* False: the call is not in the window. One that goes beyond has no duration. */
static bool cut_to_window(const struct time_span *window, struct timeline_call *c)
{
	if (c->end_ns < window->first_ns || c->start_ns > window->last_ns)
		return false;
	if (c->start_ns < window->first_ns) {
		c->start_ns = window->first_ns;
		c->flags |= CALL_NO_CALL;
	}
	if (c->end_ns > window->last_ns) {
		c->end_ns = window->last_ns;
		c->flags |= CALL_OPEN;
	}
	return true;
}

static void add_call(struct timeline_reader *r, struct timeline_call c)
{
	size_t most = r->config->max_calls ? r->config->max_calls : MAX_CALLS;

	if (r->config->window && !cut_to_window(r->config->window, &c))
		return;
	if (c.end_ns - c.start_ns < r->to->shortest_ns) {
		r->to->n_left_out++;
		return;
	}
	vec_push(&r->to->calls, c);
	if (r->to->calls.n >= 2 * most)
		call_timeline_thin_out(r, most);
}

static bool is_mark(const struct timeline_reader *r, const struct event *e)
{
	return e->sample.counter < r->n_counters && r->is_mark[e->sample.counter];
}

/* Without the prefix that all of them have. */
static void note_mark(struct timeline_reader *r, const struct event *e, const char *text)
{
	text += strlen(r->config->mark);
	vec_push(&r->to->marks,
		 ((struct timeline_mark){ e->time_ns, e->pid, e->tid,
					  arena_strndup(r->to->arena, text, strlen(text)) }));
}

/* Samples. */

static void close_from(struct timeline_reader *r, uint32_t thread, size_t depth, uint64_t end_ns)
{
	struct reading_thread *t = &r->threads.data[thread];

	while (t->open.n > depth) {
		const struct open_function *f = &t->open.data[t->open.n - 1];

		add_call(r, (struct timeline_call){
				    .start_ns = f->start_ns,
				    .end_ns = MAX(end_ns, f->start_ns + 1),
				    .thread = thread,
				    .function = f->function,
				    .depth = (uint16_t)(t->open.n - 1),
				    .samples = f->samples,
			    });
		t->open.n--;
	}
}

static uint32_t name_of_frame(struct timeline_reader *r, struct code_addr code)
{
	const struct script_place *place = script_place(r->places, code);
	char text[160];

	if (place->symbol && *place->symbol)
		return strings_add(&r->names, place->symbol).n;
	snprintf(text, sizeof(text), place->dso[0] == '[' ? "%s" : "[%s]", place->dso);
	return strings_add(&r->names, text).n;
}

static int call_timeline_on_sample(struct replay_sink *sink, const struct replay_sample *s)
{
	struct timeline_reader *r = (struct timeline_reader *)sink;
	const struct event *e = s->event;
	uint32_t thread = call_timeline_thread_of(r, e->pid, e->tid, s->comm), n = s->frames->n,
		 same = 0;
	struct reading_thread *t = &r->threads.data[thread];
	uint32_t functions[MAX_DEPTH];
	uint64_t end_ns = e->time_ns, gap_ns;

	if (is_mark(r, e)) {
		note_mark(r, e, s->counter->name);
		return 0;
	}
	n = MIN(n, MAX_DEPTH);
	for (uint32_t i = 0; i < n; i++)
		functions[i] = name_of_frame(r, s->frames->code[s->frames->n - 1 - i]);
	gap_ns = t->last_ns ? e->time_ns - MIN(t->last_ns, e->time_ns) : 0;
	if (gap_ns > GAP_PERIODS * r->period_ns)
		end_ns = t->last_ns + r->period_ns;
	if (gap_ns > MAX(GAP_NS, GAP_PERIODS * r->period_ns))
		close_from(r, thread, 0, end_ns);
	while (same < n && same < t->open.n && t->open.data[same].function == functions[same])
		t->open.data[same++].samples++;
	close_from(r, thread, same, end_ns);
	for (uint32_t i = same; i < n; i++)
		vec_push(&t->open, ((struct open_function){ functions[i], 1, e->time_ns }));
	t->last_ns = e->time_ns;
	return 0;
}

static const struct image *call_timeline_image_of(const void *context, image_id id)
{
	const struct timeline_reader *r = context;

	return image_get(machine_images(replay_machine(r->replay)), id);
}

struct given_names {
	void (*visit)(void *visitor, const struct given_symbol *symbol);
	void *visitor;
	image_id image;
};

static void give_name(void *context, image_id image, uint64_t offset, uint64_t size,
		      const char *name)
{
	const struct given_names *g = context;
	struct given_symbol symbol = { offset, size, name, 0 };

	if (image.n == g->image.n)
		g->visit(g->visitor, &symbol);
}

static void jit_names(const void *context, image_id id,
		      void (*visit)(void *visitor, const struct given_symbol *symbol),
		      void *visitor)
{
	const struct timeline_reader *r = context;
	struct given_names g = { visit, visitor, id };

	if (call_timeline_image_of(r, id)->kind == IMAGE_JIT)
		machine_jit_names(replay_machine(r->replay), -1, give_name, &g);
}

static int call_timeline_read_samples(struct timeline_reader *r, struct error *err)
{
	struct script_places_config places = {
		.symbolizer = r->config->symbolizer,
		.image = call_timeline_image_of,
		.names = jit_names,
		.context = r,
		.with_brackets = true,
	};
	int e;

	r->sink.sample = call_timeline_on_sample;
	r->places = script_places_new(&places);
	e = replay_samples(r->replay, &r->sink, err);
	for (uint32_t i = 0; i < r->threads.n; i++)
		close_from(r, i, 0, r->threads.data[i].last_ns + r->period_ns);
	script_places_free(r->places);
	return e;
}

/* A trace. */

static uint32_t name_of_function(struct timeline_reader *r, uint32_t function)
{
	uint32_t *known;

	while (r->by_trace_function.n <= function)
		vec_push(&r->by_trace_function, 0);
	known = &r->by_trace_function.data[function];
	if (!*known)
		*known = strings_add(&r->names, trace_function_name(r->trace, function)).n + 1;
	return *known - 1;
}

static uint16_t depth_of(const struct trace_calls *t, uint32_t path)
{
	uint16_t depth = 0;

	for (path = trace_path(t, path).parent; path && depth < MAX_DEPTH;
	     path = trace_path(t, path).parent)
		depth++;
	return depth;
}

static void count_work(struct timeline_reader *r, uint32_t function, const struct trace_call *c)
{
	while (r->work.n <= function)
		vec_push(&r->work, ((struct timeline_work){ 0, 0 }));
	if (c->flags & CALL_INCOMPLETE)
		return;
	r->work.data[function].insns += c->insns;
	r->work.data[function].cycles += c->cycles;
}

static bool call_timeline_takes_thread(const struct call_timeline_config *config, int32_t tid)
{
	for (size_t i = 0; i < config->n_tids; i++)
		if (config->tids[i] == tid)
			return true;
	return !config->n_tids;
}

static void call_timeline_on_call(struct trace_calls_sink *sink, const struct trace_call *c)
{
	struct timeline_reader *r =
		(struct timeline_reader *)((char *)sink - offsetof(struct timeline_reader, calls));
	uint32_t function;

	if (!call_timeline_takes_thread(r->config, c->tid))
		return;
	function = name_of_function(r, c->function);
	count_work(r, function, c);
	add_call(r, (struct timeline_call){
			    .start_ns = c->start_ns,
			    .end_ns = c->end_ns,
			    .thread = call_timeline_thread_of(r, c->pid, c->tid, NULL),
			    .function = function,
			    .depth = depth_of(r->trace, c->path),
			    .flags = (uint16_t)c->flags,
		    });
}

static void name_threads(struct timeline_reader *r)
{
	struct machine *m = replay_machine(r->replay);

	vec_foreach (&r->to->threads, t) {
		struct thread_view view = machine_thread(m, t->pid, t->tid);
		const char *comm = strings_get(machine_strings(m), view.comm);

		t->comm = arena_strndup(r->to->arena, comm, strlen(comm));
	}
}

static int on_mark(struct replay_sink *sink, const struct replay_sample *s)
{
	struct timeline_reader *r = (struct timeline_reader *)sink;

	if (is_mark(r, s->event))
		note_mark(r, s->event, s->counter->name);
	return 0;
}

/* Reads the samples beside a trace, in a separate pass. */
static int read_marks(struct timeline_reader *r, struct error *err)
{
	cleanup(replay_close_at_exit) struct replay *replay = NULL;
	int e = replay_open(r->config->path, &replay, err);

	r->sink.sample = on_mark;
	r->sink.addresses_alone = true;
	return e < 0 ? e : replay_samples(replay, &r->sink, err);
}

static int call_timeline_read_trace(struct timeline_reader *r, struct error *err)
{
	int e = r->has_marks ? read_marks(r, err) : 0;

	if (e < 0)
		return e;
	e = trace_calls_open(r->replay, r->config->symbolizer, r->config->places, r->config->window,
			     &r->trace, err);
	if (e < 0)
		return e;
	r->to->is_exact = true;
	r->calls.call = call_timeline_on_call;
	e = trace_calls_run(r->trace, &r->calls, err);
	for (int i = 0; i < N_PT_ERRORS; i++)
		r->to->n_errors += replay_trace_stats(r->replay)->errors[i];
	name_threads(r);
	trace_calls_free(r->trace);
	return e;
}

/* Both. */

static int call_timeline_by_time(const void *a, const void *b)
{
	const struct timeline_mark *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int by_thread(const void *a, const void *b, void *timeline)
{
	const struct call_timeline *t = timeline;
	const struct timeline_thread *x = &t->threads.data[*(const uint32_t *)a],
				     *y = &t->threads.data[*(const uint32_t *)b];

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static int by_thread_and_start(const void *a, const void *b)
{
	const struct timeline_call *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static void call_timeline_find_range(struct call_timeline *t)
{
	t->first_ns = UINT64_MAX;
	t->last_ns = 0;
	vec_foreach (&t->calls, c) {
		t->first_ns = MIN(t->first_ns, c->start_ns);
		t->last_ns = MAX(t->last_ns, c->end_ns);
	}
	if (!t->calls.n)
		t->first_ns = t->last_ns = t->marks.n ? t->marks.data[0].time_ns : 0;
}

/* What began before the window is cut at its beginning, so that callers stay. */
static void call_timeline_cut(struct call_timeline *t, uint64_t before_ns, uint64_t after_ns)
{
	uint64_t from = before_ns && t->zero_ns > before_ns ? t->zero_ns - before_ns : 0;
	uint64_t until = t->zero_ns + after_ns;
	size_t n = 0;

	if (!before_ns)
		return;
	vec_foreach (&t->calls, c) {
		if (c->end_ns <= from || c->start_ns > until)
			continue;
		c->start_ns = MAX(c->start_ns, from);
		c->end_ns = MIN(c->end_ns, MAX(until, c->start_ns));
		t->calls.data[n++] = *c;
	}
	t->calls.n = n;
}

static void call_timeline_arrange(struct call_timeline *t)
{
	size_t n = t->threads.n;
	uint32_t *order = xcalloc(n + 1, sizeof(*order)), *place = xcalloc(n + 1, sizeof(*place));
	struct timeline_thread *old = xcalloc(n + 1, sizeof(*old));

	for (uint32_t i = 0; i < n; i++) {
		order[i] = i;
		old[i] = t->threads.data[i];
	}
	qsort_r(order, n, sizeof(*order), by_thread, t);
	for (uint32_t i = 0; i < n; i++) {
		t->threads.data[i] = old[order[i]];
		place[order[i]] = i;
	}
	vec_foreach (&t->calls, c)
		c->thread = place[c->thread];
	if (t->calls.n)
		qsort(t->calls.data, t->calls.n, sizeof(*t->calls.data), by_thread_and_start);
	for (size_t i = 0; i < t->calls.n; i++) {
		struct timeline_thread *thread = &t->threads.data[t->calls.data[i].thread];

		if (!thread->n++)
			thread->first = i;
	}
	free(order);
	free(place);
	free(old);
}

/* Those that are left. */
static void name_functions(struct timeline_reader *r)
{
	uint32_t *place = xcalloc(r->names.n + 1, sizeof(*place));
	struct call_timeline *t = r->to;

	vec_foreach (&t->calls, c) {
		const char *name = strings_get(&r->names, (string_id){ c->function });

		if (!place[c->function]) {
			vec_push(&t->functions, arena_strndup(t->arena, name, strlen(name)));
			vec_push(&t->work, c->function < r->work.n
						   ? r->work.data[c->function]
						   : (struct timeline_work){ 0, 0 });
			place[c->function] = (uint32_t)t->functions.n;
		}
		c->function = place[c->function] - 1;
	}
	free(place);
}

/* The picture has the width of the window, wherever its calls begin and end. */
static void call_timeline_take_window(struct call_timeline *t, const struct time_span *window)
{
	if (!t->calls.n)
		t->first_ns = t->last_ns = window->first_ns;
	if (window->first_ns)
		t->first_ns = window->first_ns;
	if (window->last_ns != UINT64_MAX)
		t->last_ns = window->last_ns;
	t->last_ns = MAX(t->last_ns, t->first_ns);
	if (!t->calls.n && !t->marks.n) /* no call begins the times: the window does */
		t->zero_ns = t->first_ns;
}

static void call_timeline_finish(struct timeline_reader *r)
{
	struct call_timeline *t = r->to;
	size_t most = r->config->max_calls ? r->config->max_calls : MAX_CALLS;

	call_timeline_thin_out(r, most);
	if (t->marks.n)
		qsort(t->marks.data, t->marks.n, sizeof(*t->marks.data), call_timeline_by_time);
	call_timeline_find_range(t);
	t->zero_ns = r->config->zero_at_begin                ? t->first_ns
		     : t->marks.n && !r->config->zero_at_end ? t->marks.data[0].time_ns
							     : t->last_ns;
	call_timeline_cut(t, r->config->before_ns, r->config->after_ns);
	call_timeline_find_range(t);
	if (r->config->window)
		call_timeline_take_window(t, r->config->window);
	name_functions(r);
	call_timeline_arrange(t);
}

static void look_at_counters(struct timeline_reader *r)
{
	const struct perfdata_info *info = perfdata_info(replay_data(r->replay));

	r->n_counters = info->counters.n;
	r->is_mark = xcalloc(r->n_counters + 1, sizeof(*r->is_mark));
	r->period_ns = 1000000;
	for (uint32_t i = 0; i < info->counters.n; i++) {
		const struct perfdata_counter *c = &info->counters.data[i];

		if (r->config->mark && !strncmp(c->name, r->config->mark, strlen(r->config->mark)))
			r->has_marks = r->is_mark[i] = true;
		else if (c->attr.freq && c->attr.sample_freq && !r->to->freq_hz)
			r->to->freq_hz = (uint32_t)c->attr.sample_freq;
	}
	if (r->to->freq_hz)
		r->period_ns = NS_PER_SECOND / r->to->freq_hz;
}

int call_timeline_read(const struct call_timeline_config *config, struct call_timeline *out,
		       struct error *err)
{
	struct timeline_reader r = { .config = config, .to = out };
	int e;

	*out = (struct call_timeline){ .arena = arena_new() };
	e = replay_open(config->path, &r.replay, err);
	if (e < 0)
		return e;
	strings_init(&r.names);
	look_at_counters(&r);
	e = replay_find_trace(r.replay) ? call_timeline_read_trace(&r, err)
					: call_timeline_read_samples(&r, err);
	call_timeline_finish(&r);
	if (e >= 0 && !out->calls.n && !out->marks.n && !config->window)
		e = error_set(err, -ENODATA, "nothing ran while it was recorded");
	vec_foreach (&r.threads, t)
		vec_fini(&t->open);
	vec_fini(&r.threads);
	vec_fini(&r.by_trace_function);
	vec_fini(&r.work);
	free(r.is_mark);
	intmap_fini(&r.by_tid);
	strings_fini(&r.names);
	replay_close(r.replay);
	return MIN(e, 0);
}

void call_timeline_fini(struct call_timeline *t)
{
	vec_fini(&t->threads);
	vec_fini(&t->calls);
	vec_fini(&t->functions);
	vec_fini(&t->work);
	vec_fini(&t->marks);
	if (t->arena)
		arena_free(t->arena);
	t->arena = NULL;
}
