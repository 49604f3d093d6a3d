/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording as perf's script export-to-sqlite.py writes it, for exported-sql-viewer.py:
 *
 *   replay ─┬─► samples ─► rows, with their threads, names and symbols (perf_names.h)
 *           ├─► branches of a trace ─► trace/call_stack.h ─► calls, when they are over
 *           └─► switches of threads
 *
 * Each row is written when it is known, so that memory grows with names and open calls alone.
 */
#include <linux/perf_event.h>
#include <stdio.h>

#include "base/reader.h"
#include "event/guest_task.h"
#include "export/database/perf_names.h"
#include "export/export.h"
#include "pt/branch.h"
#include "pt/synth_raw.h"
#include "replay/replay.h"
#include "trace/call_stack.h"

/* What a call needs at its end. */
struct perf_call {
	uint64_t sample; /* the row of the branch that made it; 0: none */
	uint32_t thread, comm, symbol;
};

struct perf_writer {
	struct replay_sink sink; /* first: the sink is also this */
	struct perf_names names;
	struct replay *replay;
	struct call_stacks stacks;
	VEC(struct perf_call) calls;     /* open ones, by open_call.function; some are free … */
	VEC(uint32_t) free_calls;        /* … which are these */
	VEC(bool) has_event;             /* by counter: it has its row */
	const struct replay_sample *now; /* NULL: between samples */
	uint32_t machine, thread, comm;  /* of `now` */
	uint64_t n_samples;
};

/* ---- places ---- */

static const struct image *perf_replayed_image(const void *context, image_id id)
{
	const struct perf_writer *w = context;

	return image_get(machine_images(replay_machine(w->replay)), id);
}

struct perf_name_search {
	image_id image;
	void (*visit)(void *visitor, const struct given_symbol *symbol);
	void *visitor;
};

static void perf_take_kernel_name(void *context, image_id image, uint64_t size, const char *name)
{
	struct perf_name_search *search = context;
	struct given_symbol symbol = { .size = size, .name = name };

	if (image.n == search->image.n)
		search->visit(search->visitor, &symbol);
}

static void perf_replayed_names(const void *context, image_id id,
				void (*visit)(void *visitor, const struct given_symbol *symbol),
				void *visitor)
{
	const struct perf_writer *w = context;
	struct perf_name_search search = { id, visit, visitor };

	if (perf_replayed_image(context, id)->kind == IMAGE_BPF)
		machine_kernel_names(replay_machine(w->replay), perf_take_kernel_name, &search);
}

static struct perf_place perf_place_of(struct perf_writer *w, uint64_t addr)
{
	struct code_addr code;

	if (!addr || !w->now)
		return (struct perf_place){ 0 };
	replay_resolve(w->replay, w->now, addr, &code);
	return perf_place(&w->names, code);
}

/* ---- calls ---- */

static bool perf_find_entry(void *context, const struct call_thread *thread, uint64_t addr,
			    uint32_t inside)
{
	struct perf_writer *w = context;
	struct perf_place place = perf_place_of(w, addr);

	(void)thread;
	return place.is_entry && place.symbol != w->calls.data[inside].symbol;
}

static void perf_on_call(void *context, const struct call_thread *thread, struct open_call *call,
			 const struct open_call *parent)
{
	struct perf_writer *w = context;
	uint32_t symbol = perf_place_of(w, call->entry).symbol;

	(void)thread;
	if (w->free_calls.n) {
		call->function = w->free_calls.data[--w->free_calls.n];
	} else {
		call->function = (uint32_t)w->calls.n;
		vec_add(&w->calls);
	}
	w->calls.data[call->function] = (struct perf_call){
		.sample = call->flags & CALL_NO_CALL ? 0 : w->n_samples,
		.thread = w->thread,
		.comm = w->comm,
		.symbol = symbol,
	};
	call->path =
		perf_path(&w->names, parent ? parent->path : PERF_ROOT_PATH, symbol, call->entry);
}

