/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow_pending.h"

#include "pt/flow_emit.h"

struct pt_event pt_flow_packet_event(const struct pt_packet *p, uint64_t ip)
{
	switch (p->type) {
	case PT_PTWRITE:
		return (struct pt_event){ .ptwrite = { PT_EV_PTWRITE, ip, p->payload } };
	case PT_CFE:
		return (struct pt_event){ .cfe = { PT_EV_CFE, (uint8_t)p->count, ip, p->payload } };
	case PT_TRIG:
		return (struct pt_event){ .trig = { PT_EV_TRIG, p->count, ip, p->payload } };
	default:
		return (struct pt_event){ .power = { PT_EV_POWER, p->type, ip, p->payload } };
	}
}

static void report_interrupts(struct pt_flow *f, enum pt_interrupts_cause cause, unsigned int flags,
			      uint64_t from, uint64_t to)
{
	pt_flow_emit(f, (struct pt_event){ .interrupts = { PT_EV_INTERRUPTS, (uint8_t)cause,
							   (uint16_t)flags, f->next_iflag, from,
							   to } });
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
	report_interrupts(f, PT_INTERRUPTS_BY_BRANCH, branch.branch.flags, branch.branch.from,
			  branch.branch.to);
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
		report_interrupts(f, PT_INTERRUPTS_STATUS, 0, 0, 0);
}

void pt_flow_end_record(struct pt_flow *f, uint64_t ip)
{
	if (f->has_items)
		pt_flow_emit(f, (struct pt_event){ .pebs = { PT_EV_PEBS, ip } });
	f->has_items = false;
}

void pt_flow_report_pending(struct pt_flow *f, uint64_t ip)
{
	if (f->fup_event)
		pt_flow_emit(f, pt_flow_packet_event(&f->fup_packet, ip));
	if (f->fup_mode)
		report_interrupts(f, PT_INTERRUPTS_AT_IP, 0, ip, 0);
	if (f->fup_tx) {
		f->in_tx = f->tx_next;
		pt_flow_emit(f, (struct pt_event){ .tx = { PT_EV_TX, f->in_tx, ip } });
	}
	if (f->fup_ptwrite)
		pt_flow_emit(f, pt_flow_packet_event(&f->fup_packet, ip));
	if (f->fup_power)
		pt_flow_emit(f, pt_flow_packet_event(&f->fup_packet, ip));
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
