/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow_packets.h"

#include <errno.h>

#include "pt/flow_emit.h"
#include "pt/flow_pending.h"
#include "pt/flow_place.h"
#include "pt/flow_time.h"
#include "pt/flow_way.h"
#include "pt/walk.h"

/* An asynchronous branch: an interrupt, a fault, an aborted transaction. */
static void branch_async(struct pt_flow *f, uint64_t to)
{
	unsigned int flags = PT_F_BRANCH;

	if (f->tx_abort)
		flags |= PT_F_TX_ABORT;
	else if (to)
		flags |= PT_F_CALL | PT_F_ASYNC | PT_F_INTERRUPT;
	if (!to)
		flags |= PT_F_ASYNC | PT_F_END;
	f->stats.branches++;
	pt_flow_settle(f, f->insns);
	pt_flow_emit(f, (struct pt_event){ .branch = { PT_EV_BRANCH, PT_END_INTERRUPT,
						       (uint16_t)flags, 0, pt_flow_ip(f), to } });
	f->is_async = f->tx_abort = false;
}

static void on_tip(struct pt_flow *f, const struct pt_packet *p)
{
	if (f->seeks_ip && p->count != PT_IP_NONE) {
		pt_flow_go_on_at(f, f->last_ip);
		return;
	}
	if (f->config.quick && p->count == PT_IP_NONE)
		return;
	if ((!f->node && !f->config.quick) || p->count == PT_IP_NONE) {
		pt_flow_lose_way(f, PT_ERR_UNEXPECTED);
	} else if (f->is_async) {
		branch_async(f, f->last_ip);
		pt_flow_arrive(f, f->last_ip);
		if (f->config.quick)
			pt_flow_say_ip(f, f->last_ip);
	} else if (!pt_flow_check_walk(f, pt_walk_tip(f, f->last_ip))) {
		pt_flow_go_on_at(f, f->last_ip);
	}
}

static void on_pgd(struct pt_flow *f, const struct pt_packet *p)
{
	uint64_t to = p->count == PT_IP_NONE ? 0 : f->last_ip;

	/* The trace may end twice, as when a filter's end and an interrupt meet. */
	if (!pt_flow_is_traced(f))
		return;
	if (f->is_async) {
		branch_async(f, to);
		f->events[f->n_events - 1].branch.flags |= PT_F_END;
	} else if (!pt_flow_check_walk(f, pt_walk_out(f, to))) {
		return;
	}
	pt_time_on(&f->time, false);
	f->node = 0;
	f->quick_ip = 0;
}

static void on_pge(struct pt_flow *f, const struct pt_packet *p)
{
	/* Where tracing is enabled a PSB may come first, with the address of the WRMSR before. */
	if (f->node && f->insns == f->begun_at && !f->is_async && p->count != PT_IP_NONE)
		pt_flow_begin_at(f, f->last_ip);
	else if (f->node || p->count == PT_IP_NONE)
		pt_flow_lose_way(f, PT_ERR_UNEXPECTED);
	else if (f->seeks_ip)
		pt_flow_go_on_at(f, f->last_ip);
	else
		pt_flow_begin_at(f, f->last_ip);
}

static void on_fup(struct pt_flow *f, const struct pt_packet *p)
{
	bool is_for_a_packet = f->fup_tx || f->fup_ptwrite || f->fup_power || f->fup_block ||
			       f->fup_mode || (f->fup_event && !f->event_of_branch);

	if (p->count == PT_IP_NONE) {
		pt_flow_forget_fup(f);
		return;
	}
	if (f->after_ovf) {
		pt_flow_begin_at(f, f->last_ip);
		return;
	}
	if (f->seeks_ip)
		pt_flow_go_on_at(f, f->last_ip);
	if (!pt_flow_is_traced(f) && f->seeks_ip) {
		f->fup_tx = false; /* where it was is not known */
		pt_flow_report_pending(f, f->last_ip);
		pt_flow_forget_fup(f);
		return;
	}
	if (!pt_flow_is_traced(f)) {
		/* A power event or a record may tell its address while nothing is traced. */
		if (is_for_a_packet || f->fup_event)
			pt_flow_report_pending(f, f->last_ip);
		else
			pt_flow_lose_way(f, PT_ERR_UNEXPECTED);
		pt_flow_forget_fup(f);
		return;
	}
	if (!pt_flow_check_walk(f, pt_walk_to(f, f->last_ip))) {
		pt_flow_go_on_at(f, f->last_ip);
		if (f->seeks_ip)
			return;
	}
	if (f->config.quick)
		pt_flow_say_ip(f, f->last_ip);
	pt_flow_report_pending(f, pt_flow_ip(f));
	f->is_async = !is_for_a_packet || f->tx_abort;
	pt_flow_forget_fup(f);
}

