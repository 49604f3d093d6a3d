/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_synth.h"

#include <string.h>

#include "event/event.h"
#include "event/guest_task.h"
#include "event/loss.h"
#include "trace/pt_synth_counters.h"
#include "trace/pt_synth_insns.h"
#include "trace/pt_synth_packets.h"
#include "trace/pt_synth_sample.h"

enum { LATER_BRANCHES = 1024 };

static bool synth_is_async(const struct pt_event *e)
{
	return e->branch.flags & (PT_F_ASYNC | PT_F_TX_ABORT);
}

static int synth_push_branch(struct pt_synth *s, const struct pt_event *e)
{
	struct event *sample;

	if (s->branches < 0 || (s->branch_filter && !(e->branch.flags & s->branch_filter)))
		return 0;
	sample = synth_begin_sample(s, s->branches, e->tsc, e->branch.from, e->branch.flags);
	if (!e->branch.from)
		sample->sample.mode = synth_mode(s, e->branch.to);
	s->extra.addr = e->branch.to;
	if ((s->chooses && !s->chooses(s->chooses_context, sample)) || synth_skip(s))
		return 0;
	synth_add_bytes(s, e->branch.from, synth_is_async(e) ? 0 : e->branch.insn_size);
	if (s->itrace.with_depth)
		s->extra.depth = (uint32_t)synth_stack(s)->calls.n;
	synth_add_ipc(s, &s->queue->last_branch, e->insns);
	return synth_push(s, sample);
}

/* Of quick decoding: execution was there. */
static int synth_push_place(struct pt_synth *s, const struct pt_event *e)
{
	if (s->instructions < 0 || synth_skip(s))
		return 0;
	return synth_push(s, synth_begin_sample(s, s->instructions, e->tsc, e->place.ip, 0));
}

static int synth_push_transaction(struct pt_synth *s, const struct pt_event *e)
{
	struct event *sample;

	if (s->transactions < 0 || synth_skip(s))
		return 0;
	sample = synth_begin_sample(s, s->transactions, e->tsc, e->tx.ip,
				    e->tx.is_begin ? PT_F_IN_TX
				    : e->tx.aborts ? PT_F_BRANCH | PT_F_TX_ABORT
						   : 0);
	synth_add_stack(s, sample);
	return synth_push(s, sample);
}

static int synth_on_branch(struct pt_synth *s, const struct pt_event *e)
{
	struct synth_queue *q = s->queue;
	int r = 0;

	if (s->passes_insns)
		r = synth_pass_instructions(s, e, synth_is_async(e) ? 0 : e->branch.from);
	if (s->with_stacks) {
		struct pt_thread_stack *t = synth_stack(s);

		pt_stack_branch(t, e);
		pt_stack_keep(&s->stacks, t, e);
	}
	if (!r)
		r = synth_push_branch(s, e);
	q->changes_iflag = false;
	q->ip = e->branch.to;
	q->ahead = 0;
	q->insns += synth_insns_up_to(q, e);
	q->tsc = e->tsc;
	q->has_cycles &= e->insns == q->cycles_at;
	q->are_of_psb = false;
	q->period.is_due &= !(e->branch.flags & PT_F_END);
	return r;
}

/* Time goes on, in the middle of a row of instructions. */
static int synth_on_time(struct pt_synth *s, const struct pt_event *e)
{
	struct synth_queue *q = s->queue;
	bool is_ahead = e->kind == PT_EV_TIME_AHEAD;
	uint64_t at = is_ahead ? e->time_ahead.insns_at_packet : e->time.insns_at_packet;
	uint64_t n = synth_insns_up_to(q, e), n_before = at > q->insns ? at - q->insns : 0;
	int r = 0;

	/* The period goes by the time of the packet, wherever its branch may be. */
	if (s->passes_insns)
		r = synth_pass_some(s, e, MIN(n, n_before), 0);
	if (!q->is_told_ahead)
		q->period.ticks = 0;
	q->period.tsc = is_ahead ? e->time_ahead.tsc : e->tsc;
	q->is_told_ahead = is_ahead;
	if (is_ahead)
		return r;
	if (s->passes_insns && !r)
		r = synth_pass_instructions(s, e, 0);
	else
		q->insns += synth_insns_up_to(q, e);
	q->tsc = e->tsc;
	q->has_cycles = e->cycles != q->cycles;
	q->cycles = e->cycles;
	q->cycles_at = e->insns;
	return r;
}

/* Where no sample was due: what the branches that were left out leave behind. */
static void synth_resume_period(const struct pt_synth *s, struct synth_period *p,
				const struct pt_event *e)
{
	uint32_t n = e->resume.n_ends;

	p->tsc = e->resume.tsc;
	p->ticks = e->resume.ticks;
	for (uint32_t i = 0; i <= n; i++) {
		p->is_due &= !i;
		if (i < n || e->resume.is_traced)
			synth_catch_up(s, p);
	}
}

