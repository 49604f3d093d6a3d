/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_synth_sample.h"

#include <string.h>

#include "event/guest_task.h"

const struct synth_insn *synth_instruction_at(struct pt_synth *s, uint64_t addr)
{
	uint64_t space = pt_trace_space(s->trace, s->span->queue);
	struct synth_insn *c = &s->cached[hash_u64(addr) % N_CACHED];
	uint8_t width = s->queue->width;

	if (c->addr != addr || c->space != space || c->width != width || !c->size) {
		struct pt_insn insn = { .end = PT_END_FALL };
		size_t n = pt_trace_code(s->trace, s->span->queue, addr, true, c->bytes,
					 sizeof(c->bytes));
		uint8_t known[PT_INSN_MAX];

		c->addr = addr;
		c->space = space;
		c->width = width;
		pt_insn_read(width, c->bytes, n, &insn);
		c->size = insn.size;
		c->end = insn.end;
		c->is_known = !(addr >> 63) || pt_trace_code(s->trace, s->span->queue, addr, false,
							     known, insn.size) == insn.size;
	}
	return c;
}

bool synth_skip(struct pt_synth *s)
{
	if (!s->skip)
		return false;
	s->skip--;
	return true;
}

uint32_t synth_interrupt_flags(const struct pt_synth *s)
{
	const struct synth_queue *q = s->queue;
	uint32_t change = q->was_iflag != q->iflag ? PT_F_INTERRUPTS_CHANGE : 0;

	if (!s->has_event_trace)
		return 0;
	if (q->changes_iflag)
		return (q->was_iflag ? 0 : PT_F_INTERRUPTS_OFF) | change;
	return q->iflag ? 0 : PT_F_INTERRUPTS_OFF;
}

struct pt_thread_stack *synth_stack(struct pt_synth *s)
{
	const struct pt_span *span = s->span;

	return pt_stacks_of(&s->stacks,
			    span->machine_pid ? guest_task(span->machine_pid, span->guest_tid)
					      : span->tid,
			    span->is_guest);
}

enum cpu_mode synth_mode(const struct pt_synth *s, uint64_t ip)
{
	return pt_mode_of(s->span->is_guest, ip);
}

struct event *synth_begin_sample(struct pt_synth *s, int32_t counter, uint64_t tsc, uint64_t ip,
				 uint32_t flags)
{
	struct event *sample = &s->sample;

	sample->cpu = s->span->cpu;
	sample->pid = s->span->machine_pid ? s->span->guest_pid : s->span->pid;
	sample->tid = s->span->machine_pid ? s->span->guest_tid : s->span->tid;
	s->extra.machine_pid = s->span->machine_pid;
	s->extra.vcpu = s->span->vcpu;
	sample->time_ns = pt_trace_ns(s->trace, tsc);
	sample->sample.counter = (uint32_t)counter;
	sample->sample.mode = synth_mode(s, ip);
	sample->sample.ip = ip;
	sample->sample.period = 1;
	sample->sample.callers = NULL;
	sample->sample.n_callers = sample->sample.n_kernel = 0;
	s->extra.flags = flags | synth_interrupt_flags(s);
	s->extra.addr = s->extra.insns = s->extra.cycles = 0;
	s->extra.raw = NULL;
	s->extra.branches = NULL;
	s->extra.raw_size = s->extra.n_branches = s->extra.depth = 0;
	s->extra.insn_size = s->extra.insn_width = 0;
	return sample;
}

void synth_add_bytes(struct pt_synth *s, uint64_t ip, uint8_t size)
{
	const struct synth_insn *c;

	s->extra.insn_size = size;
	if (!s->itrace.with_bytes || !ip)
		return;
	c = synth_instruction_at(s, ip);
	s->extra.insn_size = c->is_known ? c->size : 0;
	s->extra.insn_width = c->size ? s->queue->width : 0;
	memcpy(s->extra.insn, c->bytes, MIN(s->extra.insn_size, PT_INSN_MAX));
}

uint32_t synth_n_of_kernel(const uint64_t *callers, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && callers[i] >> 63)
		i++;
	return i;
}

void synth_add_stack(struct pt_synth *s, struct event *sample)
{
	struct pt_thread_stack *t;

	if (!s->itrace.chains && !s->itrace.last_branches)
		return;
	t = synth_stack(s);
	if (s->itrace.chains) {
		sample->sample.n_callers =
			pt_stack_callers(t, 0, s->callers, s->itrace.chain_size - 1);
		sample->sample.callers = s->callers;
		sample->sample.n_kernel = synth_n_of_kernel(s->callers, sample->sample.n_callers);
	}
	if (s->itrace.last_branches) {
		s->extra.n_branches =
			pt_stack_branches(&s->stacks, t, 0, s->last, s->itrace.branch_size, true);
		s->extra.branches = s->last;
	}
}

void synth_add_ipc(struct pt_synth *s, struct synth_counts *last, uint64_t insns)
{
	const struct synth_queue *q = s->queue;

	/* An asynchronous branch is no instruction. Its cycles must be known exactly there. */
	uint64_t n_told = s->extra.flags & PT_F_ASYNC ? 0 : 1;

	if (!q->has_cycles || q->cycles == last->cycles ||
	    (insns - q->cycles_at > n_told && !q->are_of_psb))
		return;
	s->extra.insns = insns - last->insns;
	s->extra.cycles = q->cycles - last->cycles;
	*last = (struct synth_counts){ insns, q->cycles };
}

int synth_push(struct pt_synth *s, const struct event *sample)
{
	return event_push(s->to, sample);
}
