/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow_packets.h"

#include <errno.h>

#include "pt/flow_emit.h"
#include "pt/flow_pending.h"
#include "pt/flow_place.h"
#include "pt/flow_time.h"
#include "pt/flow_way.h"
#include "pt/walk.h"

/* An asynchronous branch: an interrupt, a fault, an aborted transaction, an exit of a guest. */
static unsigned int branch_async(struct pt_flow *f, uint64_t to)
{
	unsigned int flags = PT_F_BRANCH;

	if (to && pt_flow_crosses(f))
		flags |= PT_F_CALL | PT_F_ASYNC | PT_F_VM_EXIT;
	else if (f->facts & PT_FACT_TX_ABORTS)
		flags |= PT_F_TX_ABORT;
	else if (to)
		flags |= PT_F_CALL | PT_F_ASYNC | PT_F_INTERRUPT;
	if (!to)
		flags |= PT_F_ASYNC | PT_F_END;
	f->stats.branches++;
	pt_flow_settle(f, f->insns);
	pt_flow_emit_branch(f, PT_END_INTERRUPT, flags, 0, pt_flow_ip(f),
			    flags & PT_F_VM_EXIT ? 0 : to);
	f->position = PT_EXECUTING;
	pt_flow_set_fact(f, PT_FACT_TX_ABORTS, false);
	return flags;
}

/* With its target. No branch has addresses of two machines, so an exit of a guest has two parts. */
static void arrive_async(struct pt_flow *f, uint64_t to)
{
	unsigned int flags = branch_async(f, to);

	pt_flow_arrive(f, to);
	if (flags & PT_F_VM_EXIT)
		pt_flow_emit_branch(f, PT_END_INTERRUPT, flags, 0, 0, to);
}

static bool lacks_fup(const struct pt_flow *f)
{
	return f->position == PT_AFTER_OVERFLOW && pt_flow_has(f, PT_ERRATUM_OVF_WITHOUT_FUP);
}

static void on_tip(struct pt_flow *f, const struct pt_packet *p)
{
	if (f->position == PT_SEEKING) {
		if (p->count != PT_IP_NONE)
			pt_flow_go_on_at(f, f->last_ip);
		return;
	}
	if (f->config.quick && p->count == PT_IP_NONE)
		return;
	if (lacks_fup(f) && p->count != PT_IP_NONE) {
		pt_flow_begin_at(f, f->last_ip);
		return;
	}
	if ((!pt_flow_is_traced(f) && !f->config.quick) || p->count == PT_IP_NONE) {
		pt_flow_lose_way(f, PT_ERR_UNEXPECTED);
	} else if (f->position == PT_AT_ASYNC && pt_flow_crosses(f) && !f->is_guest) {
		/* No interrupt enters a guest. */
		pt_flow_lose_way(f, PT_ERR_MISMATCH);
		pt_flow_go_on_at(f, f->last_ip);
	} else if (f->position == PT_AT_ASYNC) {
		arrive_async(f, f->last_ip);
		if (f->config.quick)
			pt_flow_say_ip(f, f->last_ip);
	} else if (!pt_flow_check_walk(f, pt_walk_tip(f, f->last_ip))) {
		pt_flow_go_on_at(f, f->last_ip);
	}
}

static void end_trace(struct pt_flow *f)
{
	pt_flow_time_on(f, false);
	f->position = PT_NOWHERE;
	f->node = 0;
	f->ip = 0;
	pt_flow_enter_machine(f);
}

static bool stands_at_vm_entry(const struct pt_flow *f)
{
	const struct pt_node *node = pt_node(f->code, f->node);

	return f->node && node->end == PT_END_VM_ENTRY && node->last == node->start;
}

