/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_synth.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/clock.h"
#include "event/event.h"
#include "event/loss.h"
#include "pt/insn.h"
#include "pt/packet.h"
#include "pt/synth_raw.h"
#include "trace/pt_log.h"
#include "trace/pt_pebs.h"
#include "trace/pt_stack.h"

enum { N_CACHED = 1 << 15, NO_COUNTER = -1, LATER_BRANCHES = 1024 };

/* A place that code was read at. */
struct cached {
	uint64_t addr, space;
	uint8_t size, end, bytes[PT_INSN_MAX];
};

/* When the next instructions sample is due; a queue has its own. */
struct period {
	uint64_t insns;      /* since the last sample */
	uint64_t tsc, ticks; /* the last time that is known, and instructions since: a tick each */
	uint64_t masked;     /* the last period that had a sample */
	bool is_due;         /* the next instruction begins another period */
};

struct counts {
	uint64_t insns, cycles;
};

struct queue {
	uint64_t tsc;   /* of the last event */
	uint64_t ip;    /* of an instruction; 0: not known */
	uint64_t ahead; /* the next one is so many behind that */
	uint64_t insns; /* executed up to there */
	uint64_t cycles;
	uint64_t cycles_at; /* the executed instructions before the one that has `cycles` */
	bool has_cycles, are_of_psb; /* are_of_psb: they are the next branch's, wherever it is */
	bool is_told_ahead;          /* the time, to the period alone */
	struct period period;
	uint64_t sampled_insns;
	struct counts last_branch, last_insn; /* of their samples that had cycles */
	uint32_t cbr;
	/* The interrupt flag; `changes`: with the branch that comes, or at an instruction. */
	bool iflag, was_iflag, changes_iflag;
	uint64_t iflag_ip; /* the instruction; 0: none */
	struct evd {
		uint8_t type;
		uint64_t payload;
	} * evds; /* PT_SYNTH_EVDS, that wait for their CFE; NULL: there were none yet */
	uint32_t n_evds;
	struct pt_pebs *pebs; /* the record whose items are read; NULL: there was none yet */
};

struct pt_synth {
	struct pt_trace_sink sink; /* first: the sink is also this */
	struct itrace itrace;
	struct pt_trace *trace;
	struct event_sink *to;
	int (*branches_to)(void *context, const struct pt_event *branches, size_t n);
	void *branches_context;
	struct pt_clock clock;
	uint64_t period, mask; /* in instructions, or ticks */
	bool by_ticks, has_event_trace;
	bool has_cyc;           /* else cycles are estimated, and told as soon as there are more */
	uint32_t branch_filter; /* flags of branches that are wanted; 0: all */
	uint64_t skip;
	struct pt_stacks stacks;
	struct pt_log *log; /* NULL: none */
	bool with_stacks;
	struct queue *queues;
	struct cached *cached;
	int32_t instructions, branches, transactions, pebs, synths[N_PT_SYNTHS]; /* counters */
	const struct perfdata *data;
	struct pt_pebs_room pebs_room;

	/* Of the sample that is pushed. */
	const struct pt_span *span;
	struct queue *queue;
	uint64_t callers[ITRACE_MAX_CHAIN];
	struct branch last[ITRACE_MAX_CHAIN];
	uint8_t raw[PT_SYNTH_RAW_MAX];
	struct event sample;
	struct sample_extra extra;
};

/* ---- events ---- */

/* What all of them have of the event that the trace was recorded by. */
static struct perf_event_attr base_attr(const struct pt_synth *s, struct perfdata *data)
{
	const struct pt_trace_info *info = pt_trace_info(s->trace);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.sample_period = 1,
		.sample_id_all = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD,
	};

	vec_foreach (&perfdata_info(data)->counters, c) {
		if (c->attr.type != info->pmu_type)
			continue;
		attr.exclude_user = c->attr.exclude_user;
		attr.exclude_kernel = c->attr.exclude_kernel;
		attr.exclude_hv = c->attr.exclude_hv;
		attr.exclude_host = c->attr.exclude_host;
		attr.exclude_guest = c->attr.exclude_guest;
		break;
	}
	if (!info->is_timeless)
		attr.sample_type |= PERF_SAMPLE_TIME;
	if (info->is_per_cpu)
		attr.sample_type |= PERF_SAMPLE_CPU;
	return attr;
}