static void on_psb(struct pt_flow *f)
{
	f->stats.psbs++;
	f->psb_offset = f->offset + (uint64_t)(f->at - f->begin);
	f->psb_cbr = 0;
	f->last_ip = 0;
	f->is_in_sync = f->is_in_psb = true;
	f->seeks_ip = false;
	f->psb_had_ip = f->is_async = false;
	f->psb_ip = 0;
	pt_flow_forget_fup(f);
	pt_flow_clear_stack(f);
	pt_time_psb(&f->time);
	if (pt_code_bytes(f->code) > PT_CODE_LIMIT_BYTES) {
		uint64_t ip = pt_flow_ip(f);

		pt_code_forget(f->code);
		if (f->node)
			pt_flow_arrive(f, ip);
	}
}

/* The address inside PSB+ checks the position, or is the place where decoding begins. */
static void on_psb_fup(struct pt_flow *f, const struct pt_packet *p)
{
	enum pt_walk r;

	if (p->count == PT_IP_NONE)
		return;
	f->psb_had_ip = true;
	if (f->config.quick) {
		pt_flow_arrive(f, f->last_ip);
		return;
	}
	r = f->node ? pt_walk_to(f, f->last_ip) : PT_WALK_DONE;
	if (r != PT_WALK_DONE) {
		/* As good a place to go on from as any. */
		pt_flow_check_walk(f, r);
		f->seeks_ip = false;
	}
	/* The time and the width of the code are still to come. */
	if (!f->node)
		f->psb_ip = f->last_ip;
}

static void report_ratio(struct pt_flow *f, uint8_t ratio)
{
	pt_flow_emit(f, (struct pt_event){ .cbr = { PT_EV_CBR, ratio, pt_flow_ip(f) } });
}

static void on_psbend(struct pt_flow *f)
{
	f->is_in_psb = false;
	pt_flow_settle(f, f->insns);
	pt_flow_emit(f, (struct pt_event){ .psb = { PT_EV_PSB, f->psb_had_ip ? pt_flow_ip(f) : 0,
						    f->psb_offset } });
	if (f->psb_cbr)
		report_ratio(f, f->psb_cbr);
	if (f->psb_ip && !pt_flow_is_traced(f)) {
		pt_flow_begin_at(f, f->psb_ip);
		f->begun_at = f->insns;
	}
	f->psb_ip = 0;
	if (!f->psb_had_ip)
		f->quick_ip = 0;
	else if (f->config.quick)
		pt_flow_say_ip(f, f->quick_ip);
	/* Nothing up to the next PSB is read, nor is it missed. */
	if (f->config.quick == PT_QUICKEST)
		f->is_in_sync = false;
}

static void on_ovf(struct pt_flow *f)
{
	pt_flow_report_error(f, pt_flow_ip(f), PT_ERR_OVERFLOW);
	pt_flow_stand_nowhere(f);
	f->is_in_psb = false;
	f->after_ovf = true;
}

static void on_mode(struct pt_flow *f, const struct pt_packet *p)
{
	if (p->type == PT_MODE_EXEC) {
		f->width = (uint8_t)p->payload;
		pt_flow_on_interrupts(f, p->count & 1);
		return;
	}
	/* A change binds to the FUP that follows; up to there it is as it was. */
	if (f->is_in_psb)
		f->in_tx = p->payload & 1;
	f->tx_next = p->payload & 1;
	f->tx_abort = !f->is_in_psb && (p->payload & 2);
	f->fup_tx = !f->is_in_psb;
}

/* Packets whose address, if the flag is set, follows in a FUP. */
static void on_said(struct pt_flow *f, const struct pt_packet *p, bool *awaits)
{
	if (p->flag) {
		*awaits = true;
		f->fup_packet = *p;
	} else {
		pt_flow_settle(f, f->insns);
		pt_flow_emit(f, pt_flow_packet_event(p, 0));
	}
}

/* A CFE without an address gets the address of the next branch. */
static void on_cfe(struct pt_flow *f, const struct pt_packet *p)
{
	struct pt_packet with_address = *p;

	f->event_of_branch = !p->flag && pt_flow_is_traced(f);
	with_address.flag |= f->event_of_branch;
	on_said(f, &with_address, &f->fup_event);
}

/* Said with each PSB, told when it is another. */
static void on_context(struct pt_flow *f, const struct pt_packet *p)
{
	uint64_t *last = p->type == PT_PIP ? &f->pip : &f->vmcs;
	uint64_t now = p->payload << 1 | p->flag;

	if (*last == now)
		return;
	*last = now;
	if (p->type == PT_PIP)
		pt_flow_emit(f,
			     (struct pt_event){ .cr3 = { PT_EV_CR3, p->flag, p->payload << 5 } });
	else
		pt_flow_emit(f, (struct pt_event){ .vmcs = { PT_EV_VMCS, p->payload << 12 } });
}

static void on_item(struct pt_flow *f, const struct pt_packet *p)
{
	f->has_items = true;
	pt_flow_emit(f, (struct pt_event){ .item = { PT_EV_ITEM, f->pebs_group, (uint8_t)p->count,
						     f->block == PT_BLOCK_4, p->payload } });
}

