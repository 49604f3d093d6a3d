/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/walk.h"

#include <assert.h>

#include "pt/flow_emit.h"
#include "pt/flow_place.h"
#include "pt/flow_time.h"
#include "pt/run.h"

/*
 * Blocks in a row without a direction used: more is a loop that only an interrupt leaves. A short
 * trace could come into such loops again and again. So a flow has STEPS_FREE steps, and
 * STEPS_A_BYTE more for each byte of trace; then it makes few in a row.
 */
enum { MAX_STEPS = 10000, FEW_STEPS = 64, STEPS_FREE = 200000, STEPS_A_BYTE = 64 };

static bool may_step(const struct pt_flow *f, unsigned int in_a_row)
{
	uint64_t bytes = f->stats.bytes + (uint64_t)(f->at - f->begin);

	return in_a_row < FEW_STEPS ||
	       (in_a_row < MAX_STEPS && f->steps < STEPS_FREE + bytes * STEPS_A_BYTE);
}

/* Counts a branch. Returns whether it becomes an event. */
static inline bool count_branch(struct pt_flow *f, uint64_t to, unsigned int flags)
{
	f->stats.branches++;
	if (to != f->code->watched)
		return !f->is_quiet && (f->code->all_branches || flags & (PT_F_CALL | PT_F_RETURN));
	f->stops |= PT_STOP_WATCHED;
	return true;
}

static void report(struct pt_flow *f, uint64_t from, uint64_t to, unsigned int end, uint8_t size)
{
	unsigned int flags = pt_end_flags[end];

	if (!count_branch(f, to, flags))
		return;
	if (f->facts & PT_FACT_IN_TX)
		flags |= PT_F_IN_TX;
	pt_flow_emit_branch(f, end, flags, size, from, to);
}

/* Over the block at hand, its branch included. */
static const struct pt_node *pass(struct pt_flow *f)
{
	const struct pt_node *node = pt_node(f->code, f->node);

	pt_flow_expect(f, node->n_insns);
	f->insns += node->n_insns;
	return node;
}

/* A direct jump or call, or an end that goes on. */
static void step_direct(struct pt_flow *f)
{
	const struct pt_node *node = pass(f);
	uint64_t from = node->last, to = node->target, after = node->after;
	unsigned int end = node->end;

	f->steps++;
	if (end == PT_END_FALL || pt_end_may_go_on(end)) {
		f->node = pt_code_next(f->code, f->node);
		return;
	}
	/* A call to the next instruction only gets the address: it has no return. */
	if (end == PT_END_CALL && to != after)
		pt_push(&f->returns, pt_code_next(f->code, f->node));
	report(f, from, to, end, (uint8_t)(after - from));
	f->node = pt_code_taken(f->code, f->node);
}

static void step_cond(struct pt_flow *f, bool taken)
{
	const struct pt_node *node = pass(f);

	if (taken) {
		report(f, node->last, node->target, PT_END_COND, pt_end_size(node));
		f->node = pt_code_taken(f->code, f->node);
	} else {
		f->node = pt_code_next(f->code, f->node);
	}
}

static bool take_direction(struct pt_flow *f)
{
	bool taken = f->tnt.bits >> 63;

	f->tnt.bits <<= 1;
	f->tnt.n--;
	return taken;
}

/* A compressed return is "taken". */
static bool step_return(struct pt_flow *f)
{
	const struct pt_node *node;
	uint32_t to;

	if (!pt_depth(&f->returns) || !take_direction(f))
		return false;
	to = pt_return_at(&f->returns, f->code, 0);
	node = pass(f);
	pt_pop(&f->returns);
	report(f, node->last, pt_node(f->code, to)->start, PT_END_RETURN, pt_end_size(node));
	f->node = to;
	return true;
}

