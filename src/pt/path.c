/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/path.h"

#include <string.h>

enum { MAX_LOOKED_AT = 16 };

bool pt_path_tells(const struct pt_path *p, uint64_t to)
{
	return p->code->all_branches || to == p->code->watched ||
	       pt_end_flags[pt_node(p->code, p->node)->end] & (PT_F_CALL | PT_F_RETURN);
}

/* The branch at the end of a node, found or made. */
static uint32_t told_of(struct pt_code *code, uint32_t at, uint64_t to, uint32_t next)
{
	struct pt_node *node = pt_node(code, at);
	uint32_t told = node->told;

	/* A return goes to all callers: a few are looked at. */
	for (int i = 0; told && i < MAX_LOOKED_AT; i++) {
		const struct pt_told *t = &code->told.data[told];

		if (t->branch.to == to && t->next == next)
			return told;
		told = t->other;
	}
	vec_push(&code->told,
		 ((struct pt_told){ .branch = { .kind = PT_EV_BRANCH,
						.end = node->end,
						.flags = pt_end_flags[node->end],
						.insn_size = (uint8_t)(node->after - node->last),
						.from = node->last,
						.to = to },
				    .next = next,
				    .other = node->told }));
	node->told = (uint32_t)code->told.n - 1;
	return node->told;
}

bool pt_path_add(struct pt_path *p, uint64_t to, uint32_t next)
{
	struct pt_op op = { .insns = p->insns + pt_node(p->code, p->node)->n_insns };

	if (p->n_ops == PT_PATH_OPS)
		return false;
	op.told = told_of(p->code, p->node, to, next);
	vec_push(&p->code->ops, op);
	p->n_ops++;
	return true;
}

void pt_path_end(struct pt_path *p)
{
	struct pt_code *code = p->code;

	vec_reserve(&code->ops, code->ops.n + PT_SPARE_OPS);
	memset(&code->ops.data[code->ops.n], 0, PT_SPARE_OPS * sizeof(struct pt_op));
}

static bool go(struct pt_path *p, uint32_t to)
{
	p->insns += pt_node(p->code, p->node)->n_insns;
	p->node = to;
	return true;
}

static bool next_bit(struct pt_path *p)
{
	bool bit = p->bits >> 63;

	p->bits <<= 1;
	p->n--;
	p->n_used++;
	return bit;
}

static bool pass_jump(struct pt_path *p)
{
	const struct pt_node *node = pt_node(p->code, p->node);
	/* A call to the next instruction only gets the address: it has no return. */
	bool is_call = node->end == PT_END_CALL && node->after != node->target;
	uint64_t target = node->target;
	uint32_t to = pt_code_taken(p->code, p->node), next = 0;

	if (is_call) {
		if (p->n_calls == PT_PATH_OPS)
			return false;
		next = pt_code_next(p->code, p->node);
	}
	if (pt_path_tells(p, target) && !pt_path_add(p, target, next))
		return false;
	if (is_call)
		p->calls[p->n_calls++] = next;
	p->max_calls = MAX(p->max_calls, p->n_calls);
	return go(p, to);
}

/* Of a call from before the path. */
static bool pass_return_before(struct pt_path *p)
{
	uint32_t to;

	if (p->n_before == p->max_before)
		return false;
	p->lacks_return = p->n_before == pt_depth(p->before);
	if (p->lacks_return)
		return false;
	to = pt_return_at(p->before, p->code, p->n_before);
	if (!pt_path_add(p, pt_node(p->code, to)->start, 0))
		return false;
	p->n_before++;
	next_bit(p);
	return go(p, to);
}

static bool pass_return(struct pt_path *p)
{
	uint32_t to;

	if (!(p->bits >> 63)) /* none left, or one that is no return's */
		return false;
	if (!p->n_calls)
		return pass_return_before(p);
	to = p->calls[p->n_calls - 1];
	if (!pt_path_add(p, pt_node(p->code, to)->start, 0))
		return false;
	p->n_calls--;
	next_bit(p);
	return go(p, to);
}

static bool pass_cond(struct pt_path *p)
{
	uint64_t target = pt_node(p->code, p->node)->target;
	bool taken = p->bits >> 63;
	uint32_t to;

	if (!p->n)
		return false;
	to = taken ? pt_code_taken(p->code, p->node) : pt_code_next(p->code, p->node);
	if (taken && pt_path_tells(p, target) && !pt_path_add(p, target, 0))
		return false;
	next_bit(p);
	return go(p, to);
}

bool pt_path_step(struct pt_path *p)
{
	switch (pt_node(p->code, p->node)->end) {
	case PT_END_COND:
		return pass_cond(p);
	case PT_END_RETURN:
		return pass_return(p);
	case PT_END_JUMP:
	case PT_END_CALL:
		return pass_jump(p);
	case PT_END_FALL:
		return go(p, pt_code_next(p->code, p->node));
	default:
		return false;
	}
}
