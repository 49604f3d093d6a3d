/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "pt/flow_state.h"

const char *const pt_error_texts[N_PT_ERRORS] = {
#define X(id, text) text,
	PT_ERRORS(X)
#undef X
};

struct pt_flow *pt_flow_new(const struct pt_flow_config *config, struct pt_code *code)
{
	struct pt_flow *f = xcalloc(1, sizeof(*f));

	f->config = *config;
	f->code = code;
	f->width = code->width;
	f->time.clock = &f->config.clock;
	return f;
}

void pt_flow_free(struct pt_flow *f)
{
	free(f);
}

void pt_flow_flush(struct pt_flow *f)
{
	size_t n = f->n_events;

	f->n_events = 0;
	if (n)
		f->config.events(f->config.context, f->events, n);
}

const struct pt_flow_stats *pt_flow_stats(const struct pt_flow *f)
{
	return &f->stats;
}

uint64_t pt_flow_address(const struct pt_flow *f)
{
	return pt_flow_ip(f);
}

static void forget_nodes(struct pt_flow *f)
{
	for (int i = 0; i < PT_STACK; i++)
		f->returns.at[i].node = 0;
}

void pt_flow_set_code(struct pt_flow *f, struct pt_code *code)
{
	/* The callback for side band has put the address where the block was. */
	f->code = code;
	f->has_new_code = true;
	forget_nodes(f);
}

static void clear_stack(struct pt_flow *f)
{
	f->returns.top = f->returns.bottom = 0;
}

static void forget_fup(struct pt_flow *f)
{
	f->fup_tx = f->fup_ptwrite = f->fup_power = f->fup_event = f->fup_block = f->fup_mode =
		f->event_of_branch = false;
}

/* Execution is nowhere that is known. */
static void stand_nowhere(struct pt_flow *f)
{
	f->node = 0;
	f->quick_ip = 0;
	f->tnt = (struct pt_tnt){ 0 };
	f->seeks_ip = f->is_async = f->after_ovf = f->in_tx = f->tx_abort = false;
	f->has_items = false;
	forget_fup(f);
	clear_stack(f);
}

static void say_error(struct pt_flow *f, uint64_t ip, enum pt_error reason)
{
	pt_flow_settle(f, f->insns);
	f->stats.errors[reason]++;
	pt_flow_emit(f, PT_EV_ERROR, ip, f->offset + (uint64_t)(f->at - f->begin), 0, reason);
}

static void seek_psb(struct pt_flow *f)
{
	stand_nowhere(f);
	f->is_in_sync = f->is_in_psb = false;
	f->block = PT_NO_BLOCK;
	f->psb_ip = 0;
	f->knows_iflag = false;
}

void pt_flow_resync(struct pt_flow *f)
{
	seek_psb(f);
	pt_time_resync(&f->time);
	f->is_scanning = false;
}

/*
 * Nothing is to be believed up to the next PSB. Within PSB+ it is of nowhere, whatever was before:
 * a part that begins there knows no more.
 */
static void lose(struct pt_flow *f, enum pt_error reason)
{
	say_error(f, f->is_in_psb ? 0 : pt_flow_ip(f), reason);
	pt_flow_resync(f);
}

/* The same for packets that do not fit the code. Time packets are still read, for later parts. */
static void lose_way(struct pt_flow *f, enum pt_error reason)
{
	say_error(f, f->is_in_psb ? 0 : pt_flow_ip(f), reason);
	f->scan = (struct pt_scan){ .block = f->block, .is_in_psb = f->is_in_psb };
	f->is_scanning = true;
	seek_psb(f);
}

