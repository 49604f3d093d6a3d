/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a decoder: they are gathered, and given out in batches.
 */
#pragma once

#include "pt/flow_state.h"

void pt_flow_flush(struct pt_flow *f);

static inline void pt_flow_emit(struct pt_flow *f, enum pt_event_kind kind, uint64_t from,
				uint64_t to, unsigned int flags, unsigned int detail)
{
	if (f->n_events == PT_BATCH)
		pt_flow_flush(f);
	f->events[f->n_events++] = (struct pt_event){ .from = from,
						      .to = to,
						      .tsc = f->said_tsc,
						      .insns = f->insns,
						      .cycles = f->said_cycles,
						      .flags = (uint16_t)flags,
						      .kind = (uint8_t)kind,
						      .detail = (uint8_t)detail };
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
	if (f->config.no_branches)
		return;
	f->insns = insns;
	pt_flow_emit(f, PT_EV_TIME, 0, f->insns_at_tsc, 0, 0);
	f->insns = now;
}

/* Quick decoding: execution is at `ip`, at the time of the packet at hand. */
static inline void pt_flow_say_ip(struct pt_flow *f, uint64_t ip)
{
	pt_flow_settle(f, f->insns);
	pt_flow_emit(f, PT_EV_IP, ip, 0, 0, 0);
}

/* Direct branches come before the branch of the last time packet. */
static inline void pt_flow_tell_ahead(struct pt_flow *f)
{
	if (!pt_flow_is_settled(f))
		pt_flow_emit(f, PT_EV_TIME, f->time.tsc, f->insns, 0, 0);
}