static void on_pgd(struct pt_flow *f, const struct pt_packet *p)
{
	uint64_t to = p->count == PT_IP_NONE ? 0 : f->last_ip;

	/* The trace may end twice, as when a filter's end and an interrupt meet. */
	if (!pt_flow_is_traced(f))
		return;
	if (pt_flow_has(f, PT_ERRATUM_FUP_AT_VM_ENTRY) && stands_at_vm_entry(f))
		f->position = PT_EXECUTING;
	/* One branch has no addresses of two machines. */
	if (pt_flow_crosses(f))
		to = 0;
	if (f->position == PT_AT_ASYNC) {
		branch_async(f, to);
		f->events[f->n_events - 1].branch.flags |= PT_F_END;
	} else if (!pt_flow_check_walk(f, pt_walk_out(f, to))) {
		return;
	}
	end_trace(f);
}

static void on_pge(struct pt_flow *f, const struct pt_packet *p)
{
	/* Where tracing is enabled a PSB may come first, with the address of the WRMSR before. */
	if (f->node && f->insns == f->begun_at && f->position == PT_EXECUTING &&
	    p->count != PT_IP_NONE)
		pt_flow_begin_at(f, f->last_ip);
	else if (f->node || p->count == PT_IP_NONE)
		pt_flow_lose_way(f, PT_ERR_UNEXPECTED);
	else if (f->position == PT_SEEKING)
		pt_flow_go_on_at(f, f->last_ip);
	else
		pt_flow_begin_at(f, f->last_ip);
}

/* A FUP while nothing is traced: a power event or a record may have its address there. */
static void on_fup_untraced(struct pt_flow *f)
{
	if (!f->pending && f->position != PT_SEEKING) {
		pt_flow_lose_way(f, PT_ERR_UNEXPECTED);
		return;
	}
	/* Where a transaction was is not known. */
	if (f->position == PT_SEEKING)
		f->pending &= (uint8_t)~PT_PENDING_TX;
	pt_flow_report_pending(f, f->last_ip);
}

static void begin_after_overflow(struct pt_flow *f)
{
	unsigned int tx = f->pending & PT_PENDING_TX;

	pt_flow_begin_at(f, f->last_ip);
	if (pt_flow_has(f, PT_ERRATUM_FUP_WHILE_OFF))
		f->begun_at = f->insns;
	if (pt_flow_has(f, PT_ERRATUM_OVF_WITHOUT_FUP) && tx)
		pt_flow_report_pending(f, f->last_ip);
}

/* The branch before an abort led elsewhere (PT_ERRATUM_BRANCH_BEFORE_ABORT). */
static bool is_abort_elsewhere(const struct pt_flow *f)
{
	return pt_flow_has(f, PT_ERRATUM_BRANCH_BEFORE_ABORT) && f->node &&
	       f->facts & PT_FACT_TX_ABORTS && !pt_walk_reaches(f, f->last_ip);
}

static void on_fup(struct pt_flow *f, const struct pt_packet *p)
{
	bool is_for_a_packet = f->pending & ~PT_PENDING_EVENT_OF_BRANCH;

	if (p->count == PT_IP_NONE) {
		f->pending = 0;
		return;
	}
	if (f->position == PT_AFTER_OVERFLOW) {
		begin_after_overflow(f);
		return;
	}
	if (f->position == PT_SEEKING)
		pt_flow_go_on_at(f, f->last_ip);
	if (!pt_flow_is_traced(f)) {
		on_fup_untraced(f);
		return;
	}
	if (is_abort_elsewhere(f)) {
		pt_flow_arrive(f, f->last_ip);
	} else if (!pt_flow_check_walk(f, pt_walk_to(f, f->last_ip))) {
		pt_flow_go_on_at(f, f->last_ip);
		if (f->position == PT_SEEKING)
			return;
	}
	if (f->config.quick)
		pt_flow_say_ip(f, f->last_ip);
	pt_flow_report_pending(f, pt_flow_ip(f));
	f->position = !is_for_a_packet || f->facts & PT_FACT_TX_ABORTS ? PT_AT_ASYNC : PT_EXECUTING;
}

