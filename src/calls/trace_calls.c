/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calls/trace_calls.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strings.h"
#include "event/guest_task.h"
#include "pt/code.h"
#include "replay/replay.h"
#include "trace/itrace.h"
#include "trace/pt_trace.h"

enum { N_CACHED = 1 << 14 };

/* Whose code an address was found to be. */
struct cached {
	uint64_t space, addr;
	uint32_t function;
	bool is_entry; /* the function begins there */
};

struct known_image {
	const struct symbol_table *table; /* NULL: not looked at */
	VEC(struct given_symbol) given;
};

struct trace_calls {
	struct event_sink sink; /* first: the sink is also this */
	struct replay *replay;
	struct symbolizer *symbolizer;
	struct trace_calls_sink *to;
	struct call_stacks stacks;
	struct arena *arena;
	VEC(struct known_image) images;
	VEC(struct trace_function) functions;
	VEC(const char *) names; /* by function; NULL: not asked for */
	struct intmap by_symbol, by_path;
	VEC(struct trace_path) paths;
	struct cached *cached;
	struct thread_view view; /* of the branch at hand … */
	bool has_view, is_guest;
	int32_t pid, tid;
	uint64_t now_ns, space;
	uint32_t first_counter; /* of those that are made of the trace */
};

static bool trace_calls_find_entry(void *context, const struct call_thread *t, uint64_t addr,
				   uint32_t inside);
static void called(void *context, const struct call_thread *t, struct open_call *call,
		   const struct open_call *parent);
static void over(void *context, const struct call_thread *t, const struct open_call *call,
		 const struct open_call *parent);

int trace_calls_open(struct replay *replay, struct symbolizer *symbolizer,
		     const struct symbolizer_config *places, const struct time_span *window,
		     struct trace_calls **out, struct error *err)
{
	uint32_t n_counters = (uint32_t)perfdata_info(replay_data(replay))->counters.n;
	struct itrace itrace = { 0 };
	struct trace_calls *t;
	int r;

	if (!replay_find_trace(replay))
		return replay_no_trace(replay, ": only recordings of a processor trace have calls",
				       err);
	r = itrace_parse("be", &itrace, err);
	itrace.spans = window;
	itrace.n_spans = window != NULL;
	r = r < 0 ? r : replay_decode(replay, &itrace, places, err);
	if (r < 0)
		return r;
	t = xcalloc(1, sizeof(*t));
	t->replay = replay;
	t->symbolizer = symbolizer;
	t->first_counter = n_counters;
	t->arena = arena_new();
	t->cached = xcalloc(N_CACHED, sizeof(*t->cached));
	t->stacks = (struct call_stacks){
		.find_entry = trace_calls_find_entry, .called = called, .over = over, .context = t
	};
	vec_push(&t->functions, ((struct trace_function){ IMAGE_UNKNOWN_ID, NO_SYMBOL }));
	vec_push(&t->paths, ((struct trace_path){ 0, 0 }));
	*out = t;
	return 0;
}

void trace_calls_free(struct trace_calls *t)
{
	if (!t)
		return;
	call_stacks_fini(&t->stacks);
	vec_foreach (&t->images, image)
		vec_fini(&image->given);
	vec_fini(&t->images);
	vec_fini(&t->functions);
	vec_fini(&t->names);
	vec_fini(&t->paths);
	intmap_fini(&t->by_symbol);
	intmap_fini(&t->by_path);
	arena_free(t->arena);
	free(t->cached);
	free(t);
}

/* ---- functions ---- */

const struct image *trace_image(const struct trace_calls *t, image_id id)
{
	return image_get(machine_images(replay_machine(t->replay)), id);
}

static struct known_image *trace_calls_known_image(struct trace_calls *t, image_id id)
{
	while (t->images.n <= id.n)
		vec_add(&t->images);
	return &t->images.data[id.n];
}

