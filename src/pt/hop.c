/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/hop.h"

#include <assert.h>
#include <string.h>

#include "base/intmap.h"
#include "pt/packet.h"
#include "pt/path.h"

enum {
	HOPS_LOG2_MAX = 19, /* of the table: where there are more, all are forgotten */
	MAX_VARIANTS = 4,
	SHORT_TNT = 0xffffff, /* directions of up to three bytes come again, most likely */
};

/* The slot of a hop, or the empty one where it belongs. */
static struct pt_hop *hop_find(const struct pt_code *code, uint64_t addr, uint64_t tnt,
			       uint16_t variant)
{
	uint64_t slot = pt_hop_hash(addr, tnt, variant) >> (64 - code->hops_table.log2);
	uint64_t mask = (1ULL << code->hops_table.log2) - 1;

	for (;; slot = (slot + 1) & mask) {
		struct pt_hop *hop = &code->hops[slot];

		if (!hop->addr || pt_is_hop(hop, addr, tnt, variant))
			return hop;
	}
}

static void hops_grow(struct pt_code *code)
{
	struct pt_hop *old = code->hops, *end = old + (1ULL << code->hops_table.log2);
	void *memory = code->hops_table.memory;
	uint32_t n = code->n_hops;

	pt_code_grow_hops(code);
	for (struct pt_hop *hop = old; hop < end; hop++)
		if (hop->addr)
			*hop_find(code, hop->addr, hop->tnt, hop->variant) = *hop;
	code->n_hops = n;
	free(memory);
}

static void make_room(struct pt_code *code)
{
	/* A hop is a cache line: room costs no more of these, and saves looking at two. */
	if (code->n_hops >> (code->hops_table.log2 - 2) == 0)
		return;
	if (code->hops_table.log2 < HOPS_LOG2_MAX) {
		hops_grow(code);
	} else {
		memset(code->hops, 0, sizeof(struct pt_hop) << code->hops_table.log2);
		code->n_hops = 0;
		code->marks.n = code->callers.n = 0;
	}
}

/* The directions of TNT bytes; false when there is something else among them. */
static bool read_directions(uint64_t tnt, struct pt_path *p)
{
	for (; tnt; tnt >>= 8) {
		uint8_t byte = (uint8_t)tnt;
		unsigned int n;

		if (!pt_is_short_tnt(byte))
			return false;
		n = 30 - (unsigned int)__builtin_clz(byte);
		p->bits |= (uint64_t)byte << (63 - n) >> p->n;
		p->n += n;
	}
	return true;
}

/* Behind a direction, and at the branch of the next. */
static void begin_mark(struct pt_path *p)
{
	vec_push(&p->code->marks,
		 ((struct pt_mark){ .node = p->node, .insns = p->insns, .op = (uint8_t)p->n_ops }));
}

static void end_mark(struct pt_path *p)
{
	struct pt_mark *mark = &p->code->marks.data[p->code->marks.n - 1];
	uint32_t n_insns = pt_node(p->code, p->node)->n_insns;

	mark->insns_ahead = p->insns + n_insns - 1;
	mark->op_ahead = (uint8_t)p->n_ops;
}

/* To the branch that the second TIP is for. */
static void go_to_tip(struct pt_path *p)
{
	begin_mark(p);
	for (unsigned int steps = 0; steps < PT_PATH_STEPS; steps++) {
		bool was_direct = pt_end_is_direct(pt_node(p->code, p->node)->end);

		if (!was_direct)
			end_mark(p);
		if (!pt_path_step(p))
			return;
		if (was_direct)
			p->code->marks.data[p->code->marks.n - 1].has_direct = true;
		else
			begin_mark(p);
	}
}

/* Over the branch that the second TIP is for. False: it is none of that kind. */
static bool pass_tip(struct pt_path *p, struct pt_hop *hop)
{
	const struct pt_node *node = pt_node(p->code, p->node);
	uint32_t next = 0;

	if (p->n || node->end < PT_END_RETURN || node->end == PT_END_UNREADABLE)
		return false;
	hop->insns = p->insns + node->n_insns;
	hop->is_return = node->end == PT_END_RETURN;
	if (node->end == PT_END_CALL_INDIRECT) {
		if (p->n_calls == PT_PATH_OPS)
			return false;
		next = pt_code_next(p->code, p->node);
		p->calls[p->n_calls++] = next;
		p->max_calls = MAX(p->max_calls, p->n_calls);
	}
	hop->tells_tip = pt_path_tells(p, 0);
	return !hop->tells_tip || pt_path_add(p, 0, next);
}

/* Sets the entries that the hop pops off the return stack, and those that it pushes. */
static void set_returns(const struct pt_path *p, struct pt_hop *hop)
{
	for (unsigned int i = 0; i < p->n_before; i++) {
		uint32_t node = pt_return_at(p->before, p->code, i);

		if (i < PT_WALK_RETURNS)
			hop->returns[PT_WALK_RETURNS - 1 - i] = node;
		else
			vec_push(&p->code->callers, node);
	}
	for (unsigned int i = 0; i < p->n_calls; i++) {
		if (i < PT_WALK_PUSHES)
			hop->pushes[i] = p->calls[i];
		if (p->n_calls > PT_WALK_PUSHES)
			vec_push(&p->code->callers, p->calls[i]);
	}
	hop->n_returns = (uint8_t)p->n_before;
	hop->n_pushes = (uint8_t)p->n_calls;
	hop->room = (uint8_t)(PT_STACK - p->n_before - p->max_calls);
}