static void on_psb(struct pt_flow *f)
{
	f->stats.psbs++;
	f->sync = PT_IN_PSB;
	f->psb.offset = f->offset + (uint64_t)(f->at - f->begin);
	f->psb.address = PT_PSB_NO_ADDRESS;
	f->psb.cbr = f->psb.width = 0;
	f->last_ip = 0;
	if (f->position == PT_AT_ASYNC)
		f->position = PT_EXECUTING;
	else if (f->position == PT_SEEKING)
		f->position = PT_NOWHERE;
	f->pending = 0;
	pt_flow_set_fact(f, PT_FACT_BAD_BYTES, false);
	pt_flow_clear_stack(f);
	pt_time_psb(&f->time);
	if (pt_code_bytes(f->code) > PT_CODE_LIMIT_BYTES) {
		pt_flow_leave_code(f);
		pt_code_forget(f->code);
		pt_flow_enter_code(f);
	}
}

/* Quick decoding: the address is where execution stands. */
static void on_psb_fup_quick(struct pt_flow *f)
{
	pt_flow_arrive(f, f->last_ip);
	f->position = PT_EXECUTING;
	f->psb.address = PT_PSB_GOES_ON;
}

/* The address inside PSB+ checks the position, or is the place where decoding begins. */
static void on_psb_fup(struct pt_flow *f, const struct pt_packet *p)
{
	if (p->count == PT_IP_NONE)
		return;
	if (f->config.quick) {
		on_psb_fup_quick(f);
		return;
	}
	/* After an error, this is as good a place to go on from as any. */
	if (pt_flow_is_traced(f) &&
	    !pt_flow_check_walk(f, pt_flow_crosses(f) ? PT_WALK_MISMATCH
						      : pt_walk_to(f, f->last_ip))) {
		f->position = PT_NOWHERE;
		pt_flow_enter_machine(f);
	}
	/* The time and the width of the code are still to come. */
	if (!pt_flow_is_traced(f) && f->last_ip) {
		f->psb.address = PT_PSB_BEGINS;
		f->psb.ip = f->last_ip;
	} else if (f->psb.address == PT_PSB_NO_ADDRESS) {
		f->psb.address = PT_PSB_GOES_ON;
	}
}

static void report_ratio(struct pt_flow *f, uint8_t ratio)
{
	pt_flow_emit(f, (struct pt_event){ .cbr = { PT_EV_CBR, ratio, pt_flow_ip(f) } });
}

/* Quick decoding: a PSB+ without an address says that tracing is off. */
static void end_quick_psb(struct pt_flow *f)
{
	if (f->psb.address != PT_PSB_NO_ADDRESS) {
		pt_flow_say_ip(f, f->ip);
	} else if (pt_flow_is_traced(f)) {
		f->position = PT_NOWHERE;
		f->ip = 0;
	}
	/* Nothing up to the next PSB is read, nor is it missed. */
	if (f->config.quick == PT_QUICKEST)
		f->sync = PT_SKIPPING;
}

static void on_psbend(struct pt_flow *f)
{
	bool has_ip = f->psb.address != PT_PSB_NO_ADDRESS;

	/* Of a PSB+ that was damaged: a FUP before was its own, and no branch's. */
	if (f->sync != PT_IN_PSB) {
		if (f->position == PT_AT_ASYNC)
			f->position = PT_EXECUTING;
		return;
	}
	f->sync = PT_FOLLOWING;
	pt_flow_begin_period(f, f->psb.address == PT_PSB_GOES_ON);
	pt_flow_settle(f, f->insns);
	pt_flow_emit(f, (struct pt_event){
				.psb = { PT_EV_PSB, has_ip ? pt_flow_ip(f) : 0, f->psb.offset } });
	if (f->psb.cbr)
		report_ratio(f, f->psb.cbr);
	if (f->psb.address == PT_PSB_BEGINS) {
		if (!pt_flow_is_traced(f)) {
			pt_flow_begin_at(f, f->psb.ip);
			f->begun_at = f->insns;
		}
		f->psb.address = PT_PSB_GOES_ON;
	}
	if (f->config.quick)
		end_quick_psb(f);
	else if (!has_ip && pt_flow_has(f, PT_ERRATUM_FUP_WHILE_OFF) &&
		 f->position == PT_EXECUTING && f->insns == f->begun_at)
		end_trace(f);
}

