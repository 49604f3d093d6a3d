/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a recording or of a session, filtered, to the printer. */
#include "script/script.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/error.h"
#include "base/reserve.h"
#include "event/guest_task.h"
#include "perfdata/tracepoint.h"
#include "pt/flow.h"
#include "replay/replay.h"
#include "script/script_columns.h"
#include "script/script_interleave.h"
#include "script/script_session.h"
#include "store/session.h"
#include "symbol/disasm.h"
#include "symbol/symbols.h"

#define FLUSH_BYTES      ((size_t)256 << 10)
#define BRANCHES_AT_ONCE ((size_t)1 << 10)
#define AHEAD            8 /* branches whose texts are fetched before their use */

/* A line of a branch that has these fields alone, and perhaps names, is the same text each time. */
#define ADDRESSES (FIELD_BIT(IP) | FIELD_BIT(ADDR))
#define NAMES     (FIELD_BIT(SYM) | FIELD_BIT(SYMOFF) | FIELD_BIT(DSO))

void script_filter_fini(struct script_filter *f)
{
	vec_fini(&f->comms);
	vec_fini(&f->dsos);
	vec_fini(&f->symbols);
	vec_fini(&f->pids);
	vec_fini(&f->tids);
	vec_fini(&f->cpus);
	vec_fini(&f->spans);
}

/* Printing. */

int script_flush(struct script_printer *p)
{
	if (p->out.len && fwrite(p->out.data, 1, p->out.len, p->file) != p->out.len)
		p->has_failed = true;
	p->out.len = 0;
	return p->has_failed ? -EPIPE : 0;
}

static int script_flush_if_full(struct script_printer *p)
{
	return p->out.len >= FLUSH_BYTES ? script_flush(p) : 0;
}

static int script_print_row(struct script_printer *p, const struct script_row *row)
{
	size_t before = p->out.len;

	if (p->options->take)
		return p->options->take(p->options->context, p->places, row);
	if (p->options->is_json)
		script_print_json(p, row);
	else
		script_print_text(p, row);
	if (p->interleave)
		script_interleave_take(p->interleave, &p->out, before, row->cpu, row->time_ns);
	return script_flush_if_full(p);
}

/* Filters. */

#define TAKES_NUMBER(list, number)                      \
	({                                              \
		bool takes_ = !(list)->n;               \
		vec_foreach (list, wanted_)             \
			takes_ |= *wanted_ == (number); \
		takes_;                                 \
	})

static bool script_takes_time(const struct script_filter *f, uint64_t ns)
{
	bool takes = !f->spans.n;

	vec_foreach (&f->spans, span)
		takes |= ns >= span->first_ns && ns <= span->last_ns;
	return takes;
}

static bool takes_who(const struct script_filter *f, int32_t pid, int32_t tid, const char *comm)
{
	bool takes_comm = !f->comms.n;

	vec_foreach (&f->comms, wanted)
		takes_comm |= !strcmp(*wanted, comm);
	return takes_comm && TAKES_NUMBER(&f->pids, pid) && TAKES_NUMBER(&f->tids, tid);
}

/* "[unknown]" is a name, too, and not only a pattern. */
static bool script_is_name(const char *wanted, const char *name)
{
	return !strcmp(wanted, name) || !fnmatch(wanted, name, 0);
}

/* By the path, or by its last part. */
static bool takes_dso(const struct script_filter *f, const char *dso)
{
	const char *slash = strrchr(dso, '/');
	bool takes = !f->dsos.n;

	vec_foreach (&f->dsos, wanted)
		takes |= script_is_name(*wanted, dso) ||
			 (slash && script_is_name(*wanted, slash + 1));
	return takes;
}

static bool takes_place(struct script_printer *p, struct code_addr code)
{
	const struct script_filter *f = &p->options->filter;
	const struct script_place *place;
	bool takes = !f->symbols.n;

	if (!f->symbols.n && !f->dsos.n)
		return true;
	place = script_place(p->places, code);
	vec_foreach (&f->symbols, wanted)
		takes |= place->symbol && !strcmp(*wanted, place->symbol);
	return takes && takes_dso(f, place->dso);
}

static bool is_empty(const struct script_filter *f)
{
	return !f->comms.n && !f->dsos.n && !f->symbols.n && !f->pids.n && !f->tids.n &&
	       !f->cpus.n && !f->spans.n;
}