/* A memoised run, branch by branch. */
static void replay(struct pt_flow *f, const struct pt_run *run)
{
	const struct pt_op *op = &f->code->ops.data[run->ops], *end = op + run->n_ops;

	for (; op < end; op++) {
		const struct pt_told *told = pt_told(f->code, op);

		pt_pass_told(&f->returns, told);
		if (count_branch(f, told->branch.to, told->branch.flags))
			pt_flow_emit_told(f, told, f->insns + op->insns);
	}
	f->insns += run->insns;
}

/* The same at once, and without the branches if nobody wants them; false: only the ops tell. */
static inline bool replay_at_once(struct pt_flow *f, const struct pt_run *run)
{
	struct pt_event *e;

	if (pt_depth(&f->returns) + run->height > PT_STACK)
		return false;
	if (!f->is_quiet) {
		e = pt_flow_put_all(f, &f->code->ops.data[run->ops], run->n_ops, f->insns);
		if (f->facts & PT_FACT_IN_TX)
			for (unsigned int i = 0; i < run->n_ops; i++)
				e[i].branch.flags |= PT_F_IN_TX;
	}
	pt_returns_pass(&f->returns, run->n_returns, run->pushes, run->n_pushes);
	f->stats.branches += run->n_ops;
	f->insns += run->insns;
	return true;
}

/* Runs while nothing is an event. The result is the block that they lead to. */
static uint32_t walk_runs_quietly(struct pt_flow *f, struct pt_tnt *tnt, unsigned int keep,
				  uint32_t node)
{
	uint64_t insns = f->insns, quiet_until = f->quiet_until, n_branches = 0, bits = tnt->bits;
	struct pt_returns *r = &f->returns;
	unsigned int n = tnt->n;

	while (n > keep) {
		const struct pt_run *run = pt_code_run(f->code, node, bits, MIN(n, PT_RUN_BITS), r);

		if (!run || !run->n_bits || insns + run->insns > quiet_until ||
		    pt_depth(r) + run->height > PT_STACK)
			break;
		pt_returns_pass(r, run->n_returns, run->pushes, run->n_pushes);
		bits <<= run->n_bits;
		n -= run->n_bits;
		insns += run->insns;
		n_branches += run->n_ops;
		node = run->to;
	}
	f->insns = insns;
	f->stats.branches += n_branches;
	tnt->bits = bits;
	tnt->n = n;
	return node;
}

/* Runs, as far as there are any; what changes with each of them is in registers. */
static void walk_runs(struct pt_flow *f, unsigned int keep)
{
	struct pt_tnt tnt = f->tnt;
	uint32_t node = f->node;

	if (f->is_quiet)
		node = walk_runs_quietly(f, &tnt, keep, node);
	while (tnt.n > keep) {
		const struct pt_run *run =
			pt_code_run(f->code, node, tnt.bits, MIN(tnt.n, PT_RUN_BITS), &f->returns);

		if (!run || !run->n_bits)
			break;
		if (f->insns + run->insns > f->quiet_until)
			pt_flow_resume(f, pt_node(f->code, node)->start);
		tnt.bits <<= run->n_bits;
		tnt.n -= run->n_bits;
		if (!replay_at_once(f, run))
			replay(f, run);
		node = run->to;
	}
	f->tnt = tnt;
	f->node = node;
}

/* The packet at hand is for the branch at the end of the block at hand. */
static void settle_at_end(struct pt_flow *f)
{
	pt_flow_settle(f, f->insns + pt_node(f->code, f->node)->n_insns - 1);
}

/* Far from a sample, it does not matter which branches on the way have the time before. */
static bool settle_quietly(struct pt_flow *f)
{
	if (!f->is_quiet || f->insns + PT_NEAR_SAMPLE > f->quiet_until)
		return false;
	pt_flow_settle(f, f->insns);
	return true;
}

static enum pt_walk walk_direct(struct pt_flow *f, bool for_tip);

enum pt_walk pt_walk_tnt(struct pt_flow *f, unsigned int keep)
{
	unsigned int steps = 0, n = f->tnt.n;