static void on_ovf(struct pt_flow *f)
{
	pt_flow_report_error(f, pt_flow_ip(f), PT_ERR_OVERFLOW);
	pt_flow_stand_nowhere(f, PT_AFTER_OVERFLOW);
	f->psb.address = PT_PSB_NO_ADDRESS;
	f->sync = PT_FOLLOWING;
	pt_flow_enter_machine(f);
}

static void on_transaction(struct pt_flow *f, bool is_begin, bool aborts)
{
	f->pending &= (uint8_t)~PT_PENDING_TX;
	if (f->sync == PT_IN_PSB) {
		pt_flow_set_fact(f, PT_FACT_IN_TX, is_begin);
		pt_flow_set_fact(f, PT_FACT_TX_ABORTS, false);
		return;
	}
	/* A change binds to the FUP that follows; up to there it is as it was. */
	pt_flow_set_fact(f, PT_FACT_TX_ABORTS, aborts);
	f->pending |= is_begin ? PT_PENDING_TX_BEGIN : PT_PENDING_TX_END;
}

static void on_mode(struct pt_flow *f, const struct pt_packet *p)
{
	if (p->type == PT_MODE_TSX) {
		on_transaction(f, p->payload & 1, p->payload & 2);
		return;
	}
	f->width = (uint8_t)p->payload;
	if (f->sync == PT_IN_PSB)
		f->psb.width = f->width;
	pt_flow_on_interrupts(f, p->count & 1);
}

/* A packet whose address follows in a FUP, and takes the place of an earlier one of its kind. */
static void await_fup(struct pt_flow *f, const struct pt_packet *p, enum pt_pending pending,
		      struct pt_packet *at)
{
	f->pending |= (uint8_t)pending;
	*at = *p;
}

/* A packet that has no address: execution was there, or ran on meanwhile. */
static void report_packet(struct pt_flow *f, const struct pt_packet *p)
{
	pt_flow_settle(f, f->insns);
	pt_flow_emit(f, pt_flow_packet_event(p, pt_flow_ip(f)));
}

static void on_said(struct pt_flow *f, const struct pt_packet *p, enum pt_pending pending,
		    struct pt_packet *at)
{
	if (p->flag)
		await_fup(f, p, pending, at);
	else
		report_packet(f, p);
}

/* A CFE without an address gets the address of the next branch. */
static void on_cfe(struct pt_flow *f, const struct pt_packet *p)
{
	const unsigned int both = PT_PENDING_EVENT | PT_PENDING_EVENT_OF_BRANCH;

	if (!p->flag && !pt_flow_is_traced(f)) {
		report_packet(f, p);
		return;
	}
	f->pending &= (uint8_t)~both;
	await_fup(f, p, p->flag ? PT_PENDING_EVENT : PT_PENDING_EVENT_OF_BRANCH, &f->pending_event);
}