static void add_synths(struct pt_synth *s, struct perfdata *data, struct perf_event_attr attr)
{
	attr.type = PT_SYNTH_TYPE;
	attr.sample_type |= PERF_SAMPLE_RAW;
	for (uint32_t i = 0; i < N_PT_SYNTHS; i++) {
		bool is_of_event = i == PT_SYNTH_EVT || i == PT_SYNTH_IFLAG;
		bool is_wanted = i == PT_SYNTH_PTWRITE ? s->itrace.ptwrites
				 : is_of_event         ? s->itrace.interrupts && s->has_event_trace
						       : s->itrace.power;

		attr.config = i;
		s->synths[i] =
			is_wanted ? (int32_t)perfdata_add_counter(data, &attr, pt_synth_names[i])
				  : NO_COUNTER;
	}
}

/* The event whose PEBS records go to the trace; there is one at most. */
static void find_pebs_counter(struct pt_synth *s, const struct perfdata *data)
{
	const struct perfdata_info *info = perfdata_info(data);

	for (size_t i = 0; i < info->counters.n; i++) {
		const struct perf_event_attr *attr = &info->counters.data[i].attr;

		if (!attr->aux_output)
			continue;
		s->pebs = (int32_t)i;
	}
}

static void add_counters(struct pt_synth *s, struct perfdata *data)
{
	struct perf_event_attr attr = base_attr(s, data), with = attr;

	s->instructions = s->branches = s->transactions = s->pebs = NO_COUNTER;
	if (s->itrace.pebs)
		find_pebs_counter(s, data);
	if (s->itrace.branches) {
		with.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		with.sample_type |= PERF_SAMPLE_ADDR;
		s->branches = (int32_t)perfdata_add_counter(data, &with, NULL);
	}
	with = attr;
	with.config = PERF_COUNT_HW_INSTRUCTIONS;
	if (s->itrace.chains)
		with.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (s->itrace.last_branches)
		with.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	if (s->itrace.instructions) {
		struct perf_event_attr own = with;

		own.sample_period = s->itrace.period;
		s->instructions = (int32_t)perfdata_add_counter(data, &own, NULL);
	}
	if (s->itrace.transactions)
		s->transactions = (int32_t)perfdata_add_counter(data, &with, "transactions");
	add_synths(s, data, attr);
}

static uint64_t power_of_two_below(uint64_t v)
{
	return 1ULL << (63 - __builtin_clzll(v | 1));
}

static void set_period(struct pt_synth *s)
{
	const struct pt_clock *c = &s->clock;

	s->period = s->itrace.period;
	s->by_ticks = s->itrace.unit != ITRACE_INSTRUCTIONS;
	if (s->itrace.unit == ITRACE_NS && c->time_mult)
		s->period = pt_time_tsc(c, c->time_zero + MIN(s->period, UINT64_MAX >> 2));
	if (s->by_ticks) {
		s->period = power_of_two_below(s->period);
		s->mask = ~(s->period - 1);
	}
}

/* False: only errors, and events that the trace has itself, are asked for. */
static bool needs_branches(const struct itrace *o)
{
	return o->instructions || o->branches || o->chains || o->adds_chains || o->last_branches ||
	       o->adds_last_branches || o->with_depth || o->logs || o->transactions ||
	       o->interrupts;
}

enum pt_detail pt_synth_detail(const struct itrace *o)
{
	bool all = o->instructions || o->interrupts || o->last_branches || o->adds_last_branches ||
		   (o->branches && !o->calls && !o->returns);

	if (!needs_branches(o))
		return PT_NO_BRANCHES;
	return all ? PT_ALL_BRANCHES : PT_CALLS;
}

static int on_span(struct pt_trace_sink *sink, const struct pt_span *span);

struct pt_synth *pt_synth_new(const struct pt_synth_config *config)
{
	struct pt_synth *s = xcalloc(1, sizeof(*s));
	const struct itrace *o = &config->itrace;

	s->sink.span = on_span;
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
	set_period(s);
	s->log = o->logs ? pt_log_open(config->data) : NULL;
	s->queues = xcalloc(pt_trace_n_queues(s->trace), sizeof(*s->queues));
	s->cached = xcalloc(N_CACHED, sizeof(*s->cached));
	add_counters(s, config->data);
	return s;
}

void pt_synth_free(struct pt_synth *s)
{
	if (!s)
		return;
	pt_stacks_fini(&s->stacks);
	pt_log_close(s->log);
	for (uint32_t i = 0; i < pt_trace_n_queues(s->trace); i++) {
		free(s->queues[i].pebs);
		free(s->queues[i].evds);
	}
	free(s->queues);
	free(s->cached);
	free(s);
}