/* What was left out had no sample. Only the state that reaches to here is to be known. */
static void synth_on_resume(struct pt_synth *s, const struct pt_event *e)
{
	struct synth_queue *q = s->queue;

	q->ip = e->resume.ip;
	q->ahead = 0;
	q->insns += synth_insns_up_to(q, e);
	q->tsc = e->tsc;
	q->cycles = e->cycles;
	q->has_cycles = q->are_of_psb = q->changes_iflag = false;
	q->is_told_ahead = e->resume.is_ahead;
	synth_resume_period(s, &q->period, e);
}

static const uint8_t loss_of[N_PT_ERRORS] = {
	[PT_ERR_BAD_PACKET] = LOSS_TRACE_BAD_PACKET,
	[PT_ERR_CUT] = LOSS_TRACE_CUT,
	[PT_ERR_OVERFLOW] = LOSS_TRACE_OVERFLOW,
	[PT_ERR_LOST] = LOSS_TRACE_LOST,
	[PT_ERR_NO_CODE] = LOSS_TRACE_NO_CODE,
	[PT_ERR_MISMATCH] = LOSS_TRACE_MISMATCH,
	[PT_ERR_LOOP] = LOSS_TRACE_LOOP,
	[PT_ERR_UNEXPECTED] = LOSS_TRACE_UNEXPECTED,
};

static int synth_on_error(struct pt_synth *s, const struct pt_event *e)
{
	struct event error = {
		.type = EVENT_TRACE_ERROR,
		.cpu = s->span->cpu,
		.pid = s->span->pid,
		.tid = s->span->tid,
		.time_ns = pt_trace_ns(s->trace, e->tsc),
		.trace_error = { loss_of[e->error.reason], e->error.ip, e->error.offset },
	};
	int r = s->passes_insns ? synth_pass_instructions(s, e, 0) : 0;

	pt_trace_count_error(s->trace, s->span, e);
	s->queue->ip = s->queue->ahead = 0;
	s->queue->period.is_due = false;
	s->queue->insns += synth_insns_up_to(s->queue, e);
	if (s->with_stacks)
		pt_stack_clear(synth_stack(s));
	if (r || !s->itrace.errors ||
	    (e->error.reason == PT_ERR_OVERFLOW && s->itrace.hides_overflows) ||
	    (e->error.reason == PT_ERR_LOST && s->itrace.hides_losses))
		return r;
	return event_push(s->to, &error);
}

static int synth_on_unverified(struct pt_synth *s, const struct pt_event *e)
{
	struct event event = {
		.type = EVENT_TRACE_UNVERIFIED,
		.cpu = s->span->cpu,
		.pid = s->span->pid,
		.tid = s->span->tid,
		.time_ns = pt_trace_ns(s->trace, e->tsc),
		.trace_unverified = { e->unverified.insns, pt_trace_ns(s->trace, s->queue->psb_tsc),
				      e->unverified.offset, e->unverified.is_confirmed },
	};

	return s->itrace.errors ? event_push(s->to, &event) : 0;
}

static int synth_on_event(struct pt_synth *s, const struct pt_event *e)
{
	switch ((enum pt_event_kind)e->kind) {
	case PT_EV_BRANCH:
		return synth_on_branch(s, e);
	case PT_EV_TX:
		return synth_push_transaction(s, e);
	case PT_EV_PTWRITE:
		return synth_push_payload(s, e->tsc, PT_SYNTH_PTWRITE, e->ptwrite.ip,
					  e->ptwrite.is_exact, e->ptwrite.value);
	case PT_EV_CBR:
		return synth_push_cbr(s, e);
	case PT_EV_POWER:
		return synth_push_power(s, e);
	case PT_EV_PSB:
		s->queue->are_of_psb = s->queue->has_cycles;
		s->queue->psb_tsc = e->tsc;
		return synth_push_payload(s, e->tsc, PT_SYNTH_PSB, e->psb.ip, 0, e->psb.offset);
	case PT_EV_TIME:
	case PT_EV_TIME_AHEAD:
		return synth_on_time(s, e);
	case PT_EV_RESUME:
		synth_on_resume(s, e);
		break;
	case PT_EV_ERROR:
		return synth_on_error(s, e);
	case PT_EV_UNVERIFIED:
		return synth_on_unverified(s, e);
	case PT_EV_PLACE:
		return synth_push_place(s, e);
	case PT_EV_EVD:
		synth_take_evd(s, e);
		break;
	case PT_EV_CFE:
		return synth_push_cfe(s, e);
	case PT_EV_INTERRUPTS:
		return synth_push_iflag(s, e);
	case PT_EV_WIDTH:
		s->queue->width = e->width.bits;
		break;
	case PT_EV_ITEM:
		synth_take_item(s, e);
		break;
	case PT_EV_PEBS:
		return synth_push_pebs(s, e);
	case PT_EV_TRIG:
	case PT_EV_CR3:
	case PT_EV_VMCS:
	case N_PT_EVENTS:
		break;
	}
	return 0;
}

