/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow_emit.h"

#include "pt/flow_time.h"

void pt_flow_flush(struct pt_flow *f)
{
	size_t n = f->n_events;

	f->n_events = 0;
	if (n)
		f->config.events(f->config.context, f->events, n);
}

void pt_flow_begin_reports(struct pt_flow *f)
{
	f->is_quiet = f->config.no_branches;
	f->quiet_until = UINT64_MAX;
	f->loud_until = f->insns + PT_NEAR_SAMPLE;
}

static void resume(struct pt_flow *f, uint64_t ip, uint64_t tsc, bool is_ahead)
{
	uint64_t ticks = f->insns - f->insns_at_tsc;

	if (!f->is_quiet || f->config.no_branches)
		return;
	pt_flow_begin_reports(f);
	pt_flow_emit(f, (struct pt_event){ .resume = { .kind = PT_EV_RESUME,
						       .is_ahead = is_ahead,
						       .n_ends = f->n_ends,
						       .is_traced = pt_flow_is_traced(f),
						       .ticks = (uint32_t)MIN(ticks, UINT32_MAX),
						       .ip = ip,
						       .tsc = tsc } });
	f->n_ends = 0;
}

void pt_flow_resume(struct pt_flow *f, uint64_t ip)
{
	resume(f, ip, f->time.tsc, !pt_flow_is_settled(f));
}

void pt_flow_resume_before(struct pt_flow *f, uint64_t tsc)
{
	resume(f, pt_flow_ip(f), tsc, false);
}