static bool is_timing(const struct pt_packet *p)
{
	return p->type == PT_TSC || p->type == PT_TMA || p->type == PT_MTC || p->type == PT_CYC ||
	       p->type == PT_CBR || p->type == PT_PAD;
}

void pt_flow_on_packet(struct pt_flow *f, const struct pt_packet *p)
{
	if (p->type != PT_FUP && !is_timing(p))
		pt_flow_forget_change(f);
	switch ((enum pt_type)p->type) {
	case PT_TIP:
		on_tip(f, p);
		pt_flow_report_interrupts(f);
		break;
	case PT_TIP_PGE:
		on_pge(f, p);
		pt_flow_report_interrupts(f);
		break;
	case PT_TIP_PGD:
		on_pgd(f, p);
		pt_flow_report_interrupts(f);
		break;
	case PT_FUP:
		if (f->is_in_psb)
			on_psb_fup(f, p);
		else
			on_fup(f, p);
		break;
	case PT_CBR:
		if (f->is_in_psb)
			f->psb_cbr = (uint8_t)p->payload;
		else
			report_ratio(f, (uint8_t)p->payload);
		pt_flow_on_time(f, p);
		break;
	case PT_TSC:
	case PT_TMA:
	case PT_MTC:
	case PT_CYC:
		pt_flow_on_time(f, p);
		break;
	case PT_MODE_EXEC:
	case PT_MODE_TSX:
		on_mode(f, p);
		break;
	case PT_PSB:
		on_psb(f);
		break;
	case PT_PSBEND:
		on_psbend(f);
		break;
	case PT_OVF:
		on_ovf(f);
		break;
	case PT_PTWRITE:
		on_said(f, p, &f->fup_ptwrite);
		break;
	case PT_EXSTOP:
	case PT_MWAIT:
	case PT_PWRE:
	case PT_PWRX:
		on_said(f, p, &f->fup_power);
		break;
	case PT_CFE:
		on_cfe(f, p);
		break;
	case PT_EVD: /* of the CFE that comes, whose time it has */
		pt_flow_emit(f, (struct pt_event){
					.evd = { PT_EV_EVD, (uint8_t)p->count, p->payload } });
		break;
	case PT_TRIG:
		on_said(f, p, &f->fup_event);
		break;
	case PT_PIP:
	case PT_VMCS:
		on_context(f, p);
		break;
	case PT_BBP:
		f->pebs_group = (uint8_t)p->payload;
		break;
	case PT_BIP:
		on_item(f, p);
		break;
	case PT_BEP:
		f->fup_block = p->flag;
		if (!p->flag)
			pt_flow_end_record(f, 0);
		break;
	case PT_PAD:
	case PT_TNT:
	case PT_TRACESTOP:
	case PT_MNT:
	case N_PT_TYPES:
		break;
	}
}

int pt_flow_next_packet(struct pt_flow *f, struct pt_packet *p)
{
	int r = pt_packet_read(f->at, f->end, &f->block, p);

	if (r > 0) {
		if (p->type >= PT_TIP && p->type <= PT_FUP)
			f->last_ip = pt_last_ip(f->last_ip, p->count, p->payload);
		return r;
	}
	if (r == -ENODATA && !f->is_last) {
		f->is_cut = true;
	} else if (f->at < f->end) {
		pt_flow_lose(f, r == -ENODATA ? PT_ERR_CUT : PT_ERR_BAD_PACKET);
		f->at++;
		f->stats.skipped_bytes++;
	}
	return 0;
}

/*
 * Directions are there. An indirect branch among them has its TIP behind the packet that they came
 * in ("deferred TIPs"); with it, what is left of them goes on.
 */
void pt_flow_use_directions(struct pt_flow *f)
{
	enum pt_walk r;

	if (f->config.quick) {
		f->tnt = (struct pt_tnt){ 0 };
		return;
	}
	if (f->seeks_ip) {
		f->tnt = (struct pt_tnt){ 0 };
		return;
	}
	pt_flow_forget_change(f);
	if (!f->node || f->is_async || f->is_in_psb) {
		pt_flow_lose_way(f, PT_ERR_UNEXPECTED);
		return;
	}
	/* Where more may follow at once, a run is to have all the directions that it can take. */
	r = pt_walk_tnt(f, f->tnt.n > PT_TNT_ROOM && f->at < f->end ? PT_RUN_BITS - 1 : 0);
	while (r == PT_WALK_NEEDS_TIP && f->at < f->end) {
		struct pt_packet p;
		int size = pt_flow_next_packet(f, &p);

		if (!size)
			return;
		if (p.type != PT_TIP && !is_timing(&p)) {
			pt_flow_lose_way(f, PT_ERR_MISMATCH);
			return;
		}
		pt_flow_on_packet(f, &p);
		f->at += size;
		if (p.type == PT_TIP)
			return;
	}
	if (r != PT_WALK_NEEDS_TIP)
		pt_flow_check_walk(f, r);
}
