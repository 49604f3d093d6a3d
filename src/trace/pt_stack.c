/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_stack.h"

#include <assert.h>
#include <string.h>

void pt_stacks_fini(struct pt_stacks *s)
{
	vec_foreach (&s->threads, t) {
		vec_fini(&t->calls);
		free(t->ring);
	}
	vec_fini(&s->threads);
	intmap_fini(&s->by_tid);
}

static uint64_t key_of(int32_t tid, bool is_guest)
{
	return (uint64_t)is_guest << 32 | (uint32_t)tid;
}

struct pt_thread_stack *pt_stacks_find(struct pt_stacks *s, int32_t tid, bool is_guest)
{
	const uint32_t *at = intmap_find(&s->by_tid, key_of(tid, is_guest));

	return at ? &s->threads.data[*at] : NULL;
}

struct pt_thread_stack *pt_stacks_of(struct pt_stacks *s, int32_t tid, bool is_guest)
{
	bool is_new;
	uint32_t *at = intmap_put(&s->by_tid, key_of(tid, is_guest), &is_new);

	if (is_new) {
		*at = (uint32_t)s->threads.n;
		vec_add(&s->threads)->tid = tid;
	}
	return &s->threads.data[*at];
}

static void push(struct pt_thread_stack *t, uint64_t back, bool at_end)
{
	/* Endless recursion without returns: its outer half is given up. */
	if (t->calls.n == PT_STACK_MAX) {
		t->calls.n /= 2;
		memmove(t->calls.data, t->calls.data + t->calls.n,
			t->calls.n * sizeof(*t->calls.data));
	}
	vec_push(&t->calls, ((struct pt_call){ back, at_end }));
}

static void pop_to(struct pt_thread_stack *t, uint64_t back)
{
	for (size_t i = t->calls.n; i-- > 0;) {
		if (t->calls.data[i].back == back) {
			t->calls.n = i;
			return;
		}
	}
}

/* Calls with which the trace ended do not return. */
static void pop_ended(struct pt_thread_stack *t)
{
	while (t->calls.n && t->calls.data[t->calls.n - 1].at_end)
		t->calls.n--;
}

void pt_stack_branch(struct pt_thread_stack *t, const struct pt_event *b)
{
	uint64_t back = b->branch.from + b->branch.insn_size;

	if (b->branch.flags & PT_F_CALL) {
		if (b->branch.from && b->branch.to && b->branch.to != back)
			push(t, back, b->branch.flags & PT_F_END);
	} else if (b->branch.flags & PT_F_BEGIN) {
		pop_to(t, b->branch.to);
		pop_ended(t);
	} else if (b->branch.flags & PT_F_RETURN && b->branch.from) {
		pop_to(t, b->branch.to);
	}
}

void pt_stack_clear(struct pt_thread_stack *t)
{
	t->calls.n = 0;
	t->n_ring = 0;
}

uint32_t pt_stack_callers(const struct pt_thread_stack *t, uint32_t skip, uint64_t *out,
			  uint32_t max)
{
	size_t left = t->calls.n - MIN(t->calls.n, (size_t)skip);
	uint32_t n = (uint32_t)MIN(left, (size_t)max);

	for (uint32_t i = 0; i < n; i++)
		out[i] = t->calls.data[left - 1 - i].back;
	return n;
}

uint32_t pt_stack_later_calls(const struct pt_thread_stack *t, uint64_t ip)
{
	uint32_t n = 0;

	for (; n < t->calls.n; n++) {
		uint64_t back = t->calls.data[t->calls.n - 1 - n].back;

		if (!(back >> 63) || back == ip)
			break;
	}
	return n;
}

void pt_stack_keep(const struct pt_stacks *s, struct pt_thread_stack *t, const struct pt_event *b)
{
	uint64_t flags = 0;

	if (!s->ring_size)
		return;
	if (!t->ring)
		t->ring = xcalloc(s->ring_size, sizeof(*t->ring));
	/* As the branch records of hardware have them: bit 2 in a transaction, bit 3 aborted. */
	flags |= b->branch.flags & PT_F_IN_TX ? 4 : 0;
	flags |= b->branch.flags & PT_F_TX_ABORT ? 8 : 0;
	t->ring[t->ring_at] = (struct branch){ b->branch.from, b->branch.to, flags };
	t->ring_at = (t->ring_at + 1) % s->ring_size;
	t->n_ring = MIN(t->n_ring + 1, s->ring_size);
}

static const struct branch *last_branch(const struct pt_stacks *s, const struct pt_thread_stack *t,
					uint32_t i)
{
	assert(i < t->n_ring);
	return &t->ring[(t->ring_at + s->ring_size - 1 - i) % s->ring_size];
}

uint32_t pt_stack_later_branches(const struct pt_stacks *s, const struct pt_thread_stack *t,
				 uint64_t ip)
{
	uint32_t n = 0;

	for (; n < t->n_ring; n++) {
		uint64_t to = last_branch(s, t, n)->to;

		if (to && to >> 63 == ip >> 63)
			break;
	}
	return n;
}

uint32_t pt_stack_branches(const struct pt_stacks *s, struct pt_thread_stack *t, uint32_t skip,
			   struct branch *out, uint32_t max, bool clear)
{
	uint32_t n = MIN(t->n_ring - MIN(t->n_ring, skip), max);

	for (uint32_t i = 0; i < n; i++)
		out[i] = *last_branch(s, t, skip + i);
	if (clear)
		t->n_ring = 0;
	return n;
}