/* Whether a path may be memoised: the addresses that it is watched for are looked at one by one. */
static bool is_watched(const struct pt_path *p)
{
	const struct pt_op *op = &p->code->ops.data[p->first_op], *end = op + p->n_ops;

	for (; op < end; op++)
		if (pt_told(p->code, op)->branch.to == p->code->watched)
			return true;
	return false;
}

static bool set_hop(struct pt_code *code, struct pt_hop *hop, struct pt_returns *returns)
{
	struct pt_path p = { .code = code,
			     .node = pt_code_at(code, hop->addr),
			     .first_op = hop->ops,
			     .before = returns,
			     .max_before = PT_STACK };

	if (!read_directions(hop->tnt, &p))
		return false;
	go_to_tip(&p);
	if (!pass_tip(&p, hop) || is_watched(&p) || p.n_before + p.max_calls > PT_STACK)
		return false;
	set_returns(&p, hop);
	hop->n_ops = (uint8_t)p.n_ops;
	if (!p.n_ops)
		hop->ops = 0;
	pt_path_end(&p);
	return true;
}

const struct pt_hop *pt_code_make_hop(struct pt_code *code, uint64_t addr, uint64_t tnt,
				      uint16_t variant, struct pt_returns *returns)
{
	struct pt_hop *hop = hop_find(code, addr, tnt, variant);
	uint64_t hash = pt_hop_hash(addr, tnt, variant);
	uint32_t *seen = &code->seen[hash % PT_SEEN];

	assert(pt_depth(returns) <= PT_STACK);
	if (hop->addr)
		return hop;
	if (code->steps_alone)
		return NULL;
	if (tnt > SHORT_TNT && *seen != hash >> 32) {
		*seen = (uint32_t)(hash >> 32);
		return NULL;
	}
	make_room(code);
	hop = hop_find(code, addr, tnt, variant);
	*hop = (struct pt_hop){ .addr = addr,
				.tnt = tnt,
				.ops = (uint32_t)code->ops.n,
				.marks = (uint32_t)code->marks.n,
				.more = (uint32_t)code->callers.n,
				.variant = variant,
				.n_returns = PT_NO_WALK };
	code->n_hops++;
	if (!set_hop(code, hop, returns)) {
		code->ops.n = hop->ops;
		code->marks.n = hop->marks;
		code->callers.n = hop->more;
	}
	return hop;
}

uint32_t pt_hop_other(struct pt_code *code, const struct pt_hop *hop, struct pt_returns *returns)
{
	const uint32_t *top = &returns->node[PT_SPARE_RETURNS + returns->top - PT_WALK_RETURNS];
	const uint32_t *more = &code->callers.data[hop->more];
	uint32_t n = MIN(hop->n_returns, pt_depth(returns));
	bool is_first, is_second;

	_Static_assert(PT_WALK_RETURNS == 2, "both are compared");
	if (!top[0] | !top[1])
		for (uint32_t i = 0; i < MIN(n, (uint32_t)PT_WALK_RETURNS); i++)
			pt_return_at(returns, code, i);
	is_first = (n > 0) & (top[1] != hop->returns[1]);
	is_second = (n > 1) & (top[0] != hop->returns[0]);
	/* Most often it is one of these, and a jump would be mispredicted. */
	if (is_first | is_second)
		return 2 - (uint32_t)is_first;
	for (uint32_t i = PT_WALK_RETURNS; i < n; i++)
		if (pt_return_at(returns, code, i) != more[i - PT_WALK_RETURNS])
			return i + 1;
	return 0;
}

const struct pt_hop *pt_code_other_hop(struct pt_code *code, const struct pt_hop *hop,
				       struct pt_returns *returns)
{
	uint64_t addr = hop->addr, tnt = hop->tnt;

	for (int i = 0; hop && hop->n_returns != PT_NO_WALK && i < MAX_VARIANTS; i++) {
		uint32_t other = pt_hop_other(code, hop, returns);
		uint16_t variant;
		uint32_t caller;

		/* An entry that was an address is a block now. */
		if (!other)
			return pt_hop_fits(code, hop, returns) ? hop : NULL;
		caller = pt_return_at(returns, code, other - 1);
		variant = (uint16_t)(hash_u64(((uint64_t)other << 32 | caller) + hop->variant) | 1);
		hop = &code->hops[pt_hop_hash(addr, tnt, variant) >> (64 - code->hops_table.log2)];
		if (!pt_is_hop(hop, addr, tnt, variant))
			hop = pt_code_make_hop(code, addr, tnt, variant, returns);
		if (hop && pt_hop_fits(code, hop, returns))
			return hop;
	}
	return NULL;
}