/* ---- samples ---- */

static bool is_asynchronous(const struct pt_event *e)
{
	return e->flags & (PT_F_ASYNC | PT_F_TX_ABORT);
}

static const struct cached *instruction_at(struct pt_synth *s, uint64_t addr)
{
	uint64_t space = pt_trace_space(s->trace, s->span->queue);
	struct cached *c = &s->cached[hash_u64(addr) % N_CACHED];

	if (c->addr != addr || c->space != space || !c->size) {
		struct pt_insn insn = { .end = PT_END_FALL };
		size_t n =
			pt_trace_code(s->trace, s->span->queue, addr, c->bytes, sizeof(c->bytes));

		c->addr = addr;
		c->space = space;
		pt_insn_read(64, c->bytes, n, &insn);
		c->size = insn.size;
		c->end = insn.end;
	}
	return c;
}

/* The first events may be wanted left out. */
static bool is_skipped(struct pt_synth *s)
{
	if (!s->skip)
		return false;
	s->skip--;
	return true;
}

/* How the interrupt flag is; of the branch that changes it, how it was before. */
static uint32_t interrupt_flags(const struct pt_synth *s)
{
	const struct queue *q = s->queue;
	uint32_t change = q->was_iflag != q->iflag ? PT_F_INTERRUPTS_CHANGE : 0;

	if (!s->has_event_trace)
		return 0;
	if (q->changes_iflag)
		return (q->was_iflag ? 0 : PT_F_INTERRUPTS_OFF) | change;
	return q->iflag ? 0 : PT_F_INTERRUPTS_OFF;
}

/* The same of an instruction: it may be the one that changes it. */
static uint32_t flags_of_instruction(struct pt_synth *s, uint64_t ip)
{
	struct queue *q = s->queue;
	uint32_t flags;

	q->changes_iflag = q->iflag_ip && q->iflag_ip == ip;
	flags = interrupt_flags(s);
	q->changes_iflag = false;
	q->iflag_ip = 0;
	return flags;
}

/* In place: each branch may be a sample, and of the extras only what is ever set is cleared. */
static struct event *begin_sample(struct pt_synth *s, int32_t counter, const struct pt_event *e,
				  uint64_t ip)
{
	struct event *sample = &s->sample;

	sample->cpu = s->span->cpu;
	sample->pid = s->span->pid;
	sample->tid = s->span->tid;
	sample->time_ns = pt_trace_ns(s->trace, e);
	sample->sample.counter = (uint32_t)counter;
	sample->sample.mode = ip >> 63 ? MODE_KERNEL : MODE_USER;
	sample->sample.ip = ip;
	sample->sample.period = 1;
	sample->sample.callers = NULL;
	sample->sample.n_callers = sample->sample.n_kernel = 0;
	s->extra.flags = e->flags | interrupt_flags(s);
	s->extra.addr = s->extra.insns = s->extra.cycles = 0;
	s->extra.raw = NULL;
	s->extra.branches = NULL;
	s->extra.raw_size = s->extra.n_branches = s->extra.depth = 0;
	s->extra.insn_size = 0;
	return sample;
}

static void add_bytes(struct pt_synth *s, uint64_t ip, uint8_t size)
{
	s->extra.insn_size = size;
	if (!s->itrace.with_bytes || !ip)
		return;
	size = s->extra.insn_size = instruction_at(s, ip)->size;
	memcpy(s->extra.insn, instruction_at(s, ip)->bytes, MIN(size, PT_INSN_MAX));
}

static uint32_t n_of_kernel(const uint64_t *callers, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && callers[i] >> 63)
		i++;
	return i;
}

static void add_stack(struct pt_synth *s, struct event *sample)
{
	struct pt_thread_stack *t;

	if (!s->itrace.chains && !s->itrace.last_branches)
		return;
	t = pt_stacks_of(&s->stacks, s->span->tid);
	if (s->itrace.chains) {
		sample->sample.n_callers =
			pt_stack_callers(t, 0, s->callers, s->itrace.chain_size - 1);
		sample->sample.callers = s->callers;
		sample->sample.n_kernel = n_of_kernel(s->callers, sample->sample.n_callers);
	}
	if (s->itrace.last_branches) {
		s->extra.n_branches =
			pt_stack_branches(&s->stacks, t, 0, s->last, s->itrace.branch_size, true);
		s->extra.branches = s->last;
	}
}