static bool takes(struct script_printer *p, const struct script_row *row)
{
	const struct script_filter *f = &p->options->filter;

	return takes_who(f, row->pid, row->tid, row->comm) && TAKES_NUMBER(&f->cpus, row->cpu) &&
	       script_takes_time(f, row->time_ns) && takes_place(p, row->code[0]);
}

/* The code of a frame. A walked stack's callers are shown by their call, as perf has it. */
struct code_addr script_frame_code(const struct script_row *row, uint32_t i)
{
	struct code_addr code = row->code[i];

	code.offset -= row->is_walked && i > row->n_kernel;
	return code;
}

/* The number of frames up to one of --stop-bt, with that. */
static uint32_t count_frames(struct script_printer *p, const struct script_row *row)
{
	for (uint32_t i = 0; i < row->n_frames; i++) {
		const char *symbol = script_place(p->places, script_frame_code(row, i))->symbol;

		vec_foreach (&p->options->stop_at, name)
			if (symbol && !strcmp(symbol, *name))
				return i + 1;
	}
	return row->n_frames;
}

int script_take_row(struct script_printer *p, const struct script_row *whole)
{
	struct script_row cut;
	const struct script_row *row = whole;

	if (reserve_check() < 0)
		return -ENOMEM;
	if (!p->takes_all && !takes(p, row))
		return 0;
	if (!p->first_ns)
		p->first_ns = p->last_ns = row->time_ns;
	if (p->options->stop_at.n && row->has_chain) {
		cut = *row;
		cut.n_frames = count_frames(p, row);
		row = &cut;
	}
	return script_print_row(p, row);
}

/* A recording. */

struct replaying {
	struct replay_sink sink; /* first: the sink is also this */
	struct script_printer printer;
	struct replay *replay;
	const struct replay_sample *sample; /* at hand */
	struct code_addr code;              /* of that, where frames have none */
	struct tracepoint_format **traces;  /* by counter */
	bool resolves_late;
	struct script_row row; /* of the last sample */
	char comm_room[16];    /* its thread's name, where that is none */
};

static const struct image *replayed_image(const void *context, image_id id)
{
	const struct replaying *r = context;

	return image_get(machine_images(replay_machine(r->replay)), id);
}

struct name_search {
	image_id image;
	void (*visit)(void *visitor, const struct given_symbol *symbol);
	void *visitor;
};

static void visit_kernel_name(void *context, image_id image, uint64_t size, const char *name)
{
	struct name_search *search = context;
	struct given_symbol symbol = { .size = size, .name = name };

	if (image.n == search->image.n)
		search->visit(search->visitor, &symbol);
}

static void replayed_names(const void *context, image_id id,
			   void (*visit)(void *visitor, const struct given_symbol *symbol),
			   void *visitor)
{
	const struct replaying *r = context;
	struct name_search search = { id, visit, visitor };

	if (replayed_image(context, id)->kind == IMAGE_BPF)
		machine_kernel_names(replay_machine(r->replay), visit_kernel_name, &search);
}

static struct code_addr resolve_replayed(const void *context, uint64_t addr)
{
	const struct replaying *r = context;
	struct code_addr code;

	replay_resolve(r->replay, r->sample, addr, &code);
	return code;
}

/* perf's name for a thread that nothing told of. */
static const char *script_comm_of(const char *comm, int32_t tid, char *room, size_t size)
{
	if (*comm || !tid)
		return *comm ? comm : "swapper";
	snprintf(room, size, ":%d", tid);
	return room;
}

static const char *cgroup_of(const struct replaying *r, const struct replay_sample *s)
{
	struct machine *m = replay_machine(r->replay);

	if (!(s->counter->attr.sample_type & PERF_SAMPLE_CGROUP) || !s->event->sample.extra)
		return "";
	return strings_get(machine_strings(m),
			   machine_cgroup(m, &s->thread, s->event->sample.extra->cgroup));
}

/* What samples of the same thread and event have in common. */
static void begin_row(struct replaying *r, const struct replay_sample *s)
{
	const struct event *e = s->event;

	r->row = (struct script_row){
		.comm = script_comm_of(s->comm, e->tid, r->comm_room, sizeof(r->comm_room)),
		.event = s->counter->name,
		.attr = &s->counter->attr,
		.pid = e->pid,
		.tid = e->tid,
		.samples = 1,
		.has_chain = e->sample.counter < r->printer.options->n_with_chains ||
			     s->counter->has_chains,
		.trace = r->traces[e->sample.counter],
		.resolve = resolve_replayed,
		.generation = s->generation,
		.kernel_generation = s->kernel_generation,
		.context = r,
	};
}

