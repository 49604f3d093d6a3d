/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow_place.h"

#include "pt/flow_emit.h"

void pt_flow_clear_stack(struct pt_flow *f)
{
	f->returns.top = f->returns.bottom = 0;
}

void pt_flow_forget_packets(struct pt_flow *f)
{
	f->tnt = (struct pt_tnt){ 0 };
	f->facts &= (uint8_t) ~(PT_FACT_IN_TX | PT_FACT_TX_ABORTS | PT_FACT_HAS_ITEMS);
	f->pending = 0;
}

void pt_flow_stand_nowhere(struct pt_flow *f, enum pt_position position)
{
	assert(position < PT_EXECUTING);
	f->position = (uint8_t)position;
	f->node = 0;
	f->ip = 0;
	pt_flow_forget_packets(f);
	/* Behind an error, the callers are likely the same. */
	if (position != PT_SEEKING)
		pt_flow_clear_stack(f);
}

/* The graph has code of one width at a time. Flows that share it may have different ones. */
static void take_width(struct pt_flow *f)
{
	if (f->said_width == f->code->width)
		return;
	pt_returns_leave(&f->returns, f->code);
	f->code->width = f->said_width;
	pt_code_forget(f->code);
}

void pt_flow_enter_machine(struct pt_flow *f)
{
	if (!pt_flow_crosses(f))
		return;
	f->is_guest = f->next_is_guest;
	if (!f->config.machine)
		return;
	pt_returns_leave(&f->returns, f->code);
	f->node = 0;
	f->ip = 0;
	pt_flow_flush(f);
	f->config.machine(f->config.context, f->is_guest);
	f->next_side_band = 0; /* what is mapped there changes at other times */
}

void pt_flow_arrive(struct pt_flow *f, uint64_t ip)
{
	pt_flow_enter_machine(f);
	if (f->config.quick) {
		f->ip = ip;
		return;
	}
	if (f->width != f->said_width) {
		f->said_width = f->width;
		pt_flow_emit(f, (struct pt_event){ .width = { PT_EV_WIDTH, f->width } });
	}
	take_width(f);
	f->ip = 0;
	f->node = pt_code_at(f->code, ip);
}

void pt_flow_leave_code(struct pt_flow *f)
{
	pt_returns_leave(&f->returns, f->code);
	if (!f->node)
		return;
	assert(f->node < f->code->nodes.n); /* of code that was not forgotten meanwhile */
	f->ip = pt_flow_ip(f);
	f->node = 0;
}

void pt_flow_enter_code(struct pt_flow *f)
{
	if (!pt_flow_is_traced(f) || f->node || f->config.quick)
		return;
	take_width(f);
	f->node = pt_code_at(f->code, f->ip);
	f->ip = 0;
}