/*
 * Instructions and cycles since the last sample of the kind that had any. Cycles are known only at
 * the packets that have them: for the instruction behind `cycles_at`, or after a PSB for the next
 * branch.
 */
static void add_ipc(struct pt_synth *s, struct counts *last, uint64_t insns)
{
	const struct queue *q = s->queue;

	/* An asynchronous branch is no instruction. Its cycles must be known exactly there. */
	uint64_t n_told = s->extra.flags & PT_F_ASYNC ? 0 : 1;

	if (!q->has_cycles || q->cycles == last->cycles ||
	    (insns - q->cycles_at > n_told && !q->are_of_psb))
		return;
	s->extra.insns = insns - last->insns;
	s->extra.cycles = q->cycles - last->cycles;
	*last = (struct counts){ insns, q->cycles };
}

static int push(struct pt_synth *s, const struct event *sample)
{
	return event_push(s->to, sample);
}

static int push_branch(struct pt_synth *s, const struct pt_event *e)
{
	struct event *sample;

	if (s->branches < 0 || (s->branch_filter && !(e->flags & s->branch_filter)) ||
	    is_skipped(s))
		return 0;
	sample = begin_sample(s, s->branches, e, e->from);
	if (!e->from)
		sample->sample.mode = e->to >> 63 ? MODE_KERNEL : MODE_USER;
	s->extra.addr = e->to;
	add_bytes(s, e->from, is_asynchronous(e) ? 0 : e->insn_size);
	if (s->itrace.with_depth)
		s->extra.depth = (uint32_t)pt_stacks_of(&s->stacks, s->span->tid)->calls.n;
	add_ipc(s, &s->queue->last_branch, e->insns);
	return push(s, sample);
}

/* What the instruction may do, done or not: of a conditional branch that is not taken, too. */
static uint32_t flags_at(struct pt_synth *s, uint64_t ip)
{
	const struct cached *c = instruction_at(s, ip);

	return c->size && c->end != PT_END_FALL ? pt_end_flags[c->end] : 0;
}

static int push_instruction(struct pt_synth *s, const struct pt_event *e, uint64_t ip,
			    bool is_branch)
{
	struct queue *q = s->queue;
	struct event *sample;
	uint64_t n = q->insns - q->sampled_insns;
	struct pt_event at = { .tsc = q->tsc };

	if (is_skipped(s))
		return 0;
	q->sampled_insns = q->insns;
	sample = begin_sample(s, s->instructions, is_branch ? e : &at, ip);
	sample->sample.period = n;
	if (!is_branch)
		s->extra.flags =
			flags_at(s, ip) | (e->flags & PT_F_IN_TX) | flags_of_instruction(s, ip);
	else
		s->extra.addr = e->to;
	add_bytes(s, ip, instruction_at(s, ip)->size);
	add_ipc(s, &q->last_insn, q->insns);
	add_stack(s, sample);
	return push(s, sample);
}

static void take_item(struct pt_synth *s, const struct pt_event *e)
{
	struct queue *q = s->queue;

	if (!q->pebs)
		q->pebs = xcalloc(1, sizeof(*q->pebs));
	pt_pebs_take(q->pebs, e);
}

/* A call chain or last branches of the trace, where the event asks for them and we are asked. */
static void add_stack_to_pebs(struct pt_synth *s, const struct perf_event_attr *attr,
			      struct event *sample)
{
	bool chains = s->itrace.chains, branches = s->itrace.last_branches;

	s->itrace.chains = chains && attr->sample_type & PERF_SAMPLE_CALLCHAIN;
	s->itrace.last_branches =
		branches && attr->sample_type & PERF_SAMPLE_BRANCH_STACK && !s->extra.branches;
	add_stack(s, sample);
	s->itrace.chains = chains;
	s->itrace.last_branches = branches;
}