static struct script_row *row_of(struct replaying *r, const struct replay_sample *s)
{
	if (r->row.generation != s->generation ||
	    r->row.kernel_generation != s->kernel_generation || r->row.attr != &s->counter->attr)
		begin_row(r, s);
	r->sample = s;
	return &r->row;
}

static int script_on_sample(struct replay_sink *sink, const struct replay_sample *s)
{
	struct replaying *r = (struct replaying *)sink;
	const struct event *e = s->event;
	struct script_row *row = row_of(r, s);

	row->cgroup = cgroup_of(r, s);
	row->cpu = s->counter->attr.sample_type & PERF_SAMPLE_CPU ? e->cpu : UINT32_MAX;
	row->mode = e->sample.mode;
	row->time_ns = e->time_ns;
	row->period = e->sample.period;
	row->extra = e->sample.extra;
	row->code = s->frames->code;
	row->addr = s->frames->addr;
	row->n_frames = s->frames->n;
	row->n_kernel = s->frames->n_kernel;
	row->is_walked = s->frames->is_walked;
	/* Of a branch who prints asks himself, and seldom. */
	if (r->resolves_late && !script_is_branch(row->attr) && e->sample.mode != MODE_HYPERVISOR) {
		r->code = resolve_replayed(r, e->sample.ip);
		row->code = &r->code;
	}
	return script_take_row(&r->printer, row);
}

static void put_addresses(struct script_printer *p, const struct pt_event *branches, size_t n)
{
	uint8_t *at;

	buf_reserve(&p->out, n * SCRIPT_ADDRESSES_SIZE);
	at = p->out.data + p->out.len;
	for (size_t i = 0; i < n; i++)
		at = script_put_addresses(at, branches[i].branch.from, branches[i].branch.to);
	p->out.len = (size_t)(at - p->out.data);
}

static void put_ends(struct script_printer *p, uint64_t fields, const struct script_row *row,
		     const struct pt_event *branches, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n) {
			__builtin_prefetch(script_end_text(p, branches[i + AHEAD].branch.from));
			__builtin_prefetch(script_end_text(p, branches[i + AHEAD].branch.to));
		}
		buf_u8(&p->out, ' ');
		script_put_end(p, fields, row, branches[i].branch.from);
		buf_bytes(&p->out, " => ", 4);
		script_put_end(p, fields, row, branches[i].branch.to);
		buf_u8(&p->out, '\n');
	}
}

/* Of a trace there are many millions: a line of two addresses is made without a row. */
static int on_branches(struct replay_sink *sink, const struct replay_sample *first,
		       const struct pt_event *branches, size_t n)
{
	struct replaying *r = (struct replaying *)sink;
	struct script_printer *p = &r->printer;
	const struct script_row *row = row_of(r, first);
	uint64_t fields = p->options->fields.of_type[script_type(row->attr)];
	int e = 0;

	while (n && !e) {
		size_t some = MIN(n, BRANCHES_AT_ONCE);

		if (fields == ADDRESSES)
			put_addresses(p, branches, some);
		else
			put_ends(p, fields, row, branches, some);
		branches += some;
		n -= some;
		e = script_flush_if_full(p);
	}
	return e;
}

static bool is_of_trace(const struct event *e)
{
	return e->type == EVENT_TRACE_ERROR || e->type == EVENT_TRACE_UNVERIFIED;
}

/* An event of a guest with the numbers that processes and threads have there. */
static struct event as_the_guest_has_it(const struct event *e, uint32_t machine_pid)
{
	struct event out = *e;

	out.pid = guest_task_id(machine_pid, e->pid);
	out.tid = guest_task_id(machine_pid, e->tid);
	if (e->type == EVENT_FORK || e->type == EVENT_EXIT) {
		out.fork.ppid = guest_task_id(machine_pid, e->fork.ppid);
		out.fork.ptid = guest_task_id(machine_pid, e->fork.ptid);
	} else if (e->type == EVENT_SWITCH) {
		out.context_switch.other_pid =
			guest_task_id(machine_pid, e->context_switch.other_pid);
		out.context_switch.other_tid =
			guest_task_id(machine_pid, e->context_switch.other_tid);
	}
	return out;
}