/* Said with each PSB, told when it is another. */
static void on_context(struct pt_flow *f, const struct pt_packet *p)
{
	uint64_t *last = p->type == PT_PIP ? &f->pip : &f->vmcs;
	uint64_t now = p->payload << 1 | p->flag;

	if (p->type == PT_PIP)
		f->next_is_guest = p->flag;
	if (!pt_flow_is_traced(f))
		pt_flow_enter_machine(f);
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
	pt_flow_set_fact(f, PT_FACT_HAS_ITEMS, true);
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
		if (f->sync == PT_IN_PSB)
			on_psb_fup(f, p);
		else
			on_fup(f, p);
		break;
	case PT_CBR:
		if (f->sync == PT_IN_PSB)
			f->psb.cbr = (uint8_t)p->payload;
		else
			report_ratio(f, (uint8_t)p->payload);
		pt_flow_on_time(f, p);
		break;
	case PT_TSC:
	case PT_TMA:
	case PT_MTC:
		pt_flow_on_time(f, p);
		break;
	case PT_CYC:
		pt_flow_on_time(f, p);
		if (pt_flow_has(f, PT_ERRATUM_OVF_IN_CYC) && pt_cyc_has_ovf(f->at, f->end))
			on_ovf(f);
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
		on_said(f, p, PT_PENDING_PTWRITE, &f->pending_ptwrite);
		break;
	case PT_EXSTOP:
	case PT_MWAIT:
	case PT_PWRE:
	case PT_PWRX:
		on_said(f, p, PT_PENDING_POWER, &f->pending_power);
		break;
	case PT_CFE:
		on_cfe(f, p);
		break;
	case PT_EVD: /* of the CFE that comes, whose time it has */
		pt_flow_emit(f, (struct pt_event){
					.evd = { PT_EV_EVD, (uint8_t)p->count, p->payload } });
		break;
	case PT_TRIG:
		on_said(f, p, PT_PENDING_EVENT, &f->pending_event);
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
		f->pending &= (uint8_t)~PT_PENDING_RECORD;
		if (p->flag)
			f->pending |= PT_PENDING_RECORD;
		else
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

/* Whether a whole PSB follows the end. Else the bytes there may begin one. */
static bool reaches_psb(const struct pt_flow *f)
{
	return f->fed_end - f->end >= PT_PSB_SIZE;
}

int pt_flow_next_packet(struct pt_flow *f, struct pt_packet *p)
{
	int r = pt_packet_read(f->at, f->end, &f->block, p);

	if (r > 0) {
		if (p->type >= PT_TIP && p->type <= PT_FUP)
			f->last_ip = pt_last_ip(f->last_ip, p->count, p->payload);
		return r;
	}
	if (f->at < f->end && (r != -ENODATA || reaches_psb(f))) {
		pt_flow_pass_bad_byte(f);
	} else if (r == -ENODATA && !(f->facts & PT_FACT_IS_LAST)) {
		f->stops |= PT_STOP_CUT;
	} else if (f->at < f->end) {
		pt_flow_lose_rest(f);
		f->at++;
		f->stats.skipped_bytes++;
	}
	return 0;
}

unsigned int pt_flow_last_tnt(const struct pt_flow *f)
{
	enum pt_block block = PT_NO_BLOCK;
	const uint8_t *at = f->tnt_from;
	unsigned int n = f->n_last_tnt;
	struct pt_packet p;
	int size;

	for (; at && at < f->at && (size = pt_packet_read(at, f->at, &block, &p)) > 0; at += size)
		n = p.type == PT_TNT ? p.count : n;
	return n;
}

/*
 * An indirect branch has directions behind it. A TIP may be deferred to the end of the TNT packet
 * at hand, but not behind the next one. So all TNT packets before the TIP are looked at, however
 * many of them were collected before the walk.
 */
static bool may_be_deferred(struct pt_flow *f)
{
	bool has_more = false;
	const uint8_t *from;

	do {
		struct pt_tnt more = { 0 };

		from = f->at;
		f->at = pt_tnt_collect(f->at, f->end, &more);
		has_more |= more.n;
	} while (f->at > from);
	return !has_more && f->tnt.n <= pt_flow_last_tnt(f);
}

/*
 * Directions are there. An indirect branch among them has its TIP behind the packet that they came
 * in ("deferred TIPs"); with it, what is left of them goes on.
 */
void pt_flow_use_directions(struct pt_flow *f)
{
	enum pt_walk r;

	if (f->config.quick || f->position == PT_SEEKING || lacks_fup(f)) {
		f->tnt = (struct pt_tnt){ 0 };
		return;
	}
	pt_flow_forget_change(f);
	if (f->position != PT_EXECUTING || f->sync == PT_IN_PSB) {
		pt_flow_lose_way(f, PT_ERR_UNEXPECTED);
		return;
	}
	/* Where more may follow at once, a run is to have all the directions that it can take. */
	r = pt_walk_tnt(f, ((f->tnt.n > PT_TNT_ROOM) & (f->at < f->end)) * (PT_RUN_BITS - 1u));
	if (r == PT_WALK_NEEDS_TIP && !may_be_deferred(f)) {
		pt_flow_lose_way(f, PT_ERR_MISMATCH);
		return;
	}
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
