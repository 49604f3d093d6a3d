/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a decoder: they are gathered, and given out in batches.
 */
#pragma once

#include "pt/flow_state.h"

void pt_flow_flush(struct pt_flow *f);

/* What a new decoder reports: everything, unless it is asked for no branches. */
void pt_flow_begin_reports(struct pt_flow *f);

/* If branches are left out because no sample is near: not from here on. `ip`: of PT_EV_RESUME. */
void pt_flow_resume(struct pt_flow *f, uint64_t ip);

/* The same, right before the time packet at hand; `tsc`: the time before it. */
void pt_flow_resume_before(struct pt_flow *f, uint64_t tsc);

/* The way goes on over `n` instructions, from the node at hand. */
static inline void pt_flow_expect(struct pt_flow *f, uint64_t n)
{
	if (f->insns + n > f->quiet_until)
		pt_flow_resume(f, pt_flow_ip(f));
}

/*
 * Whether a branch to there is left out while the flow is quiet: because no sample is near, be it
 * an interrupt or where tracing begins and ends. A change of the interrupt flag needs the branch.
 */
static inline bool pt_flow_leaves_out(const struct pt_flow *f, uint64_t to)
{
	return !f->config.no_branches && !f->config.has_event_trace && to != f->code->watched;
}

/*
 * A branch, here and now. Its fields are stored where they stay: to make the event elsewhere and
 * copy it takes twice the time, because the copy waits for the small fields.
 */
static inline void pt_flow_emit_branch(struct pt_flow *f, unsigned int end, unsigned int flags,
				       uint8_t insn_size, uint64_t from, uint64_t to)
{
	struct pt_event *e;

	if (f->is_quiet && pt_flow_leaves_out(f, to)) {
		f->n_ends += flags & PT_F_END ? f->n_ends < PT_MAX_ENDS : 0;
		return;
	}
	if (f->is_quiet)
		pt_flow_resume(f, 0);
	if (f->n_events == PT_BATCH)
		pt_flow_flush(f);
	e = &f->events[f->n_events++];
	e->tsc = f->said_tsc;
	e->insns = f->insns;
	e->cycles = f->said_cycles;
	e->branch.kind = PT_EV_BRANCH;
	e->branch.end = (uint8_t)end;
	e->branch.flags = (uint16_t)flags;
	e->branch.insn_size = insn_size;
	e->branch.from = from;
	e->branch.to = to;
}

/* The same of a branch of a memoised walk; `insns`: with it. */
static inline void pt_flow_emit_told(struct pt_flow *f, const struct pt_told *told, uint64_t insns)
{
	struct pt_event *e;

	if (f->is_quiet)
		pt_flow_resume(f, 0);
	if (f->n_events == PT_BATCH)
		pt_flow_flush(f);
	e = &f->events[f->n_events++];
	e->tsc = f->said_tsc;
	e->insns = insns;
	e->cycles = f->said_cycles;
	e->branch = told->branch;
	if (f->facts & PT_FACT_IN_TX)
		e->branch.flags |= PT_F_IN_TX;
}

/* Room for so many events more, at most PT_BATCH. */
static inline struct pt_event *pt_flow_room(struct pt_flow *f, size_t n)
{
	if (f->n_events + n > PT_BATCH)
		pt_flow_flush(f);
	return &f->events[f->n_events];
}

/* The event of a branch of a memoised walk, which began after `insns`. */
static inline void pt_flow_put(const struct pt_flow *f, struct pt_event *e, const struct pt_op *op,
			       uint64_t insns)
{
	e->tsc = f->said_tsc;
	e->insns = insns + op->insns;
	e->cycles = f->said_cycles;
	e->branch = pt_told(f->code, op)->branch;
}

/*
 * The events of all branches of a memoised walk, as above. Most walks have PT_SPARE_OPS at most: so
 * many are written in any case. The result is the first.
 */
static inline struct pt_event *pt_flow_put_all(struct pt_flow *f, const struct pt_op *op,
					       unsigned int n, uint64_t insns)
{
	struct pt_event *e = pt_flow_room(f, MAX(n, (unsigned int)PT_SPARE_OPS));

	_Static_assert(PT_SPARE_OPS == 2, "two are written");
	pt_flow_put(f, &e[0], &op[0], insns);
	pt_flow_put(f, &e[1], &op[1], insns);
	for (unsigned int i = 2; i < n; i++)
		pt_flow_put(f, &e[i], &op[i], insns);
	f->n_events += n;
	return e;
}

/* An event with its kind and member, here and now. */
static inline void pt_flow_emit(struct pt_flow *f, struct pt_event event)
{
	event.tsc = f->said_tsc;
	event.insns = f->insns;
	event.cycles = f->said_cycles;
	if (f->n_events == PT_BATCH)
		pt_flow_flush(f);
	f->events[f->n_events++] = event;
}

static inline bool pt_flow_is_settled(const struct pt_flow *f)
{
	return f->said_tsc == f->time.tsc && f->said_cycles == f->time.cycles;
}

/*
 * A time packet holds the time of the first branch that its TNT or TIP packet is for. Instructions
 * and direct branches on the way to that branch keep the time of the packet before. `insns`: the
 * instructions that ran before the branch.
 */
static inline void pt_flow_settle(struct pt_flow *f, uint64_t insns)
{
	uint64_t now = f->insns;

	if (pt_flow_is_settled(f))
		return;
	f->said_tsc = f->time.tsc;
	f->said_cycles = f->time.cycles;
	if (f->is_quiet)
		return;
	f->insns = insns;
	pt_flow_emit(f, (struct pt_event){ .time = { PT_EV_TIME, f->insns_at_tsc } });
	f->insns = now;
}

/* Quick decoding: execution is at `ip`, at the time of the packet at hand. */
static inline void pt_flow_say_ip(struct pt_flow *f, uint64_t ip)
{
	pt_flow_settle(f, f->insns);
	pt_flow_emit(f, (struct pt_event){ .place = { PT_EV_PLACE, ip } });
}

/*
 * Direct branches come before the branch of the last time packet. In a trace without TSCs, the
 * cycles before stay with these branches.
 */
static inline void pt_flow_tell_ahead(struct pt_flow *f)
{
	if (pt_flow_is_settled(f) || f->is_quiet)
		return;
	if (f->time.tsc)
		pt_flow_emit(f, (struct pt_event){ .time_ahead = { PT_EV_TIME_AHEAD, f->time.tsc,
								   f->insns } });
	else
		pt_flow_emit(f, (struct pt_event){ .time = { PT_EV_TIME, f->insns } });
}