/* A sample of one event, at the record's own time where it has one. */
static int push_pebs_of(struct pt_synth *s, const struct pt_event *e, int32_t counter)
{
	const struct perf_event_attr *attr = &perfdata_info(s->data)->counters.data[counter].attr;
	const struct pt_pebs *p = s->queue->pebs;
	uint64_t tsc = pt_pebs_tsc(p), ip = pt_pebs_ip(p);
	struct pt_event at = { .tsc = tsc ? tsc : e->tsc };
	struct event *sample;
	int r;

	if (is_skipped(s))
		return 0;
	sample = begin_sample(s, counter, &at, ip ? ip : e->from);
	sample->sample.period = attr->freq ? 0 : attr->sample_period;
	pt_pebs_fill(p, attr, &s->extra, &s->pebs_room);
	add_stack_to_pebs(s, attr, sample);
	r = push(s, sample);
	s->extra.interrupted = (struct sample_registers){ 0 };
	s->extra.weight = s->extra.transaction = 0;
	return r;
}

/*
 * The record is whole. The kernel tells which counter has which number in it; where it does not,
 * there is one event.
 */
static int push_pebs(struct pt_synth *s, const struct pt_event *e)
{
	struct queue *q = s->queue;
	uint64_t left = q->pebs ? pt_pebs_counters(q->pebs) : 0;
	bool is_known = false;
	int r = 0;

	if (!q->pebs)
		return 0;
	for (; left && s->pebs >= 0 && !r; left &= left - 1) {
		int32_t counter =
			pt_trace_counter(s->trace, (uint32_t)__builtin_ctzll(left), s->span->cpu);

		if (counter < 0)
			break;
		is_known = true;
		r = push_pebs_of(s, e, counter);
	}
	if (!is_known && s->pebs >= 0)
		r = push_pebs_of(s, e, s->pebs);
	pt_pebs_clear(q->pebs);
	return r;
}

/* Of quick decoding: execution was there. */
static int push_place(struct pt_synth *s, const struct pt_event *e)
{
	struct event *sample;

	if (s->instructions < 0 || is_skipped(s))
		return 0;
	sample = begin_sample(s, s->instructions, e, e->from);
	return push(s, sample);
}

static int push_transaction(struct pt_synth *s, const struct pt_event *e)
{
	struct event *sample;

	if (s->transactions < 0 || is_skipped(s))
		return 0;
	sample = begin_sample(s, s->transactions, e, e->from);
	add_stack(s, sample);
	return push(s, sample);
}

static int push_synth(struct pt_synth *s, const struct pt_event *e, enum pt_synth_id id,
		      uint64_t ip, size_t size)
{
	struct event *sample;

	if (s->synths[id] < 0 || (id != PT_SYNTH_CBR && is_skipped(s)))
		return 0;
	sample = begin_sample(s, s->synths[id], e, ip);
	s->extra.flags = 0;
	s->extra.raw = s->raw;
	s->extra.raw_size = (uint32_t)size;
	return push(s, sample);
}

static void put32(struct pt_synth *s, size_t at, uint32_t v)
{
	memcpy(s->raw + at, &v, 4);
}

static void put64(struct pt_synth *s, size_t at, uint64_t v)
{
	memcpy(s->raw + at, &v, 8);
}

/* A word of flags, then the payload. */
static int push_payload(struct pt_synth *s, const struct pt_event *e, enum pt_synth_id id,
			uint64_t ip, uint32_t flags, uint64_t payload)
{
	put32(s, 0, flags);
	put64(s, 4, payload);
	return push_synth(s, e, id, ip, 12);
}

static int push_cbr(struct pt_synth *s, const struct pt_event *e)
{
	uint32_t ratio = s->clock.max_ratio, cbr = (uint32_t)e->to;
	uint64_t hz = pt_time_tsc(&s->clock, s->clock.time_zero + NS_PER_SECOND);

	if (cbr == s->queue->cbr)
		return 0;
	s->queue->cbr = cbr;
	put32(s, 0, cbr | ratio << 16);
	put32(s, 4, ratio ? (uint32_t)(cbr * (hz / ratio / 1000)) : 0);
	put32(s, 8, 0);
	return push_synth(s, e, PT_SYNTH_CBR, e->from, 12);
}

static int push_power(struct pt_synth *s, const struct pt_event *e)
{
	switch (e->detail) {
	case PT_MWAIT:
		return push_payload(s, e, PT_SYNTH_MWAIT, e->from, 0, e->to);
	case PT_PWRE:
		return push_payload(s, e, PT_SYNTH_PWRE, e->from, 0, e->to);
	case PT_PWRX:
		return push_payload(s, e, PT_SYNTH_PWRX, e->from, 0, e->to);
	case PT_EXSTOP:
		put32(s, 0, e->from != 0);
		return push_synth(s, e, PT_SYNTH_EXSTOP, e->from, 4);
	default:
		return 0;
	}
}

