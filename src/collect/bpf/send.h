/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends a captured stack to the reader: its frames, or raw. The including file has stack.h. */
#pragma once

#include "collect/bpf/shared.h"
#include "collect/bpf/work.h"

/* The end of the mapping with the stack: other memory may follow at once. */
static __always_inline __u64 stack_end(struct work *w, __u64 sp)
{
	struct vm_area_struct *vma = find_vma(w->mm, sp, w->pivots);
	__u64 end = vma ? BPF_CORE_READ(vma, vm_end) : 0;

	return end > sp ? end : ~0ULL;
}

/* The readable pages of the stack, from the stack pointer's page on. */
static __always_inline __u32 copy_stack(struct raw_stack_message *m, __u64 sp, __u64 end)
{
	__u64 page = sp & ~(RAW_STACK_PAGE - 1ULL);
	__u32 n = 0;

	for (; n < RAW_PAGES && page + n * RAW_STACK_PAGE < end; n++)
		if (bpf_probe_read_user(m->stack[n], RAW_STACK_PAGE,
					(const void *)(page + n * RAW_STACK_PAGE)))
			break;
	return n;
}

/* Copies fill one of so many parts of the ring without a wake-up. */
#define COPIES_WAIT 16

/* The reader walks the stack for its code of Java or JavaScript. */
static __always_inline bool is_copy(const struct work *w)
{
	return w->wants_copy || w->java.same_as;
}

/* Copies come as long as Java or JavaScript runs; other raw stacks, until a table is there. */
static __always_inline __u64 wakeup_for(const struct work *w)
{
	if (is_copy(w) && !w->wants_table &&
	    bpf_ringbuf_query(&messages, BPF_RB_AVAIL_DATA) * COPIES_WAIT <
		    bpf_ringbuf_query(&messages, BPF_RB_RING_SIZE))
		return BPF_RB_NO_WAKEUP;
	return BPF_RB_FORCE_WAKEUP;
}

/*
 * Sends the registers and the stack instead of the frames. True: w->s.hash is now theirs. The
 * reader is woken, because such stacks come until it has added the table.
 */
__attribute__((noinline)) int send_raw_stack(__u32 slot)
{
	struct raw_stack_message *m = bpf_map_lookup_elem(&raw_works, &slot);
	struct work *w = own_work(slot);
	__u64 id = own_pid_tgid();
	__u64 size, sp;

	/* raw stacks are large: they may use half of the ring, so that others find room */
	if (!w || !m ||
	    bpf_ringbuf_query(&messages, BPF_RB_AVAIL_DATA) * (slot == SLOT_SAMPLE ? 2 : 4) +
			    sizeof(*m) >
		    bpf_ringbuf_query(&messages, BPF_RB_RING_SIZE))
		return 0;
	m->type = MESSAGE_RAW_STACK;
	m->n_kernel = w->s.n_kernel;
	m->pid = id >> 32;
	m->tid = (__u32)id;
	m->wants = w->wants_table ? w->wanted : WANTS_NONE;
	m->is_copy = is_copy(w);
	m->same_as = w->java.same_as;
	/* a wait is counted at once if its stack is copied (off_cpu.h) */
	m->is_for_later = slot >= FIRST_SLOT_FOR_LATER && !is_copy(w);
	m->is_wait = slot == SLOT_SWITCH;
	m->is_i386 = is_i386_mode(w->registers[MODE_WORD]);
	m->time_ns = bpf_ktime_get_ns();
	m->process = is_copy(w) ? w->java.process : 0;
	m->hash = mix(mix(m->time_ns, bpf_get_smp_processor_id()), id);
	__builtin_memset(m->regs, 0, sizeof(m->regs));
	for (int i = 0; i < N_USER_REGS; i++)
		m->regs[i] = w->registers[bounded(word_of_register[i], REGISTER_SLOTS - 1)];
	__builtin_memcpy(m->kernel, w->s.frames, sizeof(m->kernel));
	sp = first_registers(w->registers).sp;
	m->n_pages = copy_stack(m, sp, stack_end(w, sp));
	size = offsetof(struct raw_stack_message, stack) + (__u64)m->n_pages * RAW_STACK_PAGE;
	if (size > sizeof(*m) || bpf_ringbuf_output(&messages, m, size, wakeup_for(w)))
		return 0;
	w->s.hash = m->hash;
	return 1;
}

static __always_inline void count_stop(const struct work *w)
{
	if (w->met_full)
		lose(SAMPLER_TABLES_FULL);
	if (w->is_guessed)
		lose(SAMPLER_GUESSED);
	if (w->wants_table || w->wants_copy)
		lose(SAMPLER_RAW_DROPPED);
	else if (w->stop != UNWIND_GOES_ON && w->stop != UNWIND_END)
		lose(N_SAMPLER_LOSSES + w->stop);
}

static __always_inline void send_to_compare(__u32 slot, struct work *w)
{
	w->java.same_as = w->s.hash;
	send_raw_stack(slot);
	w->s.hash = w->java.same_as;
	w->java.same_as = 0;
}

/* Sends a new stack. False: no room, so its sample can't be counted. */
static __always_inline bool send_stack(__u32 slot, struct work *w)
{
	__u64 size = (__u64)(w->s.n_kernel + w->s.n_user) * 8;

	if ((w->wants_table || w->wants_copy) && send_raw_stack(slot))
		return true;
	if (compares_java && w->java.is_met && !w->wants_copy)
		send_to_compare(slot, w);
	count_stop(w);
	if (bpf_map_lookup_elem(&seen, &w->s.hash))
		return true;
	w->lang.has_unsent_code = 0;
	if (w->lang.runtime.language)
		send_codes(slot, w);
	if (size > sizeof(w->s.frames) ||
	    bpf_ringbuf_output(&messages, &w->s, offsetof(struct stack_message, frames) + size,
			       BPF_RB_NO_WAKEUP)) {
		lose(slot == SLOT_WAKE ? SAMPLER_WAKERS_LOST : SAMPLER_STACK_DROPPED);
		return false;
	}
	if (!w->lang.has_unsent_code) /* if not, its functions are sent with the next sample */
		remember_key(&seen, &w->s.hash);
	return true;
}