/* True when the walk went well; else the trace is lost. */
static bool walked(struct pt_flow *f, enum pt_walk r)
{
	static const enum pt_error reasons[] = {
		[PT_WALK_NEEDS_TIP] = PT_ERR_MISMATCH,
		[PT_WALK_NO_CODE] = PT_ERR_NO_CODE,
		[PT_WALK_MISMATCH] = PT_ERR_MISMATCH,
		[PT_WALK_LOOP] = PT_ERR_LOOP,
	};

	if (r == PT_WALK_DONE)
		return true;
	/* The packets are all right: the next address that they tell is as good as a PSB's. */
	say_error(f, pt_flow_ip(f), reasons[r]);
	stand_nowhere(f);
	f->seeks_ip = true;
	return false;
}

void pt_flow_walk_to(struct pt_flow *f, uint64_t ip)
{
	walked(f, pt_walk_to(f, ip));
}

/* Side band may change the code below us: what stands is an address meanwhile. False: none due. */
static bool follow_side_band(struct pt_flow *f, uint64_t tsc)
{
	uint64_t ip, nodes = f->code->nodes.n;

	if (!f->config.side_band || tsc < f->next_side_band)
		return false;
	ip = pt_flow_ip(f);
	pt_flow_flush(f); /* what was is of those who were */
	f->next_side_band = f->config.side_band(f->config.context, tsc);
	if (!f->has_new_code && f->code->nodes.n == nodes)
		return true;
	f->has_new_code = false;
	forget_nodes(f);
	if (f->node)
		pt_walk_arrive(f, ip);
	return true;
}

/* Whether the packet at hand comes right behind a CYC, but for PADs. */
static bool is_after_cyc(const struct pt_flow *f)
{
	enum pt_block block = PT_NO_BLOCK;
	const uint8_t *at;
	struct pt_packet p;

	if (f->cyc_at && f->cyc_at >= f->offset) {
		at = f->begin + (f->cyc_at - f->offset);
		at += pt_packet_read(at, f->at, &block, &p);
	} else if (f->begins_behind_cyc) {
		at = f->begin;
	} else {
		return false;
	}
	while (at < f->at && !*at)
		at++;
	return at == f->at;
}

/* Follows a time packet that comes now and then. True: it carried a time. */
static bool tell_time(struct pt_flow *f, const struct pt_packet *p)
{
	bool after_cyc = is_after_cyc(f), moved = pt_time_packet(&f->time, p, after_cyc);

	/* Looked at once: there may be a megabyte of PADs between. */
	f->cyc_at = 0;
	f->begins_behind_cyc = false;
	if (p->type == PT_MTC && after_cyc)
		pt_time_look_ahead(&f->time, f->at + PT_MTC_SIZE, f->end);
	return moved;
}

static bool count_cycles(struct pt_flow *f, const struct pt_packet *p)
{
	f->cyc_at = f->offset + (uint64_t)(f->at - f->begin);
	return pt_time_packet(&f->time, p, false);
}

bool pt_flow_on_time(struct pt_flow *f, const struct pt_packet *p)
{
	if (!(p->type == PT_CYC ? count_cycles(f, p) : tell_time(f, p)))
		return false;
	f->insns_at_tsc = f->insns;
	return follow_side_band(f, f->time.tsc);
}

static bool is_traced(const struct pt_flow *f)
{
	return f->config.quick ? f->quick_ip : f->node;
}

static void begin_at(struct pt_flow *f, uint64_t ip)
{
	f->after_ovf = false;
	if (f->time.tsc)
		follow_side_band(f, f->time.tsc +
					    (f->config.is_coarse ? f->insns - f->insns_at_tsc : 0));
	pt_walk_arrive(f, ip);
	pt_time_on(&f->time, true);
	f->stats.branches++;
	pt_flow_settle(f, f->insns);
	pt_flow_emit(f, PT_EV_BRANCH, 0, ip, PT_F_BRANCH | PT_F_BEGIN, PT_END_FALL);
	if (f->config.quick)
		pt_flow_say_ip(f, ip);
}

/* ---- the interrupt flag ---- */

