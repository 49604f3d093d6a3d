/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets whose address comes in the next FUP, and the interrupt flag. */
#pragma once

#include "pt/flow_state.h"

/* The event of a PTWRITE, CFE, TRIG or power packet. */
struct pt_event pt_flow_packet_event(const struct pt_packet *p, uint64_t ip);

/* A PEBS record is whole. */
void pt_flow_end_record(struct pt_flow *f, uint64_t ip);

/* Reports the events that waited for the address in a FUP. */
void pt_flow_report_pending(struct pt_flow *f, uint64_t ip);

/* A MODE packet without a FUP behind it states how it is, and not that it changed here. */
void pt_flow_apply_change(struct pt_flow *f);

static inline void pt_flow_forget_change(struct pt_flow *f)
{
	if (f->pending & (PT_PENDING_INTERRUPTS | PT_PENDING_TX))
		pt_flow_apply_change(f);
}

/* A MODE.Exec: of a FUP behind it, of the next branch, or as things are. */
void pt_flow_on_interrupts(struct pt_flow *f, bool is_on);

/* The branch of the last event changed the interrupt flag: reports the change before it. */
void pt_flow_report_interrupts(struct pt_flow *f);