/* ---- the instructions between branches ---- */

/* How many instructions there are to the next sample; at least 1. */
static uint64_t until_next(struct pt_synth *s, struct period *p)
{
	uint64_t now, masked;

	if (!s->by_ticks)
		return s->period > p->insns ? s->period - p->insns : 1;
	now = p->tsc + p->ticks;
	masked = now & s->mask;
	if (p->is_due) {
		if (masked > p->masked)
			return 1;
	} else {
		now++;
		masked = now & s->mask;
		if (masked > p->masked) {
			p->masked = masked;
			p->is_due = true;
		}
	}
	return masked < p->masked ? s->period : s->period - (now - masked);
}

static void has_sampled(const struct pt_synth *s, struct period *p)
{
	uint64_t masked = (p->tsc + p->ticks) & s->mask;

	p->insns = 0;
	if (s->by_ticks)
		p->masked = masked > p->masked ? masked : p->masked + s->period;
}

static uint64_t address_after(struct pt_synth *s, uint64_t ip, uint64_t n)
{
	while (n-- && ip) {
		uint8_t size = instruction_at(s, ip)->size;

		ip = size ? ip + size : 0;
	}
	return ip;
}

/* How many of the next `n` instructions there are up to a conditional branch, it included. */
static uint64_t through_branch(struct pt_synth *s, uint64_t ip, uint64_t n)
{
	for (uint64_t i = 0; i < n && ip; i++) {
		const struct cached *c = instruction_at(s, ip);

		if (c->size && c->end != PT_END_FALL)
			return i + 1;
		ip = c->size ? ip + c->size : 0;
	}
	return n;
}

/* The next instruction. */
static uint64_t find_ip(struct pt_synth *s, struct queue *q)
{
	q->ip = address_after(s, q->ip, q->ahead);
	q->ahead = 0;
	return q->ip;
}

/*
 * The number of the next `n` instructions that are passed at once. perf decides anew at each
 * branch, taken or not. So the next period may begin at another instruction.
 */
static uint64_t stretch(struct pt_synth *s, struct queue *q, uint64_t n, uint64_t step)
{
	const struct period *p = &q->period;
	uint64_t now = p->tsc + p->ticks;

	if (n < step && now + n + 1 < p->masked + s->period)
		return n;
	return through_branch(s, find_ip(s, q), n);
}

/*
 * The `n` instructions up to this event, or on the way to it; code between two taken branches is
 * in a row. `last`: the address of the last of them, where it is known.
 */
static int pass_some(struct pt_synth *s, const struct pt_event *e, uint64_t n, uint64_t last)
{
	struct queue *q = s->queue;
	struct period *p = &q->period;
	int r = 0;

	while (n && !r) {
		bool was_due = p->is_due;
		uint64_t step = until_next(s, p), ip;
		uint64_t walk = s->by_ticks && !was_due ? stretch(s, q, n, step) : n;
		bool is_due = step <= walk, is_last = step >= n && last;

		step = MIN(step, walk);
		q->insns += step;
		p->insns += step;
		p->ticks += step;
		n -= step;
		if (!is_due) {
			q->ahead += step;
			continue;
		}
		ip = is_last ? last : address_after(s, q->ip, q->ahead + step - 1);
		q->ip = ip ? ip + instruction_at(s, ip)->size : 0;
		q->ahead = 0;
		has_sampled(s, p);
		if (ip)
			r = push_instruction(s, e, ip, is_last);
	}
	return r;
}

/*
 * The number of instructions up to an event. If code and trace do not fit, the branch of a time
 * packet may not have been reached. Then the number is one less.
 */
static uint64_t insns_up_to(const struct queue *q, const struct pt_event *e)
{
	return e->insns > q->insns ? e->insns - q->insns : 0;
}

static int pass_instructions(struct pt_synth *s, const struct pt_event *e, uint64_t last)
{
	return pass_some(s, e, insns_up_to(s->queue, e), last);
}

/* ---- event trace ---- */

static int take_evd(struct pt_synth *s, const struct pt_event *e)
{
	struct queue *q = s->queue;

	if (!q->evds)
		q->evds = xcalloc(PT_SYNTH_EVDS, sizeof(*q->evds));
	if (q->n_evds < PT_SYNTH_EVDS)
		q->evds[q->n_evds++] = (struct evd){ (uint8_t)e->flags, e->to };
	return 0;
}