static void say_interrupts(struct pt_flow *f, uint64_t from, uint64_t to, unsigned int how)
{
	pt_flow_emit(f, PT_EV_EVENT, from, to, how | (f->next_iflag ? PT_INTERRUPTS_ON : 0),
		     PT_MODE_EXEC);
	f->iflag = f->next_iflag;
	f->knows_iflag = true;
}

/* The branch of the last event changed the interrupt flag: reports the change before it. */
static void say_interrupts_of_branch(struct pt_flow *f)
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

/* A MODE.Exec: of a FUP behind it, of the next branch, or as things are. */
static void on_interrupts(struct pt_flow *f, bool now)
{
	f->next_iflag = now;
	if (!f->config.has_event_trace)
		return;
	f->fup_mode = !f->is_in_psb && !f->seeks_ip;
	if (!f->fup_mode && (!f->knows_iflag || f->iflag != now))
		say_interrupts(f, 0, 0, PT_INTERRUPTS_STATUS);
}

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
	pt_flow_emit(f, PT_EV_BRANCH, pt_flow_ip(f), to, flags, PT_END_INTERRUPT);
	f->is_async = f->tx_abort = false;
}

/* Where the way was lost: there is an address. In code that can't be read it stays lost. */
static void go_on_at(struct pt_flow *f, uint64_t ip)
{
	pt_walk_arrive(f, ip);
	f->seeks_ip = f->node && pt_node(f->code, f->node)->n_insns == 0;
	f->node = 0;
	if (!f->seeks_ip)
		begin_at(f, ip);
}

static void on_tip(struct pt_flow *f, const struct pt_packet *p)
{
	if (f->seeks_ip && p->count != PT_IP_NONE) {
		go_on_at(f, f->last_ip);
		return;
	}
	if (f->config.quick && p->count == PT_IP_NONE)
		return;
	if ((!f->node && !f->config.quick) || p->count == PT_IP_NONE) {
		lose_way(f, PT_ERR_UNEXPECTED);
	} else if (f->is_async) {
		branch_async(f, f->last_ip);
		pt_walk_arrive(f, f->last_ip);
		if (f->config.quick)
			pt_flow_say_ip(f, f->last_ip);
	} else if (!walked(f, pt_walk_tip(f, f->last_ip))) {
		go_on_at(f, f->last_ip);
	}
}

static void on_pgd(struct pt_flow *f, const struct pt_packet *p)
{
	uint64_t to = p->count == PT_IP_NONE ? 0 : f->last_ip;

	/* The trace may end twice, as when a filter's end and an interrupt meet. */
	if (!is_traced(f))
		return;
	if (f->is_async) {
		branch_async(f, to);
		f->events[f->n_events - 1].flags |= PT_F_END;
	} else if (!walked(f, pt_walk_out(f, to))) {
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
		begin_at(f, f->last_ip);
	else if (f->node || p->count == PT_IP_NONE)
		lose_way(f, PT_ERR_UNEXPECTED);
	else if (f->seeks_ip)
		go_on_at(f, f->last_ip);
	else
		begin_at(f, f->last_ip);
}

/* A PEBS record is whole. */
static void end_record(struct pt_flow *f, uint64_t ip)
{
	if (f->has_items)
		pt_flow_emit(f, PT_EV_PEBS, ip, 0, 0, 0);
	f->has_items = false;
}

/* Reports the events that waited for the address in a FUP. */
static void say_fup(struct pt_flow *f, uint64_t ip)
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
		end_record(f, ip);
}

