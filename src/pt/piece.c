/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/piece.h"

#include <assert.h>
#include <string.h>

#include "pt/flow_emit.h"
#include "pt/flow_packets.h"
#include "pt/flow_place.h"
#include "pt/flow_way.h"

void pt_flow_restart(struct pt_flow *f, uint64_t offset)
{
	struct pt_flow_config config = f->config;
	struct pt_flow_stats stats = f->stats;
	struct pt_code *code = f->code;

	pt_flow_flush(f);
	memset(f, 0, sizeof(*f));
	f->config = config;
	f->stats = stats;
	f->code = code;
	f->width = code->width;
	f->time.clock = &f->config.clock;
	f->offset = offset;
	pt_flow_begin_reports(f);
}

void pt_flow_set_time(struct pt_flow *f, const struct pt_time *time)
{
	f->time = *time;
	f->time.clock = &f->config.clock;
	/* Of the piece: */
	f->time.backwards = f->time.cycles = f->time.ratio_ticks = f->time.said = 0;
}

struct pt_piece_end pt_flow_piece_end(const struct pt_flow *f)
{
	return (struct pt_piece_end){ .insns = f->insns,
				      .cycles = f->time.cycles,
				      .tsc = f->said_tsc,
				      .overlap = f->overlap,
				      .is_traced = pt_flow_is_traced(f),
				      .is_guest = f->is_guest };
}

/* The FUP of a PSB+, its address, and the machine there; NULL: there is none. */
static const uint8_t *psb_address(const uint8_t *at, const uint8_t *end, uint64_t *ip,
				  bool *is_guest)
{
	enum pt_block block = PT_NO_BLOCK;
	const uint8_t *psb = at;
	struct pt_packet p;
	int size;

	for (; (size = pt_packet_read(at, end, &block, &p)) > 0 && p.type != PT_PSBEND &&
	       (p.type != PT_PSB || at == psb);
	     at += size) {
		if (p.type == PT_PIP)
			*is_guest = p.flag;
		if (p.type != PT_FUP || p.count == PT_IP_NONE)
			continue;
		*ip = pt_last_ip(0, p.count, p.payload);
		return at;
	}
	return NULL;
}

/*
 * Cycles by ticks go on up to the TSC of the next PSB, where the next piece begins to count. If
 * time is ahead of that, both count the ticks between.
 */
static void count_up_to_psb(struct pt_flow *f, const uint8_t *psb, const uint8_t *end, uint64_t tsc)
{
	struct pt_packet p = { .type = PT_TSC, .payload = tsc };
	struct pt_time *t = &f->time;
	bool is_guest = pt_time_psb_is_of_guest(psb, end, f->next_is_guest);
	uint64_t before = t->tsc, bound;

	if (!tsc || t->has_cyc)
		return;
	bound = pt_time_bound(t, &p, psb + PT_PSB_SIZE, f->config.next_tsc, f->config.context);
	if (bound)
		pt_time_refuse(t, &p, bound, is_guest);
	else
		pt_time_packet(t, &p, false);
	tsc = bound ? bound : pt_time_shift(tsc, t->shift);
	if (t->is_on && !is_guest && tsc < before)
		f->overlap = (before - tsc) * t->cbr;
}

void pt_flow_end_piece(struct pt_flow *f, const uint8_t *psb, const uint8_t *end)
{
	bool is_confirmed = false;
	uint64_t ip = 0, tsc;
	const uint8_t *fup;

	assert(psb <= end);
	pt_flow_enter_code(f);
	fup = psb < end ? psb_address(psb, end, &ip, &f->next_is_guest) : NULL;
	f->begin = f->at = f->end = f->fed_end = psb;
	if (f->tnt.n)
		pt_flow_use_directions(f);
	if (fup && f->node) {
		f->at = fup;
		f->end = f->fed_end = end;
		is_confirmed = pt_flow_check_walk(f, pt_flow_crosses(f) ? PT_WALK_MISMATCH
									: pt_walk_to(f, ip));
		f->at = psb;
	}
	tsc = psb < end ? pt_time_of_psb(psb, end) : 0;
	if (tsc && !f->next_is_guest && pt_time_is_behind(&f->time, tsc))
		pt_flow_set_fact(f, PT_FACT_IN_DOUBT, true);
	pt_flow_end_period(f, is_confirmed);
	/* The next piece begins with all branches. */
	pt_flow_resume(f, pt_flow_ip(f));
	f->stats.insns = f->insns;
	f->stats.doubtful_insns = pt_flow_doubtful_insns(f);
	pt_flow_leave_code(f);
	pt_flow_flush(f);
	count_up_to_psb(f, psb, end, tsc);
}

const uint8_t *pt_find_cut(const uint8_t *at, const uint8_t *begin, const uint8_t *end)
{
	/* Behind an OVF, the packet with the address may follow the PSB: do not cut there. */
	static const uint8_t ovf[] = { 0x02, 0xf3 };

	for (;;) {
		const uint8_t *psb = pt_find_psb(at, end), *before;

		if (psb == end)
			return end;
		before = psb - MIN((size_t)(psb - begin), 16);
		if (!memmem(before, (size_t)(psb - before), ovf, sizeof(ovf)))
			return psb;
		at = psb + PT_PSB_SIZE;
	}
}