	if (n > keep && !pt_flow_is_settled(f) && !settle_quietly(f)) {
		enum pt_walk r = walk_direct(f, false);

		if (r != PT_WALK_DONE)
			return r;
		settle_at_end(f);
	}
	while (walk_runs(f, keep), f->tnt.n > keep) {
		if (f->tnt.n < n)
			steps = 0;
		n = f->tnt.n;
		switch (pt_node(f->code, f->node)->end) {
		case PT_END_COND:
			step_cond(f, take_direction(f));
			break;
		case PT_END_RETURN:
			if (!step_return(f))
				return PT_WALK_MISMATCH;
			break;
		case PT_END_FALL:
		case PT_END_JUMP:
		case PT_END_CALL:
		case PT_END_INTO:
		case PT_END_VM_ENTRY:
			step_direct(f);
			if (!may_step(f, ++steps))
				return PT_WALK_LOOP;
			break;
		case PT_END_UNREADABLE:
			return PT_WALK_NO_CODE;
		default:
			return PT_WALK_NEEDS_TIP;
		}
	}
	return PT_WALK_DONE;
}

/* Over direct branches, to a block that ends otherwise: what the packet at hand is for. */
static enum pt_walk walk_direct(struct pt_flow *f, bool for_tip)
{
	for (unsigned int steps = 0; may_step(f, steps); steps++) {
		unsigned int end = pt_node(f->code, f->node)->end;

		if (end == PT_END_UNREADABLE)
			return PT_WALK_NO_CODE;
		if (!pt_end_is_direct(end) && (for_tip || !pt_end_may_go_on(end)))
			return PT_WALK_DONE;
		if (!steps)
			pt_flow_tell_ahead(f);
		step_direct(f);
	}
	return PT_WALK_LOOP;
}

/* No other instruction leads to another machine. No branch has addresses of both. */
static enum pt_walk enter_guest(struct pt_flow *f, uint64_t ip)
{
	const struct pt_node *node = pt_node(f->code, f->node);
	unsigned int end = node->end;

	if (f->is_guest || end != PT_END_VM_ENTRY)
		return PT_WALK_MISMATCH;
	settle_at_end(f);
	node = pass(f);
	report(f, node->last, 0, end, pt_end_size(node));
	pt_flow_arrive(f, ip);
	if (!f->is_quiet)
		pt_flow_emit_branch(f, end, pt_end_flags[end], 0, 0, ip);
	return PT_WALK_DONE;
}

enum pt_walk pt_walk_tip(struct pt_flow *f, uint64_t ip)
{
	const struct pt_node *node;
	enum pt_walk r;
	uint32_t from;

	if (f->config.quick) {
		pt_flow_arrive(f, ip);
		f->position = PT_EXECUTING;
		pt_flow_say_ip(f, ip);
		return PT_WALK_DONE;
	}
	r = walk_direct(f, true);
	if (r != PT_WALK_DONE)
		return r;
	from = f->node;
	if (pt_node(f->code, from)->end == PT_END_COND)
		return PT_WALK_MISMATCH;
	if (pt_flow_crosses(f))
		return enter_guest(f, ip);
	settle_at_end(f);
	node = pass(f);
	report(f, node->last, ip, node->end, pt_end_size(node));
	if (node->end == PT_END_RETURN && !f->config.return_keeps_stack)
		pt_pop(&f->returns);
	if (node->end == PT_END_CALL_INDIRECT)
		pt_push(&f->returns, pt_code_next(f->code, from));
	if (f->width == f->code->width)
		f->node = pt_code_indirect(f->code, ip);
	else
		pt_flow_arrive(f, ip);
	return PT_WALK_DONE;
}

