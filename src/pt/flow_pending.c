/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow_pending.h"

#include "pt/flow_emit.h"

struct pt_event pt_flow_packet_event(const struct pt_packet *p, uint64_t ip)
{
	switch (p->type) {
	case PT_PTWRITE:
		return (struct pt_event){ .ptwrite = { PT_EV_PTWRITE, p->flag, ip, p->payload } };
	case PT_CFE:
		return (struct pt_event){ .cfe = { PT_EV_CFE, (uint8_t)p->count, ip, p->payload } };
	case PT_TRIG:
		return (struct pt_event){ .trig = { PT_EV_TRIG, p->count, ip, p->payload } };
	default:
		return (struct pt_event){ .power = { PT_EV_POWER, p->type, p->flag, ip,
						     p->payload } };
	}
}

static void report_interrupts(struct pt_flow *f, enum pt_interrupts_cause cause, unsigned int flags,
			      uint64_t from, uint64_t to)
{
	pt_flow_emit(f,
		     (struct pt_event){
			     .interrupts = { PT_EV_INTERRUPTS, (uint8_t)cause, (uint16_t)flags,
					     f->next_interrupts == PT_INTERRUPTS_ON, from, to } });
	f->interrupts = f->next_interrupts;
}

void pt_flow_report_interrupts(struct pt_flow *f)
{
	struct pt_event branch;

	if (!f->config.has_event_trace || f->interrupts == f->next_interrupts || !f->n_events)
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

void pt_flow_on_interrupts(struct pt_flow *f, bool is_on)
{
	f->next_interrupts = is_on ? PT_INTERRUPTS_ON : PT_INTERRUPTS_OFF;
	if (!f->config.has_event_trace)
		return;
	f->pending &= (uint8_t)~PT_PENDING_INTERRUPTS;
	if (f->sync != PT_IN_PSB && f->position != PT_SEEKING)
		f->pending |= PT_PENDING_INTERRUPTS;
	else if (f->interrupts != f->next_interrupts)
		report_interrupts(f, PT_INTERRUPTS_STATUS, 0, 0, 0);
}

void pt_flow_end_record(struct pt_flow *f, uint64_t ip)
{
	if (f->facts & PT_FACT_HAS_ITEMS)
		pt_flow_emit(f, (struct pt_event){ .pebs = { PT_EV_PEBS, ip } });
	pt_flow_set_fact(f, PT_FACT_HAS_ITEMS, false);
}

static void report_transaction(struct pt_flow *f, uint64_t ip)
{
	bool is_begin = f->pending & PT_PENDING_TX_BEGIN;

	pt_flow_set_fact(f, PT_FACT_IN_TX, is_begin);
	pt_flow_emit(f, (struct pt_event){
				.tx = { PT_EV_TX, is_begin, f->facts & PT_FACT_TX_ABORTS, ip } });
}

void pt_flow_report_pending(struct pt_flow *f, uint64_t ip)
{
	if (f->pending & (PT_PENDING_EVENT | PT_PENDING_EVENT_OF_BRANCH))
		pt_flow_emit(f, pt_flow_packet_event(&f->pending_event, ip));
	if (f->pending & PT_PENDING_INTERRUPTS)
		report_interrupts(f, PT_INTERRUPTS_AT_IP, 0, ip, 0);
	if (f->pending & PT_PENDING_TX)
		report_transaction(f, ip);
	if (f->pending & PT_PENDING_PTWRITE)
		pt_flow_emit(f, pt_flow_packet_event(&f->pending_ptwrite, ip));
	if (f->pending & PT_PENDING_POWER)
		pt_flow_emit(f, pt_flow_packet_event(&f->pending_power, ip));
	if (f->pending & PT_PENDING_RECORD)
		pt_flow_end_record(f, ip);
	f->pending = 0;
}

void pt_flow_apply_change(struct pt_flow *f)
{
	unsigned int tx = f->pending & PT_PENDING_TX;

	f->pending &= (uint8_t) ~(PT_PENDING_INTERRUPTS | PT_PENDING_TX);
	if (!tx)
		return;
	pt_flow_set_fact(f, PT_FACT_TX_ABORTS, false);
	pt_flow_set_fact(f, PT_FACT_IN_TX, tx & PT_PENDING_TX_BEGIN);
}