static int script_on_event(struct replay_sink *sink, const struct event *e)
{
	struct replaying *r = (struct replaying *)sink;
	const struct perfdata_guest *guest = perfdata_guest(replay_data(r->replay));
	const struct script_options *o = r->printer.options;
	struct thread_view thread;
	struct event shown;
	struct machine *m;
	char room[16];
	const char *comm;

	if (!(o->shown >> e->type & 1) || (o->is_json && !is_of_trace(e)) ||
	    !script_takes_time(&o->filter, e->time_ns))
		return 0;
	m = replay_machine(r->replay);
	thread = machine_thread(m, e->pid, e->tid);
	if (guest && !is_of_trace(e)) {
		shown = as_the_guest_has_it(e, guest->machine_pid);
		e = &shown;
	}
	comm = script_comm_of(strings_get(machine_strings(m), thread.comm), e->tid, room,
			      sizeof(room));
	if (!takes_who(&o->filter, e->pid, e->tid, comm))
		return 0;
	if (is_of_trace(e) && !TAKES_NUMBER(&o->filter.cpus, e->cpu))
		return 0;
	if (r->printer.interleave)
		script_interleave_flush(r->printer.interleave, &r->printer.out);
	if (!is_of_trace(e))
		script_print_event(&r->printer, e, comm);
	else if (e->type == EVENT_TRACE_UNVERIFIED)
		script_print_unverified(&r->printer, e);
	else if (o->is_json)
		script_json_error(&r->printer, e);
	else
		script_print_error(&r->printer, e);
	return script_flush_if_full(&r->printer);
}

static struct tracepoint_format *trace_of(const struct perfdata_info *info,
					  const struct perfdata_counter *c)
{
	if (c->attr.type != PERF_TYPE_TRACEPOINT)
		return NULL;
	vec_foreach (&info->tracepoints, t)
		if (t->id == c->attr.config)
			return tracepoint_new(t->format, t->format_size, info->is_foreign);
	return NULL;
}

static void open_counters(struct replaying *r, const struct perfdata_info *info)
{
	struct script_printer *p = &r->printer;
	const struct perf_event_attr *first = &info->counters.data[0].attr;

	r->traces = xcalloc(info->counters.n, sizeof(struct tracepoint_format *));
	p->first_type = script_type(first);
	p->has_chains = p->options->n_with_chains || first->sample_type & PERF_SAMPLE_CALLCHAIN;
	for (size_t i = 0; i < info->counters.n; i++) {
		r->traces[i] = trace_of(info, &info->counters.data[i]);
		p->event_width = MAX(p->event_width, (int)strlen(info->counters.data[i].name));
	}
}

/* Fields that need no place of an address. */
#define PLACELESS                                                                               \
	(FIELD_BIT(COMM) | FIELD_BIT(PID) | FIELD_BIT(TID) | FIELD_BIT(CPU) | FIELD_BIT(TIME) | \
	 FIELD_BIT(EVENT) | FIELD_BIT(PERIOD) | FIELD_BIT(IP) | FIELD_BIT(ADDR) |               \
	 FIELD_BIT(FLAGS) | FIELD_BIT(IPC) | FIELD_BIT(MISC))

/* Fields of a place that it can be looked up for when they are printed. */
#define PLACES (NAMES | FIELD_BIT(SYNTH))

static bool has_only(const struct script_options *o, const struct perfdata_info *info,
		     uint64_t fields)
{
	bool alone = !o->is_json && !o->n_with_chains && !o->filter.dsos.n && !o->filter.symbols.n;

	vec_foreach (&info->counters, c) {
		alone &= !(o->fields.of_type[script_type(&c->attr)] & ~fields);
		alone &= !c->has_chains && !(c->attr.sample_type & PERF_SAMPLE_STACK_USER);
	}
	return alone;
}

/* Whether a line of a branch is its two addresses and their names, whatever was before it. */
static bool has_addresses_alone(const struct script_options *o, const struct perfdata_info *info)
{
	bool alone = !o->is_json && !o->is_relative && !o->is_delta && !o->interleave &&
		     is_empty(&o->filter);

	vec_foreach (&info->counters, c)
		if (script_is_branch(&c->attr))
			alone &= (o->fields.of_type[script_type(&c->attr)] & ~NAMES) == ADDRESSES;
	return alone;
}