static int push_cfe(struct pt_synth *s, const struct pt_event *e)
{
	struct queue *q = s->queue;
	uint32_t n = q->n_evds;

	put32(s, 0,
	      (e->flags & 31) | (e->from ? 1 << 7 : 0) | (uint32_t)(e->to & 0xff) << 8 | n << 16);
	for (uint32_t i = 0; i < n; i++) {
		put64(s, 4 + i * (size_t)16, q->evds[i].type);
		put64(s, 12 + i * (size_t)16, q->evds[i].payload);
	}
	q->n_evds = 0;
	return push_synth(s, e, PT_SYNTH_EVT, e->from, 4 + n * (size_t)16);
}

static int push_iflag(struct pt_synth *s, const struct pt_event *e)
{
	struct queue *q = s->queue;
	bool by_branch = e->flags & PT_INTERRUPTS_BY_BRANCH;
	struct event *sample;
	int r = 0;

	if (s->instructions >= 0 && !by_branch)
		r = pass_instructions(s, e, 0);
	q->was_iflag = q->iflag;
	q->iflag = e->flags & PT_INTERRUPTS_ON;
	q->changes_iflag = !(e->flags & PT_INTERRUPTS_STATUS);
	q->iflag_ip = by_branch ? 0 : e->from;
	if (r || !q->changes_iflag || s->synths[PT_SYNTH_IFLAG] < 0 || is_skipped(s))
		return r;
	sample = begin_sample(s, s->synths[PT_SYNTH_IFLAG], e, e->from);
	s->extra.flags = e->flags >> PT_INTERRUPTS_SHIFT | interrupt_flags(s);
	s->extra.addr = e->to;
	put32(s, 0, e->flags & (PT_INTERRUPTS_ON | PT_INTERRUPTS_BY_BRANCH));
	put64(s, 4, e->to);
	s->extra.raw = s->raw;
	s->extra.raw_size = 12;
	q->changes_iflag = by_branch;
	return push(s, sample);
}

static int push_event(struct pt_synth *s, const struct pt_event *e)
{
	switch (e->detail) {
	case PT_EVD:
		return take_evd(s, e);
	case PT_CFE:
		return push_cfe(s, e);
	case PT_MODE_EXEC:
		return push_iflag(s, e);
	default:
		return 0;
	}
}

static int on_branch(struct pt_synth *s, const struct pt_event *e)
{
	struct queue *q = s->queue;
	int r = 0;

	if (s->instructions >= 0)
		r = pass_instructions(s, e, is_asynchronous(e) ? 0 : e->from);
	if (s->with_stacks) {
		struct pt_thread_stack *t = pt_stacks_of(&s->stacks, s->span->tid);

		pt_stack_branch(t, e);
		pt_stack_keep(&s->stacks, t, e);
	}
	if (!r)
		r = push_branch(s, e);
	q->changes_iflag = false;
	q->ip = e->to;
	q->ahead = 0;
	q->insns += insns_up_to(q, e);
	q->tsc = e->tsc;
	q->has_cycles &= e->insns == q->cycles_at;
	q->are_of_psb = false;
	q->period.is_due &= !(e->flags & PT_F_END);
	return r;
}

