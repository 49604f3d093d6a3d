/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/call_stack.h"

#include <assert.h>

#include "pt/code.h"

enum {
	MAX_DEPTH = 1 << 16,
	MAX_TAILS = 64, /* functions that go on in each other's place */
};

void call_stacks_fini(struct call_stacks *s)
{
	vec_foreach (&s->threads, t)
		vec_fini(&t->calls);
	vec_fini(&s->threads);
	intmap_fini(&s->by_tid);
}

static struct call_thread *thread_of(struct call_stacks *s, const struct call_branch *b)
{
	struct call_thread *t = s->last < s->threads.n ? &s->threads.data[s->last] : NULL;
	uint64_t key = (uint64_t)b->is_guest << 32 | (uint32_t)b->tid;
	bool is_new;
	uint32_t *at;

	if (t && t->tid == b->tid && t->pid == b->pid && t->is_guest == b->is_guest)
		return t;
	at = intmap_put(&s->by_tid, key, &is_new);
	if (is_new) {
		*at = (uint32_t)s->threads.n;
		vec_add(&s->threads);
	}
	s->last = *at;
	t = &s->threads.data[*at];
	t->pid = b->pid;
	t->tid = b->tid;
	t->is_guest = b->is_guest;
	return t;
}

static struct open_call *innermost(struct call_thread *t)
{
	return t->calls.n ? &t->calls.data[t->calls.n - 1] : NULL;
}

/* The innermost `n` calls are over. */
static void leave(struct call_stacks *s, struct call_thread *t, size_t n, uint32_t flags)
{
	assert(n <= t->calls.n);
	for (; n; n--) {
		struct open_call *call = innermost(t);

		call->flags |= flags;
		if (s->over)
			s->over(s->context, t, call, t->calls.n > 1 ? call - 1 : NULL);
		t->calls.n--;
	}
}

static void enter(struct call_stacks *s, struct call_thread *t, const struct call_branch *b,
		  uint64_t back, uint32_t flags)
{
	struct open_call call = {
		.id = ++s->n_calls,
		.from = b->from,
		.entry = b->to,
		.back = back,
		.start_ns = b->time_ns,
		.insns = t->insns,
		.cycles = t->cycles,
		.branches = t->branches,
		.flags = flags,
	};

	/* Endless recursion: what called it all will not be seen to return. */
	if (t->calls.n == MAX_DEPTH)
		leave(s, t, t->calls.n, CALL_CUT);
	if (s->called)
		s->called(s->context, t, &call, innermost(t));
	vec_push(&t->calls, call);
}

/* How many calls are inside of the one that returns to an address, with it; 0: none does. */
static size_t find_back(const struct call_thread *t, uint64_t to, size_t *n_inner)
{
	for (size_t i = t->calls.n; i-- > 0;) {
		if (t->calls.data[i].back != to || t->calls.data[i].flags & CALL_NO_CALL)
			continue;
		*n_inner = t->calls.n - 1 - i;
		/* What went on in its place returns with it. */
		while (i > 0 && t->calls.data[i].flags & CALL_TAIL)
			i--;
		return t->calls.n - i;
	}
	return 0;
}

static bool return_to(struct call_stacks *s, struct call_thread *t, uint64_t to)
{
	size_t n_inner = 0, n = find_back(t, to, &n_inner);

	if (!n)
		return false;
	leave(s, t, n_inner, CALL_UNRETURNED);
	leave(s, t, n - n_inner, 0);
	return true;
}

/* All that is known is that a function runs there. */
static void begin_anew(struct call_stacks *s, struct call_thread *t, const struct call_branch *b)
{
	leave(s, t, t->calls.n, 0); /* of them it is known that they have no caller here */
	enter(s, t, b, 0, CALL_NO_CALL);
}

static void on_begin(struct call_stacks *s, struct call_thread *t, const struct call_branch *b)
{
	uint64_t resume = t->resume;

	t->resume = 0;
	if (!t->calls.n)
		begin_anew(s, t, b);
	else if (b->to != resume && !return_to(s, t, b->to))
		enter(s, t, b, resume, CALL_BY_KERNEL);
}

static bool is_plain_jump(const struct call_branch *b)
{
	const uint32_t others = PT_F_CALL | PT_F_RETURN | PT_F_COND | PT_F_ASYNC | PT_F_BEGIN |
				PT_F_END | PT_F_TX_ABORT;

	return b->insn_size && !(b->flags & others);
}

static bool may_go_on_in_place(const struct call_thread *t)
{
	size_t n = 0;

	while (n < t->calls.n && t->calls.data[t->calls.n - 1 - n].flags & CALL_TAIL)
		n++;
	return n < MAX_TAILS;
}

static void on_jump(struct call_stacks *s, struct call_thread *t, const struct call_branch *b)
{
	const struct open_call *now = innermost(t);

	if (s->find_entry && may_go_on_in_place(t) &&
	    s->find_entry(s->context, t, b->to, now->function))
		enter(s, t, b, now->back, CALL_TAIL | (now->flags & CALL_NO_CALL));
}

/* Of a return that no call is known of. */
static void on_lone_return(struct call_stacks *s, struct call_thread *t,
			   const struct call_branch *b)
{
	if (innermost(t)->flags & CALL_NO_CALL)
		begin_anew(s, t, b);
}

void call_stacks_branch(struct call_stacks *s, const struct call_branch *b)
{
	struct call_thread *t = thread_of(s, b);
	uint64_t back = b->from + b->insn_size;

	t->branches++;
	t->insns += b->insns;
	t->cycles += b->cycles;
	t->last_ns = b->time_ns;
	if (b->flags & PT_F_BEGIN) {
		on_begin(s, t, b);
		return;
	}
	/* Between machines, a branch has one address: each goes on where it was. */
	if (!b->from && t->calls.n)
		return;
	if (!t->calls.n) {
		struct call_branch first = *b;

		first.to = b->from ? b->from : b->to;
		begin_anew(s, t, &first);
	}
	if (b->flags & PT_F_END)
		t->resume = back;
	if (!b->to || !b->from)
		return;
	if (b->flags & PT_F_CALL) {
		/* A call to the next instruction gets the address alone. */
		if (b->to != back)
			enter(s, t, b, back,
			      b->flags & (PT_F_SYSTEM | PT_F_INTERRUPT) ? CALL_BY_KERNEL : 0);
	} else if (b->flags & PT_F_RETURN) {
		if (!return_to(s, t, b->to))
			on_lone_return(s, t, b);
	} else if (is_plain_jump(b)) {
		on_jump(s, t, b);
	}
}

void call_stacks_cut(struct call_stacks *s, int32_t tid, uint64_t time_ns)
{
	vec_foreach (&s->threads, t) {
		if (tid != -1 && t->tid != tid)
			continue;
		if (time_ns > t->last_ns)
			t->last_ns = time_ns;
		leave(s, t, t->calls.n, CALL_CUT);
		t->resume = 0;
	}
}

void call_stacks_end(struct call_stacks *s)
{
	vec_foreach (&s->threads, t)
		leave(s, t, t->calls.n, CALL_OPEN);
}