/* perf's flags: 1 no call, 2 no return; 6 a jump. */
static int64_t perf_call_flags(uint32_t flags)
{
	return (flags & CALL_NO_CALL ? 1 : 0) |
	       (flags & (CALL_UNRETURNED | CALL_CUT | CALL_OPEN) ? 2 : 0) |
	       (flags & CALL_TAIL ? 6 : 0);
}

static void perf_on_call_end(void *context, const struct call_thread *thread,
			     const struct open_call *call, const struct open_call *parent)
{
	struct perf_writer *w = context;
	const struct perf_call *begin = &w->calls.data[call->function];
	bool is_returned = !(call->flags & (CALL_UNRETURNED | CALL_CUT | CALL_OPEN));

	perf_add_row(&w->names, PERF_CALLS,
		     (struct perf_value[]){
			     PERF_N(call->id), PERF_N(begin->thread), PERF_N(begin->comm),
			     PERF_N(call->path), PERF_N(call->start_ns), PERF_N(thread->last_ns),
			     PERF_N(thread->branches - call->branches), PERF_N(begin->sample),
			     PERF_N(is_returned ? w->n_samples : 0),
			     PERF_N(parent ? parent->path : PERF_ROOT_PATH),
			     PERF_N(perf_call_flags(call->flags)), PERF_N(parent ? parent->id : 0),
			     PERF_N(thread->insns - call->insns),
			     PERF_N(thread->cycles - call->cycles) });
	vec_push(&w->free_calls, call->function);
}

static void perf_follow_branch(struct perf_writer *w, const struct event *e)
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

	call_stacks_branch(&w->stacks, &b);
}

/* ---- samples ---- */

/* Raw data of a trace's own events: pt/synth_raw.h. */
static void perf_add_synth(struct perf_writer *w, uint64_t config, const struct sample_extra *x)
{
	struct perf_names *p = &w->names;
	struct perf_value id = PERF_N(w->n_samples);
	struct reader r = reader_over(x->raw, x->raw_size);
	uint32_t first = reader_u32(&r);
	uint64_t v = x->raw_size >= 12 ? reader_u64(&r) : 0;

#define ROW(table, ...) perf_add_row(p, table, (struct perf_value[]){ id, __VA_ARGS__ })
	switch (config) {
	case PT_SYNTH_PTWRITE:
		ROW(PERF_PTWRITE, PERF_N(v), PERF_N(first & 1));
		break;
	case PT_SYNTH_MWAIT:
		ROW(PERF_MWAIT, PERF_N(v & 0xff), PERF_N(v >> 32 & 3));
		break;
	case PT_SYNTH_PWRE:
		ROW(PERF_PWRE, PERF_N(v >> 12 & 15), PERF_N(v >> 8 & 15), PERF_N(v >> 7 & 1));
		break;
	case PT_SYNTH_EXSTOP:
		ROW(PERF_EXSTOP, PERF_N(first & 1));
		break;
	case PT_SYNTH_PWRX:
		ROW(PERF_PWRX, PERF_N(v & 15), PERF_N(v >> 4 & 15), PERF_N(v >> 8 & 15));
		break;
	case PT_SYNTH_CBR: { /* the ratio, and that of the highest frequency without turbo */
		uint32_t cbr = first & 0xff, highest = first >> 16 & 0xff;

		ROW(PERF_CBR, PERF_N(cbr), PERF_FRACTION(((uint32_t)v + 500) / 1000.0),
		    PERF_FRACTION(highest ? (cbr * 1000.0 / highest + 5) / 10 : 0));
		break;
	}
	default:
		break;
	}
#undef ROW
}

static uint32_t perf_chain_path(struct perf_writer *w, const struct frames *f)
{
	uint32_t path = PERF_ROOT_PATH;

	for (uint32_t i = f->n; i-- > 0;)
		path = perf_path(&w->names, path, perf_place(&w->names, f->code[i]).symbol,
				 f->addr[i]);
	return path;
}