/* Whether a direct branch there ends tracing without an address. */
static bool is_filtered_out(const struct pt_flow *f, uint64_t ip)
{
	return pt_flow_has(f, PT_ERRATUM_PGD_WITHOUT_IP) && f->config.is_filtered_out &&
	       f->config.is_filtered_out(f->config.context, ip);
}

enum pt_walk pt_walk_out(struct pt_flow *f, uint64_t to)
{
	if (f->config.quick) {
		if (to)
			pt_flow_emit_branch(f, PT_END_FALL, PT_F_BRANCH | PT_F_END, 0, 0, to);
		return PT_WALK_DONE;
	}
	for (unsigned int steps = 0; may_step(f, steps); steps++) {
		const struct pt_node *node = pt_node(f->code, f->node);
		unsigned int flags;
		bool leaves;

		switch (node->end) {
		case PT_END_UNREADABLE:
			return PT_WALK_NO_CODE;
		case PT_END_FALL:
		case PT_END_JUMP:
		case PT_END_CALL:
			leaves = node->end != PT_END_FALL &&
				 (to ? node->target == to : is_filtered_out(f, node->target));
			break;
		case PT_END_COND:
			/* Its own direction is not written: the address says which. */
			if (to != node->target && to != node->after)
				return PT_WALK_MISMATCH;
			leaves = true;
			break;
		default:
			leaves = true;
		}
		if (!leaves) {
			if (!steps)
				pt_flow_tell_ahead(f);
			step_direct(f);
			continue;
		}
		settle_at_end(f);
		pass(f);
		f->stats.branches++;
		flags = pt_end_flags[node->end] | PT_F_END |
			(f->facts & PT_FACT_IN_TX ? PT_F_IN_TX : 0);
		pt_flow_emit_branch(f, node->end, flags, pt_end_size(node), node->last, to);
		return PT_WALK_DONE;
	}
	return PT_WALK_LOOP;
}

bool pt_walk_reaches(const struct pt_flow *f, uint64_t ip)
{
	uint32_t at = f->node;

	for (unsigned int steps = 0; steps < FEW_STEPS; steps++) {
		const struct pt_node *node = pt_node(f->code, at);

		if (node->start == ip || pt_code_insns_before(f->code, at, ip) >= 0)
			return true;
		if (!pt_end_is_direct(node->end) && !pt_end_may_go_on(node->end))
			return false;
		at = node->end == PT_END_JUMP || node->end == PT_END_CALL
			     ? pt_code_taken(f->code, at)
			     : pt_code_next(f->code, at);
	}
	return false;
}

enum pt_walk pt_walk_to(struct pt_flow *f, uint64_t ip)
{
	if (f->config.quick) {
		f->ip = ip;
		return PT_WALK_DONE;
	}
	for (unsigned int steps = 0; may_step(f, steps); steps++) {
		const struct pt_node *node = pt_node(f->code, f->node);
		int before;

		if (node->start == ip) {
			pt_flow_settle(f, f->insns);
			return PT_WALK_DONE;
		}
		before = pt_code_insns_before(f->code, f->node, ip);
		if (before >= 0) {
			pt_flow_expect(f, (uint64_t)before);
			f->insns += (uint64_t)before;
			f->node = pt_code_at(f->code, ip);
			pt_flow_settle(f, f->insns);
			return PT_WALK_DONE;
		}
		if (node->end == PT_END_UNREADABLE)
			return node->after == ip ? (pt_flow_arrive(f, ip), PT_WALK_DONE)
						 : PT_WALK_NO_CODE;
		if (pt_flow_has(f, PT_ERRATUM_FUP_BEHIND_BRANCH) && node->end >= PT_END_RETURN &&
		    node->after == ip) {
			ip = node->last;
			continue;
		}
		if (!pt_end_is_direct(node->end) && !pt_end_may_go_on(node->end))
			return PT_WALK_MISMATCH;
		if (!steps)
			pt_flow_tell_ahead(f);
		step_direct(f);
	}
	return PT_WALK_LOOP;
}