/* How many branches are taken in a row: up to another time, or an event that is none. */
static size_t synth_n_in_row(const struct pt_synth *s, const struct pt_event *e,
			     const struct pt_event *end)
{
	const struct pt_event *at = e;

	if (!s->branches_to || s->branches < 0 || s->passes_insns || s->with_stacks ||
	    s->branch_filter || s->skip || s->chooses)
		return 0;
	while (at < end && at->kind == PT_EV_BRANCH && at->tsc == e->tsc)
		at++;
	return (size_t)(at - e);
}

/* As synth_on_branch(), without what only instructions, and cycles that are shown, are made of. */
static int synth_push_row(struct pt_synth *s, const struct pt_event *e, size_t n)
{
	struct synth_queue *q = s->queue;

	q->changes_iflag = false;
	q->insns += synth_insns_up_to(q, &e[n - 1]);
	q->tsc = e->tsc;
	return s->branches_to(s->branches_context,
			      synth_begin_sample(s, s->branches, e->tsc, e->branch.from,
						 e->branch.flags),
			      e, n);
}

static int synth_on_span(struct pt_trace_sink *sink, const struct pt_span *span)
{
	struct pt_synth *s = (struct pt_synth *)sink;
	const struct pt_event *end = span->events + span->n;
	int r = 0;

	s->span = span;
	s->queue = &s->queues[span->queue];
	if (span->is_guest && s->with_stacks)
		*intmap_put(&s->guest_threads, (uint32_t)span->tid, NULL) =
			(uint32_t)synth_stack(s)->tid;
	for (const struct pt_event *e = span->events; e < end && !r;) {
		size_t n = synth_n_in_row(s, e, end);

		r = n ? synth_push_row(s, e, n) : synth_on_event(s, e);
		e += n ? n : 1;
	}
	if (s->log)
		pt_log_span(s->log, s->trace, span);
	return r;
}

/* ---- opening ---- */

static uint64_t synth_power_of_two_below(uint64_t v)
{
	return 1ULL << (63 - __builtin_clzll(v | 1));
}

static void synth_set_period(struct pt_synth *s)
{
	const struct pt_clock *c = &s->clock;

	s->period = s->itrace.period;
	s->by_ticks = s->itrace.unit != ITRACE_INSTRUCTIONS;
	if (s->itrace.unit == ITRACE_NS && c->time_mult)
		s->period = pt_time_tsc(c, c->time_zero + MIN(s->period, UINT64_MAX >> 2));
	if (s->by_ticks) {
		s->period = synth_power_of_two_below(s->period);
		s->mask = ~(s->period - 1);
	}
}

/* False: only errors, and events that the trace has itself, are asked for. */
static bool synth_needs_branches(const struct itrace *o)
{
	return o->instructions || o->cycles || o->branches || o->chains || o->adds_chains ||
	       o->last_branches || o->adds_last_branches || o->with_depth || o->logs ||
	       o->transactions || o->interrupts;
}

/* Samples in time are all that is wanted: no branch that is not near a sample is needed. */
static bool synth_needs_samples_alone(const struct itrace *o)
{
	return (o->instructions || o->cycles) && !o->quick && !o->branches && !o->chains &&
	       !o->adds_chains && !o->last_branches && !o->adds_last_branches && !o->with_depth &&
	       !o->logs && !o->interrupts;
}

enum pt_detail pt_synth_detail(const struct itrace *o)
{
	bool all = o->instructions || o->cycles || o->interrupts || o->last_branches ||
		   o->adds_last_branches || (o->branches && !o->calls && !o->returns);

	if (!synth_needs_branches(o))
		return PT_NO_BRANCHES;
	return all ? PT_ALL_BRANCHES : PT_CALLS;
}

struct pt_synth *pt_synth_new(const struct pt_synth_config *config)
{
	struct pt_synth *s = xcalloc(1, sizeof(*s));
	const struct itrace *o = &config->itrace;