static void take_name(void *context, image_id image, uint64_t offset, uint64_t size,
		      const char *name)
{
	struct trace_calls *t = context;

	vec_push(&trace_calls_known_image(t, image)->given,
		 ((struct given_symbol){ offset, size,
					 arena_strndup(t->arena, name, strlen(name)) }));
}

const struct symbol_table *trace_symbols(struct trace_calls *t, image_id id)
{
	const struct image *image = trace_image(t, id);
	struct known_image *known = trace_calls_known_image(t, id);

	if (image->kind == IMAGE_JIT && !known->table)
		machine_jit_names(replay_machine(t->replay), -1, take_name, t);
	known = trace_calls_known_image(t, id);
	if (!known->table)
		known->table =
			symbolizer_table(t->symbolizer, image, known->given.data, known->given.n);
	return known->table;
}

static uint32_t trace_calls_intern(struct trace_calls *t, struct trace_function f)
{
	bool is_new;
	uint32_t *at = intmap_put(&t->by_symbol, (uint64_t)f.image.n << 32 | f.symbol, &is_new);

	if (is_new) {
		*at = (uint32_t)t->functions.n;
		vec_push(&t->functions, f);
	}
	return *at;
}

static void trace_calls_look_up(struct trace_calls *t, struct cached *c)
{
	enum cpu_mode mode = pt_mode_of(t->is_guest, c->addr);
	struct code_addr code;
	struct trace_function f;

	c->function = 0;
	c->is_entry = false;
	if (machine_resolve(replay_machine(t->replay), &t->view, mode, c->addr, t->now_ns, &code) >=
	    0)
		return;
	f.image = code.image;
	f.symbol = symbol_find(trace_symbols(t, code.image), code.offset);
	c->function = trace_calls_intern(t, f);
	c->is_entry = f.symbol != NO_SYMBOL &&
		      symbol_get(trace_symbols(t, code.image), f.symbol).offset == code.offset;
}

static const struct cached *function_at(struct trace_calls *t, uint64_t addr)
{
	struct cached *c = &t->cached[hash_u64(addr ^ t->space << 48) % N_CACHED];

	if (c->addr != addr || c->space != t->space) {
		c->addr = addr;
		c->space = t->space;
		trace_calls_look_up(t, c);
	}
	return c;
}

uint32_t trace_n_functions(const struct trace_calls *t)
{
	return (uint32_t)t->functions.n;
}

struct trace_function trace_function(const struct trace_calls *t, uint32_t function)
{
	return t->functions.data[function];
}

const char *trace_function_name(struct trace_calls *t, uint32_t function)
{
	struct trace_function f = t->functions.data[function];

	while (t->names.n <= function)
		vec_push(&t->names, NULL);
	if (!t->names.data[function]) {
		const char *path = function ? trace_image(t, f.image)->path : "unknown";
		char *text;

		if (f.symbol != NO_SYMBOL) {
			t->names.data[function] =
				symbol_name(t->symbolizer, trace_symbols(t, f.image), f.symbol);
			return t->names.data[function];
		}
		text = xasprintf(path[0] == '[' ? "%s" : "[%s]", path);
		t->names.data[function] = arena_strndup(t->arena, text, strlen(text));
		free(text);
	}
	return t->names.data[function];
}

/* ---- calls ---- */

static bool trace_calls_find_entry(void *context, const struct call_thread *thread, uint64_t addr,
				   uint32_t inside)
{
	const struct cached *c = function_at(context, addr);

	(void)thread;
	return c->is_entry && c->function != inside;
}

static uint32_t trace_calls_path_of(struct trace_calls *t, uint32_t parent, uint32_t function)
{
	bool is_new;
	uint32_t *at = intmap_put(&t->by_path, (uint64_t)parent << 32 | function, &is_new);

	if (is_new) {
		*at = (uint32_t)t->paths.n;
		vec_push(&t->paths, ((struct trace_path){ parent, function }));
	}
	return *at;
}

