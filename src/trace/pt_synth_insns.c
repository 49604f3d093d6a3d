/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_synth_insns.h"

#include "trace/pt_synth_sample.h"

/* The same of an instruction: it may be the one that changes it. */
static uint32_t synth_flags_of_instruction(struct pt_synth *s, uint64_t ip)
{
	struct synth_queue *q = s->queue;
	uint32_t flags;

	q->changes_iflag = q->iflag_ip && q->iflag_ip == ip;
	flags = synth_interrupt_flags(s);
	q->changes_iflag = false;
	q->iflag_ip = 0;
	return flags;
}

/* What the instruction may do, done or not: of a conditional branch that is not taken, too. */
static uint32_t synth_flags_at(struct pt_synth *s, uint64_t ip)
{
	const struct synth_insn *c = synth_instruction_at(s, ip);

	return c->size && c->end != PT_END_FALL ? pt_end_flags[c->end] : 0;
}

static int synth_push_instruction(struct pt_synth *s, const struct pt_event *e, uint64_t ip,
				  bool is_branch)
{
	struct synth_queue *q = s->queue;
	struct event *sample;
	uint64_t n = q->insns - q->sampled_insns;
	uint32_t flags = e->kind == PT_EV_BRANCH ? e->branch.flags : 0;

	if (s->instructions < 0 || synth_skip(s))
		return 0;
	q->sampled_insns = q->insns;
	sample = synth_begin_sample(s, s->instructions, is_branch ? e->tsc : q->tsc, ip, flags);
	sample->sample.period = n;
	if (!is_branch)
		s->extra.flags = synth_flags_at(s, ip) | (flags & PT_F_IN_TX) |
				 synth_flags_of_instruction(s, ip);
	else
		s->extra.addr = e->branch.to;
	synth_add_bytes(s, ip, synth_instruction_at(s, ip)->size);
	synth_add_ipc(s, &q->last_insn, q->insns);
	synth_add_stack(s, sample);
	return synth_push(s, sample);
}

/* At the same instructions: the cycles since the last such sample, if they are known there. */
static int synth_push_cycles(struct pt_synth *s, const struct pt_event *e, uint64_t ip,
			     bool is_branch)
{
	struct synth_queue *q = s->queue;
	uint32_t flags = e->kind == PT_EV_BRANCH && is_branch ? e->branch.flags : 0;
	struct event *sample;

	if (s->cycles < 0)
		return 0;
	sample = synth_begin_sample(s, s->cycles, is_branch ? e->tsc : q->tsc, ip, flags);
	synth_add_ipc(s, &q->last_cycles, q->insns);
	if (!s->extra.cycles || synth_skip(s))
		return 0;
	sample->sample.period = s->extra.cycles;
	synth_add_stack(s, sample);
	return synth_push(s, sample);
}

/* How many instructions there are to the next sample; at least 1. */
static uint64_t synth_until_next(struct pt_synth *s, struct synth_period *p)
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

void synth_catch_up(const struct pt_synth *s, struct synth_period *p)
{
	uint64_t masked = (p->tsc + p->ticks) & s->mask;

	if (p->is_due || masked <= p->masked)
		return;
	p->masked = masked;
	p->is_due = true;
}

static void synth_begin_period(const struct pt_synth *s, struct synth_period *p)
{
	uint64_t masked = (p->tsc + p->ticks) & s->mask;

	p->insns = 0;
	if (s->by_ticks)
		p->masked = masked > p->masked ? masked : p->masked + s->period;
}

static uint64_t synth_address_after(struct pt_synth *s, uint64_t ip, uint64_t n)
{
	while (n-- && ip) {
		uint8_t size = synth_instruction_at(s, ip)->size;

		ip = size ? ip + size : 0;
	}
	return ip;
}

/* How many of the next `n` instructions there are up to a conditional branch, it included. */
static uint64_t synth_through_branch(struct pt_synth *s, uint64_t ip, uint64_t n)
{
	for (uint64_t i = 0; i < n && ip; i++) {
		const struct synth_insn *c = synth_instruction_at(s, ip);

		if (c->size && c->end != PT_END_FALL)
			return i + 1;
		ip = c->size ? ip + c->size : 0;
	}
	return n;
}

/* The next instruction. */
static uint64_t synth_find_ip(struct pt_synth *s, struct synth_queue *q)
{
	q->ip = synth_address_after(s, q->ip, q->ahead);
	q->ahead = 0;
	return q->ip;
}

/*
 * The number of the next `n` instructions that are passed at once. perf decides anew at each
 * branch, taken or not. So the next period may begin at another instruction.
 */
static uint64_t synth_stretch(struct pt_synth *s, struct synth_queue *q, uint64_t n, uint64_t step)
{
	const struct synth_period *p = &q->period;
	uint64_t now = p->tsc + p->ticks;

	if (n < step && now + n + 1 < p->masked + s->period)
		return n;
	return synth_through_branch(s, synth_find_ip(s, q), n);
}

/*
 * The `n` instructions up to this event, or on the way to it; code between two taken branches is
 * in a row. `last`: the address of the last of them, where it is known.
 */
int synth_pass_some(struct pt_synth *s, const struct pt_event *e, uint64_t n, uint64_t last)
{
	struct synth_queue *q = s->queue;
	struct synth_period *p = &q->period;
	int r = 0;

	while (n && !r) {
		bool was_due = p->is_due;
		uint64_t step = synth_until_next(s, p), ip;
		uint64_t walk = s->by_ticks && !was_due ? synth_stretch(s, q, n, step) : n;
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
		ip = is_last ? last : synth_address_after(s, q->ip, q->ahead + step - 1);
		q->ip = ip ? ip + synth_instruction_at(s, ip)->size : 0;
		q->ahead = 0;
		synth_begin_period(s, p);
		if (ip)
			r = synth_push_instruction(s, e, ip, is_last);
		if (ip && !r)
			r = synth_push_cycles(s, e, ip, is_last);
	}
	return r;
}

uint64_t synth_insns_up_to(const struct synth_queue *q, const struct pt_event *e)
{
	return e->insns > q->insns ? e->insns - q->insns : 0;
}

int synth_pass_instructions(struct pt_synth *s, const struct pt_event *e, uint64_t last)
{
	return synth_pass_some(s, e, synth_insns_up_to(s->queue, e), last);
}