	s->sink.span = synth_on_span;
	s->sample.type = EVENT_SAMPLE;
	s->sample.sample.extra = &s->extra;
	s->itrace = *o;
	s->trace = config->trace;
	s->data = config->data;
	s->to = config->sink;
	s->clock = pt_trace_info(s->trace)->clock;
	s->has_event_trace = pt_trace_info(s->trace)->has_event_trace;
	s->skip = o->skip;
	s->with_stacks = o->with_depth || o->chains || o->adds_chains || o->last_branches ||
			 o->adds_last_branches;
	if (o->last_branches || o->adds_last_branches)
		s->stacks.ring_size = o->branch_size;
	/* The branches between a sample's instruction and the end of its trace are left out. */
	if (o->adds_last_branches)
		s->stacks.ring_size += pt_trace_info(s->trace)->has_kernel ? LATER_BRANCHES : 1;
	if (o->calls)
		s->branch_filter |= PT_F_CALL | PT_F_ASYNC | PT_F_END;
	if (o->returns)
		s->branch_filter |= PT_F_RETURN | PT_F_BEGIN;
	synth_set_period(s);
	/* Packets of events can come in any stretch, and change what follows. */
	if (s->by_ticks && !s->has_event_trace && synth_needs_samples_alone(o))
		pt_trace_sample(s->trace, s->period);
	s->log = o->logs ? pt_log_open(config->data) : NULL;
	s->queues = xcalloc(pt_trace_n_queues(s->trace), sizeof(*s->queues));
	for (uint32_t i = 0; i < pt_trace_n_queues(s->trace); i++)
		s->queues[i].width = 64;
	s->cached = xcalloc(N_CACHED, sizeof(*s->cached));
	synth_add_counters(s, config->data);
	return s;
}

void pt_synth_free(struct pt_synth *s)
{
	if (!s)
		return;
	pt_stacks_fini(&s->stacks);
	intmap_fini(&s->guest_threads);
	pt_log_close(s->log);
	for (uint32_t i = 0; i < pt_trace_n_queues(s->trace); i++) {
		free(s->queues[i].pebs);
		free(s->queues[i].evds);
	}
	free(s->queues);
	free(s->cached);
	free(s);
}

void pt_synth_take_branches(struct pt_synth *s, pt_synth_row_fn *take, void *context)
{
	s->branches_to = take;
	s->branches_context = context;
}

void pt_synth_choose_branches(struct pt_synth *s,
			      bool (*chooses)(void *context, const struct event *branch),
			      void *context)
{
	s->chooses = chooses;
	s->chooses_context = context;
}

int pt_synth_run(struct pt_synth *s, uint64_t before_ns, struct event_sink *sink)
{
	s->to = sink;
	return pt_trace_run(s->trace, before_ns, &s->sink);
}

void pt_synth_event(struct pt_synth *s, const struct event *e)
{
	if (s->log && !s->itrace.logs_no_events)
		pt_log_event(s->log, e);
}

/*
 * The stack of a recording's own sample. Samples that were taken in a guest have its thread, and
 * those that its host took in it have the thread that runs the guest. NULL: none is known.
 */
static struct pt_thread_stack *synth_stack_of(struct pt_synth *s, const struct event *sample)
{
	const struct sample_extra *x = sample->sample.extra;
	const uint32_t *tid;

	if (x && x->machine_pid)
		return pt_stacks_find(&s->stacks, guest_task(x->machine_pid, sample->tid), true);
	if (!mode_is_guest(sample->sample.mode))
		return pt_stacks_of(&s->stacks, sample->tid, false);
	tid = intmap_find(&s->guest_threads, (uint32_t)sample->tid);
	return tid ? pt_stacks_find(&s->stacks, (int32_t)*tid, true) : NULL;
}

/*
 * Calls between a sample and the end of its trace, in the kernel that took it. A sample that the
 * host took in its guest has none, because the guest had stopped there.
 */
static uint32_t synth_later_calls(const struct pt_thread_stack *t, const struct event *sample)
{
	const struct sample_extra *x = sample->sample.extra;
	bool is_by_host = mode_is_guest(sample->sample.mode) && !(x && x->machine_pid);

	return is_by_host ? 0 : pt_stack_later_calls(t, sample->sample.ip);
}

void pt_synth_add(struct pt_synth *s, struct event *sample, struct pt_synth_room *room)
{
	struct pt_thread_stack *t;
	uint64_t ip = sample->sample.ip;

	if (!s->itrace.adds_chains && !s->itrace.adds_last_branches)
		return;
	t = synth_stack_of(s, sample);
	if (!t)
		return;
	if (s->itrace.adds_chains) {
		sample->sample.n_callers =
			pt_stack_callers(t, synth_later_calls(t, sample), room->callers,
					 s->itrace.chain_size - 1);
		sample->sample.callers = room->callers;
		sample->sample.n_kernel =
			synth_n_of_kernel(room->callers, sample->sample.n_callers);
	}
	if (s->itrace.adds_last_branches) {
		room->extra =
			sample->sample.extra ? *sample->sample.extra : (struct sample_extra){ 0 };
		room->extra.n_branches =
			pt_stack_branches(&s->stacks, t, pt_stack_later_branches(&s->stacks, t, ip),
					  room->branches, s->itrace.branch_size, false);
		room->extra.branches = room->branches;
		sample->sample.extra = &room->extra;
	}
}