static void called(void *context, const struct call_thread *thread, struct open_call *call,
		   const struct open_call *parent)
{
	struct trace_calls *t = context;

	(void)thread;
	call->function = function_at(t, call->entry)->function;
	call->path = trace_calls_path_of(t, parent ? parent->path : 0, call->function);
}

static void over(void *context, const struct call_thread *thread, const struct open_call *call,
		 const struct open_call *parent)
{
	struct trace_calls *t = context;
	struct trace_call c = {
		.id = call->id,
		.parent_id = parent ? parent->id : 0,
		.function = call->function,
		.path = call->path,
		.pid = thread->pid,
		.tid = thread->tid,
		.start_ns = call->start_ns,
		.end_ns = thread->last_ns,
		.insns = thread->insns - call->insns,
		.cycles = thread->cycles - call->cycles,
		.branches = thread->branches - call->branches,
		.from = call->from,
		.flags = call->flags,
	};

	t->to->call(t->to, &c);
}

uint32_t trace_n_paths(const struct trace_calls *t)
{
	return (uint32_t)t->paths.n;
}

struct trace_path trace_path(const struct trace_calls *t, uint32_t path)
{
	return t->paths.data[path];
}

/* ---- reading ---- */

/* Whose branch it is; who that is changes with the events between alone. */
static void take_thread(struct trace_calls *t, const struct event *e)
{
	bool is_guest = mode_is_guest(e->sample.mode);
	uint32_t guest = e->sample.extra->machine_pid;
	int32_t pid = guest ? guest_task(guest, e->pid) : e->pid;
	int32_t tid = guest ? guest_task(guest, e->tid) : e->tid;

	if (t->has_view && t->pid == pid && t->tid == tid && t->is_guest == is_guest)
		return;
	t->has_view = true;
	t->pid = pid;
	t->tid = tid;
	t->view = machine_thread(replay_machine(t->replay), pid, tid);
	t->view.guest_pid = (int32_t)guest;
	t->is_guest = is_guest;
	t->space = machine_space(replay_machine(t->replay), &t->view) << 1 | is_guest;
}

static void trace_calls_on_branch(struct trace_calls *t, const struct event *e)
{
	const struct sample_extra *x = e->sample.extra;
	struct call_branch b = {
		.pid = e->pid,
		.tid = e->tid,
		.is_guest = mode_is_guest(e->sample.mode),
		.time_ns = e->time_ns,
		.from = e->sample.ip,
		.to = x->addr,
		.flags = x->flags,
		.insn_size = x->insn_size,
		.insns = x->insns,
		.cycles = x->cycles,
	};

	take_thread(t, e);
	t->now_ns = e->time_ns;
	call_stacks_branch(&t->stacks, &b);
	if (t->to->branch)
		t->to->branch(t->to, e, b.from ? function_at(t, b.from)->function : 0,
			      b.to ? function_at(t, b.to)->function : 0);
}

static int trace_calls_on_event(struct event_sink *sink, const struct event *e)
{
	struct trace_calls *t = (struct trace_calls *)sink;

	if (e->type == EVENT_SAMPLE) {
		if (e->sample.counter >= t->first_counter && e->sample.extra)
			trace_calls_on_branch(t, e);
		return 0;
	}
	t->has_view = false;
	machine_event(replay_machine(t->replay), e);
	if (e->type == EVENT_TRACE_ERROR)
		call_stacks_cut(&t->stacks, e->tid, e->time_ns);
	else if (e->type == EVENT_COMM && e->comm.is_exec)
		call_stacks_cut(&t->stacks, e->tid, e->time_ns);
	return 0;
}

int trace_calls_run(struct trace_calls *t, struct trace_calls_sink *sink, struct error *err)
{
	int r;

	t->to = sink;
	t->sink.push = trace_calls_on_event;
	r = replay_events(t->replay, &t->sink, err);
	call_stacks_end(&t->stacks);
	return r;
}
