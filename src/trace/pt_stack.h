/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack of calls of each thread, and its last branches, from the branches of a trace.
 *
 * A return can leave several calls at once (longjmp). It pops them down to the call with its target
 * as return address. If there is no such call, it pops nothing. These are perf's rules.
 */
#pragma once

#include "base/intmap.h"
#include "base/mem.h"
#include "event/event.h"
#include "pt/event.h"

enum { PT_STACK_MAX = 1 << 16 };

struct pt_call {
	uint64_t back; /* where it returns to */
	bool at_end;   /* the trace ended with this call */
};

struct pt_thread_stack {
	int32_t tid;
	VEC(struct pt_call) calls;
	struct branch *ring; /* last branches: `ring_size` of them */
	uint32_t ring_at, n_ring;
};

struct pt_stacks {
	VEC(struct pt_thread_stack) threads;
	struct intmap by_tid;
	uint32_t ring_size; /* 0: no last branches */
};

void pt_stacks_fini(struct pt_stacks *s);

/* A guest that a thread runs has a stack of its own. Valid until the next call. pt_stacks_find():
 * NULL: no branch of the thread was seen. */
struct pt_thread_stack *pt_stacks_of(struct pt_stacks *s, int32_t tid, bool is_guest);
struct pt_thread_stack *pt_stacks_find(struct pt_stacks *s, int32_t tid, bool is_guest);

void pt_stack_branch(struct pt_thread_stack *t, const struct pt_event *branch);

/* Forgets all calls: from now on, the callers are not known. */
void pt_stack_clear(struct pt_thread_stack *t);

/* The innermost callers' return addresses without the first `skip`, up to `max`. Returns their
 * number. */
uint32_t pt_stack_callers(const struct pt_thread_stack *t, uint32_t skip, uint64_t *out,
			  uint32_t max);

/* The last branches without `skip`, the newest first. With `clear`, forgets all. */
uint32_t pt_stack_branches(const struct pt_stacks *s, struct pt_thread_stack *t, uint32_t skip,
			   struct branch *out, uint32_t max, bool clear);

/*
 * The numbers of calls and of last branches that are later than the sample at `ip`. The trace goes
 * on in the kernel until the sample's interrupt stops it.
 */
uint32_t pt_stack_later_calls(const struct pt_thread_stack *t, uint64_t ip);
uint32_t pt_stack_later_branches(const struct pt_stacks *s, const struct pt_thread_stack *t,
				 uint64_t ip);

/* Keeps a branch as one of the last. */
void pt_stack_keep(const struct pt_stacks *s, struct pt_thread_stack *t,
		   const struct pt_event *branch);