static void on_fup(struct pt_flow *f, const struct pt_packet *p)
{
	bool is_for_a_packet = f->fup_tx || f->fup_ptwrite || f->fup_power || f->fup_block ||
			       f->fup_mode || (f->fup_event && !f->event_of_branch);

	if (p->count == PT_IP_NONE) {
		forget_fup(f);
		return;
	}
	if (f->after_ovf) {
		begin_at(f, f->last_ip);
		return;
	}
	if (f->seeks_ip)
		go_on_at(f, f->last_ip);
	if (!is_traced(f) && f->seeks_ip) {
		f->fup_tx = false; /* where it was is not known */
		say_fup(f, f->last_ip);
		forget_fup(f);
		return;
	}
	if (!is_traced(f)) {
		/* A power event or a record may tell its address while nothing is traced. */
		if (is_for_a_packet || f->fup_event)
			say_fup(f, f->last_ip);
		else
			lose_way(f, PT_ERR_UNEXPECTED);
		forget_fup(f);
		return;
	}
	if (!walked(f, pt_walk_to(f, f->last_ip))) {
		go_on_at(f, f->last_ip);
		if (f->seeks_ip)
			return;
	}
	if (f->config.quick)
		pt_flow_say_ip(f, f->last_ip);
	say_fup(f, pt_flow_ip(f));
	f->is_async = !is_for_a_packet || f->tx_abort;
	forget_fup(f);
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
	forget_fup(f);
	clear_stack(f);
	pt_time_psb(&f->time);
	if (pt_code_bytes(f->code) > PT_CODE_LIMIT_BYTES) {
		uint64_t ip = pt_flow_ip(f);

		pt_code_forget(f->code);
		if (f->node)
			pt_walk_arrive(f, ip);
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
		pt_walk_arrive(f, f->last_ip);
		return;
	}
	r = f->node ? pt_walk_to(f, f->last_ip) : PT_WALK_DONE;
	if (r != PT_WALK_DONE) {
		/* As good a place to go on from as any. */
		walked(f, r);
		f->seeks_ip = false;
	}
	/* The time and the width of the code are still to come. */
	if (!f->node)
		f->psb_ip = f->last_ip;
}