static void perf_take_thread(struct perf_writer *w, const struct replay_sample *s)
{
	const struct sample_extra *x = s->event->sample.extra;
	char room[16];
	const char *comm = s->comm;
	int32_t guest = x ? (int32_t)x->machine_pid : 0;

	/* A trace of the host names the process that runs the guest as the thread's own. */
	if (!guest && mode_is_guest(s->event->sample.mode))
		guest = s->event->pid;
	if (!*comm) {
		snprintf(room, sizeof(room), ":%d", s->event->tid);
		comm = s->event->tid ? room : "swapper";
	}
	w->now = s;
	w->machine = perf_machine(&w->names, guest);
	w->thread = perf_thread(&w->names, w->machine, s->event->pid, s->event->tid);
	w->comm = perf_comm(&w->names, w->machine, s->event->pid, w->thread, comm);
}

static void perf_take_event(struct perf_writer *w, uint32_t counter, const char *name)
{
	while (w->has_event.n <= counter)
		vec_push(&w->has_event, false);
	if (w->has_event.data[counter])
		return;
	w->has_event.data[counter] = true;
	perf_add_row(&w->names, PERF_EVENTS,
		     (struct perf_value[]){ PERF_N(counter + 1), PERF_TEXT(name) });
}

static bool perf_is_branch(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE &&
	       attr->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS && attr->sample_period == 1;
}

