/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One sample of a trace, and what all samples have. */
#pragma once

#include "event/event.h"
#include "trace/pt_synth_state.h"

/* The instruction at an address, in the code of the span at hand. */
const struct synth_insn *synth_instruction_at(struct pt_synth *s, uint64_t addr);

/* The stack of the span at hand. */
struct pt_thread_stack *synth_stack(struct pt_synth *s);

/* The mode of an address in the span at hand. */
enum cpu_mode synth_mode(const struct pt_synth *s, uint64_t ip);

/* The first events may be wanted left out. */
bool synth_skip(struct pt_synth *s);

/* How the interrupt flag is; of the branch that changes it, how it was before. */
uint32_t synth_interrupt_flags(const struct pt_synth *s);

/*
 * In place: each branch may be a sample, and of the extras only what is ever set is cleared.
 * `flags`: enum pt_flags, without those of the interrupt flag.
 */
struct event *synth_begin_sample(struct pt_synth *s, int32_t counter, uint64_t tsc, uint64_t ip,
				 uint32_t flags);

void synth_add_bytes(struct pt_synth *s, uint64_t ip, uint8_t size);

void synth_add_stack(struct pt_synth *s, struct event *sample);

/* How many of the callers, from the innermost on, are the kernel's. */
uint32_t synth_n_of_kernel(const uint64_t *callers, uint32_t n);

/*
 * Instructions and cycles since the last sample of the kind that had any. Cycles are known only at
 * the packets that have them: for the instruction behind `cycles_at`, or after a PSB for the next
 * branch.
 */
void synth_add_ipc(struct pt_synth *s, struct synth_counts *last, uint64_t insns);

int synth_push(struct pt_synth *s, const struct event *sample);