static void on_psbend(struct pt_flow *f)
{
	f->is_in_psb = false;
	pt_flow_settle(f, f->insns);
	pt_flow_emit(f, PT_EV_PSB, f->psb_had_ip ? pt_flow_ip(f) : 0, f->psb_offset, 0, 0);
	if (f->psb_cbr)
		pt_flow_emit(f, PT_EV_CBR, pt_flow_ip(f), f->psb_cbr, 0, 0);
	if (f->psb_ip && !is_traced(f)) {
		begin_at(f, f->psb_ip);
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
	say_error(f, pt_flow_ip(f), PT_ERR_OVERFLOW);
	stand_nowhere(f);
	f->is_in_psb = false;
	f->after_ovf = true;
}

static void on_mode(struct pt_flow *f, const struct pt_packet *p)
{
	if (p->type == PT_MODE_EXEC) {
		f->width = (uint8_t)p->payload;
		on_interrupts(f, p->count & 1);
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
static void on_said(struct pt_flow *f, const struct pt_packet *p, enum pt_event_kind kind,
		    bool *awaits)
{
	if (p->flag) {
		*awaits = true;
		f->fup_payload = p->payload;
		f->fup_detail = p->type;
		f->fup_type = (uint8_t)p->count;
	} else {
		pt_flow_settle(f, f->insns);
		pt_flow_emit(f, kind, 0, p->payload, kind == PT_EV_EVENT ? p->count : 0, p->type);
	}
}

/* A CFE without an address gets the address of the next branch. */
static void on_cfe(struct pt_flow *f, const struct pt_packet *p)
{
	struct pt_packet with_address = *p;

	f->event_of_branch = !p->flag && is_traced(f);
	with_address.flag |= f->event_of_branch;
	on_said(f, &with_address, PT_EV_EVENT, &f->fup_event);
}

/* Said with each PSB, told when it is another. */
static void on_context(struct pt_flow *f, const struct pt_packet *p)
{
	uint64_t *last = p->type == PT_PIP ? &f->pip : &f->vmcs;
	uint64_t now = p->payload << 1 | p->flag;

	if (*last == now)
		return;
	*last = now;
	pt_flow_emit(f, PT_EV_CONTEXT, 0, p->payload << (p->type == PT_PIP ? 5 : 12), p->flag,
		     p->type);
}

static void on_item(struct pt_flow *f, const struct pt_packet *p)
{
	f->has_items = true;
	pt_flow_emit(f, PT_EV_ITEM, 0, p->payload,
		     p->count | (f->block == PT_BLOCK_4 ? PT_PEBS_32_BIT : 0), f->pebs_group);
}

static bool is_timing(const struct pt_packet *p)
{
	return p->type == PT_TSC || p->type == PT_TMA || p->type == PT_MTC || p->type == PT_CYC ||
	       p->type == PT_CBR || p->type == PT_PAD;
}

/* A MODE.TSX without a FUP behind it says how it is, and not that it changed here. */
static void forget_change(struct pt_flow *f)
{
	f->fup_mode = false;
	if (!f->fup_tx)
		return;
	f->fup_tx = f->tx_abort = false;
	f->in_tx = f->tx_next;
}

static void on_packet(struct pt_flow *f, const struct pt_packet *p)
{
	if (p->type != PT_FUP && !is_timing(p))
		forget_change(f);
	switch ((enum pt_type)p->type) {
	case PT_TIP:
		on_tip(f, p);
		say_interrupts_of_branch(f);
		break;
	case PT_TIP_PGE:
		on_pge(f, p);
		say_interrupts_of_branch(f);
		break;
	case PT_TIP_PGD:
		on_pgd(f, p);
		say_interrupts_of_branch(f);
		break;
	case PT_FUP:
		if (f->is_in_psb)
			on_psb_fup(f, p);
		else
			on_fup(f, p);
		break;
	case PT_CBR:
		if (f->is_in_psb)
			f->psb_cbr = p->payload & 0xff;
		else
			pt_flow_emit(f, PT_EV_CBR, pt_flow_ip(f), p->payload & 0xff, 0, 0);
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
		on_said(f, p, PT_EV_PTWRITE, &f->fup_ptwrite);
		break;
	case PT_EXSTOP:
	case PT_MWAIT:
	case PT_PWRE:
	case PT_PWRX:
		on_said(f, p, PT_EV_POWER, &f->fup_power);
		break;
	case PT_CFE:
		on_cfe(f, p);
		break;
	case PT_EVD: /* of the CFE that comes, whose time it has */
		pt_flow_emit(f, PT_EV_EVENT, 0, p->payload, p->count, p->type);
		break;
	case PT_TRIG:
		on_said(f, p, PT_EV_EVENT, &f->fup_event);
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
			end_record(f, 0);
		break;
	case PT_PAD:
	case PT_TNT:
	case PT_TRACESTOP:
	case PT_MNT:
	case N_PT_TYPES:
		break;
	}
}

/* Reads the packet at hand; 0: none is left, or it can't be read (and an error is reported). */
static int next_packet(struct pt_flow *f, struct pt_packet *p)
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
		lose(f, r == -ENODATA ? PT_ERR_CUT : PT_ERR_BAD_PACKET);
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
	forget_change(f);
	if (!f->node || f->is_async || f->is_in_psb) {
		lose_way(f, PT_ERR_UNEXPECTED);
		return;
	}
	/* Where more may follow at once, a run is to have all the directions that it can take. */
	r = pt_walk_tnt(f, f->tnt.n > PT_TNT_ROOM && f->at < f->end ? PT_RUN_BITS - 1 : 0);
	while (r == PT_WALK_NEEDS_TIP && f->at < f->end) {
		struct pt_packet p;
		int size = next_packet(f, &p);

		if (!size)
			return;
		if (p.type != PT_TIP && !is_timing(&p)) {
			lose_way(f, PT_ERR_MISMATCH);
			return;
		}
		on_packet(f, &p);
		f->at += size;
		if (p.type == PT_TIP)
			return;
	}
	if (r != PT_WALK_NEEDS_TIP)
		walked(f, r);
}

/*
 * A TIP where one is expected: half of all packets that are no TNTs, by a shorter way. False: it
 * is something else.
 */
static bool quick_tip(struct pt_flow *f)
{
	static const uint64_t masks[8] = { [PT_IP_16] = 0xffff, [PT_IP_32] = 0xffffffff };
	uint64_t mask, payload;
	uint8_t head;

	if (f->end - f->at < 9)
		return false;
	head = *f->at;
	mask = masks[head >> 5];
	if ((head & 0x1f) != 0x0d || !mask || !f->node || f->is_async || f->block != PT_NO_BLOCK)
		return false;
	memcpy(&payload, f->at + 1, sizeof(payload));
	f->last_ip = (f->last_ip & ~mask) | (payload & mask);
	forget_change(f);
	if (!walked(f, pt_walk_tip(f, f->last_ip)))
		go_on_at(f, f->last_ip);
	say_interrupts_of_branch(f);
	f->at += head >> 5 == PT_IP_16 ? 3 : 5;
	return true;
}

/* Follows the time up to a PSB, or up to the last whole packet where no PSB is known. */
static const uint8_t *scan(struct pt_flow *f, const uint8_t *to)
{
	const uint8_t *at = pt_time_scan(&f->time, &f->scan, f->at, to, f->end);

	if (f->is_cut && !f->scan.is_lost)
		return at;
	if (at != to)
		pt_time_resync(&f->time);
	f->is_scanning = false;
	return to;
}

/* To the next PSB. False: there is none. */
static bool synchronise(struct pt_flow *f)
{
	const uint8_t *psb = pt_find_psb(f->at, f->end);

	if (psb == f->end && !f->is_last) {
		/* It may have begun. */
		psb = f->end - MIN((size_t)(f->end - f->at), PT_PSB_SIZE - 1);
		f->is_cut = true;
	}
	if (f->is_scanning)
		psb = scan(f, psb);
	if (f->config.quick != PT_QUICKEST)
		f->stats.skipped_bytes += (uint64_t)(psb - f->at);
	f->at = psb;
	f->is_in_sync = psb < f->end && !f->is_cut;
	return f->is_in_sync;
}

void pt_flow_pause(struct pt_flow *f)
{
	f->is_paused = true;
}

size_t pt_flow_feed_some(struct pt_flow *f, const uint8_t *bytes, size_t size, bool is_last)
{
	struct pt_packet p;
	size_t used;
	int r;

	f->begin = f->at = bytes;
	f->end = bytes + size;
	f->is_last = is_last;
	f->is_paused = f->is_cut = false;
	if (f->was_at_watched) {
		f->was_at_watched = false;
		f->next_side_band = 0;
		follow_side_band(f, f->time.tsc);
	}
	while (f->at < f->end && !f->is_paused && !f->is_cut) {
		if (!f->is_in_sync && !synchronise(f))
			break;
		if (f->block == PT_NO_BLOCK)
			f->at = pt_tnt_collect(f->at, f->end, &f->tnt);
		if (f->tnt.n) {
			pt_flow_use_directions(f);
			continue;
		}
		if (quick_tip(f)) {
			pt_walk_hops(f);
			continue;
		}
		r = next_packet(f, &p);
		if (r)
			on_packet(f, &p);
		f->at += r;
	}
	/* A deferred TIP left directions that wait for the next packet, but the buffer ends here.
	 */
	if (f->is_last && f->at == f->end && f->tnt.n)
		pt_flow_use_directions(f);
	assert(f->at >= f->begin && f->at <= f->end);
	used = (size_t)(f->at - f->begin);
	f->begins_behind_cyc = is_after_cyc(f);
	f->offset += used;
	f->begin = f->at;
	f->stats.bytes += used;
	f->stats.insns = f->insns;
	f->stats.backwards = f->time.backwards;
	pt_flow_flush(f);
	return used;
}

void pt_flow_feed(struct pt_flow *f, const uint8_t *bytes, size_t size)
{
	while (size) {
		size_t used = pt_flow_feed_some(f, bytes, size, true);

		bytes += used;
		size -= used;
	}
}