/* Whether the address of a sample may have a name: page faults of code and data. */
static bool perf_names_address(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->sample_type & PERF_SAMPLE_ADDR &&
	       (attr->config == PERF_COUNT_SW_PAGE_FAULTS ||
		attr->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
		attr->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
}

static int perf_on_sample(struct replay_sink *sink, const struct replay_sample *s)
{
	static const struct sample_extra no_extra;
	struct perf_writer *w = (struct perf_writer *)sink;
	const struct event *e = s->event;
	const struct sample_extra *x = e->sample.extra ? e->sample.extra : &no_extra;
	bool is_branch = perf_is_branch(&s->counter->attr);
	bool has_chain = s->counter->attr.sample_type & PERF_SAMPLE_CALLCHAIN;
	struct perf_place at, to = { 0 };
	uint32_t flags = perf_flags(x->flags);

	perf_take_thread(w, s);
	perf_take_event(w, e->sample.counter, s->counter->name);
	w->n_samples++;
	at = is_branch ? perf_place_of(w, e->sample.ip) : perf_place(&w->names, s->frames->code[0]);
	if (is_branch || perf_names_address(&s->counter->attr))
		to = perf_place_of(w, x->addr);
	if (is_branch)
		perf_follow_branch(w, e);
	perf_add_row(&w->names, PERF_SAMPLES,
		     (struct perf_value[]){
			     PERF_N(w->n_samples),
			     PERF_N(e->sample.counter + 1),
			     PERF_N(w->machine),
			     PERF_N(w->thread),
			     PERF_N(w->comm),
			     PERF_N(at.image),
			     PERF_N(at.symbol),
			     PERF_N(at.offset),
			     PERF_N(e->sample.ip),
			     PERF_N(e->time_ns),
			     PERF_N((int32_t)e->cpu),
			     PERF_N(to.image),
			     PERF_N(to.symbol),
			     PERF_N(to.offset),
			     PERF_N(x->addr),
			     PERF_N(e->sample.period),
			     PERF_N(x->weight),
			     PERF_N(x->transaction),
			     PERF_N(x->data_src),
			     PERF_N(is_branch ? perf_branch_type(&w->names, flags) : 0),
			     PERF_N((x->flags & PT_F_IN_TX) != 0),
			     PERF_N(has_chain ? perf_chain_path(w, s->frames) : 0),
			     PERF_N(x->insns),
			     PERF_N(x->cycles),
			     PERF_N(flags) });
	if (s->counter->attr.type == PT_SYNTH_TYPE && x->raw)
		perf_add_synth(w, s->counter->attr.config, x);
	w->now = NULL;
	return *w->names.file.code;
}

/* ---- other events ---- */

/* Of this machine, or of the guest that the process runs (0: none). */
static void perf_on_switch(struct perf_writer *w, const struct event *e, uint32_t guest)
{
	uint32_t machine = perf_machine(&w->names, (int32_t)guest);
	const int32_t pid[] = { e->pid, e->context_switch.other_pid };
	const int32_t tid[] = { e->tid, e->context_switch.other_tid };
	bool is_out = e->context_switch.is_out;
	uint32_t thread[2] = { 0, 0 }, comm[2] = { 0, 0 };

	for (int i = 0; i < 2; i++) {
		const char *name;

		if (tid[i] == -1)
			continue;
		name = machine_thread_name(replay_machine(w->replay), pid[i], tid[i]);
		thread[i] = perf_thread(&w->names, machine, guest_task_id(guest, pid[i]),
					guest_task_id(guest, tid[i]));
		if (name || !guest_task_id(guest, tid[i]))
			comm[i] = perf_comm(&w->names, machine, guest_task_id(guest, pid[i]),
					    thread[i], name ? name : "swapper");
	}
	perf_add_row(&w->names, PERF_SWITCHES,
		     (struct perf_value[]){
			     PERF_N(w->names.n_rows[PERF_SWITCHES] + 1), PERF_N(machine),
			     PERF_N(e->time_ns), PERF_N((int32_t)e->cpu), PERF_N(thread[!is_out]),
			     PERF_N(comm[!is_out]), PERF_N(thread[is_out]), PERF_N(comm[is_out]),
			     PERF_N(is_out | (is_out && e->context_switch.is_preempted ? 2 : 0)) });
}

static int perf_on_event(struct replay_sink *sink, const struct event *e)
{
	struct perf_writer *w = (struct perf_writer *)sink;

	const struct perfdata_guest *guest = perfdata_guest(replay_data(w->replay));

	if (e->type == EVENT_SWITCH)
		perf_on_switch(w, e, guest ? guest->machine_pid : 0);
	if (guest || is_guest_task(e->pid))
		return *w->names.file.code;
	if (e->type == EVENT_COMM)
		perf_comm_begins(&w->names, e->pid, e->comm.name, e->time_ns, e->comm.is_exec);
	if (e->type == EVENT_TRACE_ERROR || (e->type == EVENT_COMM && e->comm.is_exec))
		call_stacks_cut(&w->stacks, e->tid, e->time_ns);
	return *w->names.file.code;
}

static void perf_write_all(struct perf_writer *w, const struct export *x)
{
	const struct script_places_config places = { .symbolizer = x->options->symbols,
						     .image = perf_replayed_image,
						     .names = perf_replayed_names,
						     .context = w };

	w->names.image = perf_replayed_image;
	w->names.context = w;
	w->names.places = script_places_new(&places);
	w->stacks = (struct call_stacks){ .find_entry = perf_find_entry,
					  .called = perf_on_call,
					  .over = perf_on_call_end,
					  .context = w };
	perf_names_begin(&w->names);
	if (*w->names.file.code >= 0)
		replay_samples(x->replay, &w->sink, x->damage);
	call_stacks_end(&w->stacks);
	perf_names_end(&w->names);
	call_stacks_fini(&w->stacks);
	script_places_free(w->names.places);
}

static int store_perf_sqlite(const struct export *x, const char *target, struct error *err)
{
	int code = 0;
	struct perf_writer w = { .sink = { .sample = perf_on_sample, .event = perf_on_event },
				 .names.file = { .code = &code, .err = err },
				 .replay = x->replay };

	if (sqlite_file_begin(&w.names.file, target) >= 0)
		perf_write_all(&w, x);
	perf_names_fini(&w.names);
	vec_fini(&w.calls);
	vec_fini(&w.free_calls);
	vec_fini(&w.has_event);
	return sqlite_file_end(&w.names.file);
}

const struct export_ops export_perf_sqlite = {
	.target = EXPORT_FILE,
	.is_binary = true,
	.from_recording = true,
	.itrace = "bepwx",
	.store = store_perf_sqlite,
};