/* Time goes on, in the middle of a row of instructions. */
static int on_time(struct pt_synth *s, const struct pt_event *e)
{
	struct queue *q = s->queue;
	uint64_t n = insns_up_to(q, e), n_before = e->to > q->insns ? e->to - q->insns : 0;
	uint64_t tsc = e->from ? e->from : e->tsc;
	int r = 0;

	/* The period goes by the time of the packet, wherever its branch may be. */
	if (s->instructions >= 0)
		r = pass_some(s, e, MIN(n, n_before), 0);
	if (!q->is_told_ahead)
		q->period.ticks = 0;
	q->period.tsc = tsc;
	q->is_told_ahead = e->from;
	if (e->from)
		return r;
	if (s->instructions >= 0 && !r)
		r = pass_instructions(s, e, 0);
	else
		q->insns += insns_up_to(q, e);
	q->tsc = e->tsc;
	q->has_cycles = e->cycles != q->cycles;
	q->cycles = e->cycles;
	q->cycles_at = e->insns;
	return r;
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

static int on_error(struct pt_synth *s, const struct pt_event *e)
{
	struct event error = {
		.type = EVENT_TRACE_ERROR,
		.cpu = s->span->cpu,
		.pid = s->span->pid,
		.tid = s->span->tid,
		.time_ns = pt_trace_ns(s->trace, e),
		.trace_error = { loss_of[e->detail], e->from, e->to },
	};
	int r = s->instructions >= 0 ? pass_instructions(s, e, 0) : 0;

	pt_trace_count_error(s->trace, s->span, e);
	s->queue->ip = s->queue->ahead = 0;
	s->queue->period.is_due = false;
	s->queue->insns += insns_up_to(s->queue, e);
	if (s->with_stacks)
		pt_stack_clear(pt_stacks_of(&s->stacks, s->span->tid));
	if (r || !s->itrace.errors || (e->detail == PT_ERR_OVERFLOW && s->itrace.hides_overflows) ||
	    (e->detail == PT_ERR_LOST && s->itrace.hides_losses))
		return r;
	return event_push(s->to, &error);
}

static int on_event(struct pt_synth *s, const struct pt_event *e)
{
	switch ((enum pt_event_kind)e->kind) {
	case PT_EV_BRANCH:
		return on_branch(s, e);
	case PT_EV_TX:
		return push_transaction(s, e);
	case PT_EV_PTWRITE:
		return push_payload(s, e, PT_SYNTH_PTWRITE, e->from, e->from != 0, e->to);
	case PT_EV_CBR:
		return push_cbr(s, e);
	case PT_EV_POWER:
		return push_power(s, e);
	case PT_EV_PSB:
		s->queue->are_of_psb = s->queue->has_cycles;
		return push_payload(s, e, PT_SYNTH_PSB, e->from, 0, e->to);
	case PT_EV_TIME:
		return on_time(s, e);
	case PT_EV_ERROR:
		return on_error(s, e);
	case PT_EV_IP:
		return push_place(s, e);
	case PT_EV_EVENT:
		return push_event(s, e);
	case PT_EV_CONTEXT:
		break;
	case PT_EV_ITEM:
		take_item(s, e);
		break;
	case PT_EV_PEBS:
		return push_pebs(s, e);
	}
	return 0;
}

/* How many branches are taken in a row: up to the next event that is none. */
static size_t n_in_row(const struct pt_synth *s, const struct pt_event *e,
		       const struct pt_event *end)
{
	const struct pt_event *at = e;

	if (!s->branches_to || s->branches < 0 || s->instructions >= 0 || s->with_stacks ||
	    s->branch_filter || s->skip)
		return 0;
	while (at < end && at->kind == PT_EV_BRANCH)
		at++;
	return (size_t)(at - e);
}

/* As on_branch(), without what only instructions, and cycles that are shown, are made of. */
static int push_row(struct pt_synth *s, const struct pt_event *e, size_t n)
{
	struct queue *q = s->queue;

	q->changes_iflag = false;
	q->insns += insns_up_to(q, &e[n - 1]);
	q->tsc = e[n - 1].tsc;
	return s->branches_to(s->branches_context, e, n);
}

static int on_span(struct pt_trace_sink *sink, const struct pt_span *span)
{
	struct pt_synth *s = (struct pt_synth *)sink;
	const struct pt_event *end = span->events + span->n;
	int r = 0;

	s->span = span;
	s->queue = &s->queues[span->queue];
	for (const struct pt_event *e = span->events; e < end && !r;) {
		size_t n = n_in_row(s, e, end);

		r = n ? push_row(s, e, n) : on_event(s, e);
		e += n ? n : 1;
	}
	if (s->log)
		pt_log_span(s->log, s->trace, span);
	return r;
}

void pt_synth_take_branches(struct pt_synth *s,
			    int (*branches)(void *context, const struct pt_event *branches,
					    size_t n),
			    void *context)
{
	s->branches_to = branches;
	s->branches_context = context;
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

void pt_synth_add(struct pt_synth *s, struct event *sample, struct pt_synth_room *room)
{
	struct pt_thread_stack *t;
	uint64_t ip = sample->sample.ip;

	if (!s->itrace.adds_chains && !s->itrace.adds_last_branches)
		return;
	t = pt_stacks_of(&s->stacks, sample->tid);
	if (s->itrace.adds_chains) {
		sample->sample.n_callers =
			pt_stack_callers(t, pt_stack_later_calls(t, ip), room->callers,
					 s->itrace.chain_size - 1);
		sample->sample.callers = room->callers;
		sample->sample.n_kernel = n_of_kernel(room->callers, sample->sample.n_callers);
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