/* Events before the branch that is left out had no address yet: they get `ip`. */
static void place(struct pt_event *events, size_t n, uint64_t ip)
{
	for (struct pt_event *e = events; e < events + n; e++)
		if (e->kind == PT_EV_PSB && !e->psb.ip)
			e->psb.ip = ip;
		else if (e->kind == PT_EV_CBR && !e->cbr.ip)
			e->cbr.ip = ip;
}

/* Tracing goes on at a first branch that seems to begin it. */
static bool joint_take_begin(struct pt_joint *j, const struct pt_event *e)
{
	if (j->has_begun)
		return false;
	j->has_begun = true;
	if (!(e->branch.flags & PT_F_BEGIN) || !j->is_traced ||
	    (j->has_cr3 && j->cr3.cr3.is_guest != j->is_guest))
		return false;
	j->n_doubled++;
	return true;
}

static bool joint_take_cr3(struct pt_joint *j, const struct pt_event *e)
{
	bool is_doubled = j->has_cr3 && j->cr3.cr3.value == e->cr3.value &&
			  j->cr3.cr3.is_guest == e->cr3.is_guest;

	j->cr3 = *e;
	j->has_cr3 = true;
	return is_doubled;
}

static bool joint_take_vmcs(struct pt_joint *j, const struct pt_event *e)
{
	bool is_doubled = j->has_vmcs && j->vmcs == e->vmcs.address;

	j->vmcs = e->vmcs.address;
	j->has_vmcs = true;
	return is_doubled;
}

static bool joint_take_width(struct pt_joint *j, const struct pt_event *e)
{
	bool is_doubled = e->width.bits == (j->width ? j->width : 64);

	j->width = e->width.bits;
	return is_doubled;
}

/* Cycles as the piece counts them become those of the buffer. Most events have the last one's. */
static uint64_t joint_cycles(struct pt_joint *j, uint64_t cycles)
{
	if (cycles != j->last_cycles || !j->last_sum) {
		j->last_cycles = cycles;
		j->last_sum = j->cycles + (cycles > j->overlap ? cycles - j->overlap : 0);
		if (j->max_ratio)
			j->last_sum /= j->max_ratio;
	}
	return j->last_sum;
}

/* Keeps the state that the event sets. True: the event says nothing new after the piece before. */
static bool joint_take(struct pt_joint *j, const struct pt_event *e)
{
	switch ((enum pt_event_kind)e->kind) {
	case PT_EV_BRANCH:
		return joint_take_begin(j, e);
	case PT_EV_ERROR:
		/* Tracing that begins behind it does begin. */
		j->has_begun = true;
		return false;
	case PT_EV_TIME_AHEAD:
		return e->time_ahead.tsc < j->tsc;
	case PT_EV_TIME:
		return MAX(e->tsc, j->tsc) == j->tsc &&
		       joint_cycles(j, e->cycles) == j->told_cycles;
	case PT_EV_CR3:
		return joint_take_cr3(j, e);
	case PT_EV_VMCS:
		return joint_take_vmcs(j, e);
	case PT_EV_WIDTH:
		return joint_take_width(j, e);
	default:
		return false;
	}
}

/* Counts of the piece at hand become counts of the buffer. */
static void add_before(struct pt_joint *j, struct pt_event *e)
{
	e->insns += j->insns;
	e->cycles = joint_cycles(j, e->cycles);
	if (e->kind == PT_EV_TIME)
		e->time.insns_at_packet += j->insns;
	else if (e->kind == PT_EV_TIME_AHEAD)
		e->time_ahead.insns_at_packet += j->insns;
	else if (e->kind == PT_EV_RESUME)
		e->resume.tsc = MAX(e->resume.tsc, j->tsc);
}

size_t pt_join(struct pt_joint *j, struct pt_event *events, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct pt_event *e = &events[i];

		/* Most events are branches, and nothing but the first can be doubled. */
		if ((e->kind != PT_EV_BRANCH || !j->has_begun) && joint_take(j, e)) {
			if (e->kind == PT_EV_BRANCH)
				place(events, kept, e->branch.to);
			continue;
		}
		add_before(j, e);
		j->told_cycles = e->cycles;
		e->tsc = j->tsc = MAX(e->tsc, j->tsc);
		events[kept++] = *e;
	}
	assert(kept <= n);
	return kept;
}

void pt_join_end(struct pt_joint *j, const struct pt_piece_end *end)
{
	j->insns += end->insns;
	j->cycles += end->cycles > j->overlap ? end->cycles - j->overlap : 0;
	j->overlap = end->overlap;
	j->last_sum = 0;
	/* No event may have had it: see struct pt_flow_config, no_branches. */
	j->tsc = MAX(j->tsc, end->tsc);
	j->is_traced = end->is_traced;
	j->is_guest = end->is_guest;
	j->has_begun = false;
}