static int run_replay(const struct script_input *input, const struct script_options *options,
		      struct error *err)
{
	struct replaying *r = xcalloc(1, sizeof(*r));
	struct script_places_config places = {
		.symbolizer = input->symbolizer,
		.image = replayed_image,
		.names = replayed_names,
		.context = r,
		.with_brackets = input->with_brackets,
	};
	const struct perfdata_info *info = perfdata_info(replay_data(input->replay));
	int e;

	r->sink.sample = script_on_sample;
	r->sink.event = options->shown ? script_on_event : NULL;
	r->sink.addresses_alone =
		has_only(options, info, options->is_trace ? PLACELESS | PLACES : PLACELESS);
	r->sink.branches = has_addresses_alone(options, info) ? on_branches : NULL;
	r->resolves_late = r->sink.addresses_alone && !has_only(options, info, PLACELESS);
	r->printer.options = options;
	r->printer.file = input->file;
	r->printer.takes_all = is_empty(&options->filter);
	r->replay = input->replay;
	r->printer.places = script_places_new(&places);
	open_counters(r, info);
	if (options->interleave)
		r->printer.interleave = script_interleave_new(options->interleave);
	e = replay_samples(input->replay, &r->sink, err);
	if (options->interleave)
		script_interleave_flush(r->printer.interleave, &r->printer.out);
	script_interleave_free(r->printer.interleave);
	script_flush(&r->printer);
	e = r->printer.has_failed ? -EPIPE : e;
	for (size_t i = 0; i < info->counters.n; i++)
		tracepoint_free(r->traces[i]);
	free(r->traces);
	script_places_free(r->printer.places);
	disassembler_close(r->printer.disassemblers[0]);
	disassembler_close(r->printer.disassemblers[1]);
	buf_fini(&r->printer.out);
	free(r);
	return e;
}

int script_run(const struct script_input *input, const struct script_options *options,
	       struct error *err)
{
	assert(input->replay || input->session);
	assert(!options->take || options->is_json);
	return input->replay ? run_replay(input, options, err)
			     : script_run_session(input, options, err);
}

/* Refuses a filter of CPUs if the samples have no CPU. */
static int check_cpus(const struct script_filter *filter, const struct perf_event_attr *attrs,
		      size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (attrs[i].sample_type & PERF_SAMPLE_CPU)
			return 0;
	if (!filter->cpus.n || !n)
		return 0;
	return error_set(err, -EINVAL,
			 "-C: the samples have no CPU (perf record -a, -C or --sample-cpu "
			 "records it): leave -C out");
}

int script_fit(const struct script_input *input, struct script_options *options, struct error *err)
{
	VEC(struct script_event) events = { 0 };
	VEC(struct perf_event_attr) attrs = { 0 };
	int r;

	if (input->replay) {
		const struct perfdata_info *info = perfdata_info(replay_data(input->replay));

		vec_foreach (&info->counters, c)
			vec_push(&attrs, c->attr);
		for (size_t i = 0; i < attrs.n; i++)
			vec_push(&events, (struct script_event){ info->counters.data[i].name,
								 &attrs.data[i] });
		options->is_trace = replay_trace_stats(input->replay);
		options->is_aarch64 = !strcmp(info->arch, "aarch64");
		options->has_wall_clock = info->has_clock;
		options->clock_ns = info->clock_ns;
		options->wall_ns = info->wall_ns;
	} else {
		vec_push(&attrs, script_stored_attr(input->session));
		vec_push(&events, (struct script_event){ "this session", &attrs.data[0] });
		for (uint32_t i = 0; i < SCRIPT_TYPES; i++)
			if (!options->fields.chosen[i])
				options->fields.of_type[i] |= FIELD_BIT(SAMPLES);
		options->has_wall_clock = true;
		options->clock_ns = input->session->info.start_ns;
		options->wall_ns = input->session->info.start_wall_ns;
	}
	r = check_cpus(&options->filter, attrs.data, attrs.n, err);
	if (!r)
		r = script_fields_fit(&options->fields, events.data, events.n, options->is_trace,
				      err);
	vec_fini(&events);
	vec_fini(&attrs);
	return r;
}
