/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow_pending.h"

#include "pt/flow_emit.h"

static void say_interrupts(struct pt_flow *f, uint64_t from, uint64_t to, unsigned int how)
{
	pt_flow_emit(f, PT_EV_EVENT, from, to, how | (f->next_iflag ? PT_INTERRUPTS_ON : 0),
		     PT_MODE_EXEC);
	f->iflag = f->next_iflag;
	f->knows_iflag = true;
}

void pt_flow_report_interrupts(struct pt_flow *f)
{
	struct pt_event branch;

	if (!f->config.has_event_trace || f->iflag == f->next_iflag || !f->n_events)
		return;
	branch = f->events[f->n_events - 1];
	if (branch.kind != PT_EV_BRANCH)
		return;
	f->n_events--;
	say_interrupts(f, branch.from, branch.to,
		       PT_INTERRUPTS_BY_BRANCH | (unsigned int)branch.flags << PT_INTERRUPTS_SHIFT);
	if (f->n_events == PT_BATCH)
		pt_flow_flush(f);
	f->events[f->n_events++] = branch;
}

void pt_flow_on_interrupts(struct pt_flow *f, bool now)
{
	f->next_iflag = now;
	if (!f->config.has_event_trace)
		return;
	f->fup_mode = !f->is_in_psb && !f->seeks_ip;
	if (!f->fup_mode && (!f->knows_iflag || f->iflag != now))
		say_interrupts(f, 0, 0, PT_INTERRUPTS_STATUS);
}

void pt_flow_end_record(struct pt_flow *f, uint64_t ip)
{
	if (f->has_items)
		pt_flow_emit(f, PT_EV_PEBS, ip, 0, 0, 0);
	f->has_items = false;
}

void pt_flow_report_pending(struct pt_flow *f, uint64_t ip)
{
	if (f->fup_event)
		pt_flow_emit(f, PT_EV_EVENT, ip, f->fup_payload, f->fup_type, f->fup_detail);
	if (f->fup_mode)
		say_interrupts(f, ip, 0, 0);
	if (f->fup_tx) {
		f->in_tx = f->tx_next;
		pt_flow_emit(f, PT_EV_TX, ip, 0, f->in_tx ? PT_F_IN_TX : 0, 0);
	}
	if (f->fup_ptwrite)
		pt_flow_emit(f, PT_EV_PTWRITE, ip, f->fup_payload, 0, 0);
	if (f->fup_power)
		pt_flow_emit(f, PT_EV_POWER, ip, f->fup_payload, 0, f->fup_detail);
	if (f->fup_block)
		pt_flow_end_record(f, ip);
}

void pt_flow_forget_change(struct pt_flow *f)
{
	f->fup_mode = false;
	if (!f->fup_tx)
		return;
	f->fup_tx = f->tx_abort = false;
	f->in_tx = f->tx_next;
}
