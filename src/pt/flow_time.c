/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow_time.h"

#include "pt/flow_emit.h"
#include "pt/flow_place.h"

bool pt_flow_follow_side_band(struct pt_flow *f, uint64_t tsc)
{
	const struct pt_code *code = f->code;
	uint64_t generation = code->generation;
	uint32_t node = f->node;

	if (!f->config.side_band || tsc < f->next_side_band)
		return false;
	pt_flow_flush(f); /* what was is of those who were */
	pt_flow_leave_code(f);
	f->next_side_band = f->config.side_band(f->config.context, tsc);
	if (f->code == code && code->generation == generation) {
		f->node = node;
		f->ip = node ? 0 : f->ip;
		return true;
	}
	pt_flow_enter_code(f);
	return true;
}

bool pt_flow_is_after_cyc(const struct pt_flow *f)
{
	enum pt_block block = PT_NO_BLOCK;
	const uint8_t *at;
	struct pt_packet p;

	if (f->cyc_at && f->cyc_at >= f->offset) {
		at = f->begin + (f->cyc_at - f->offset);
		at += pt_packet_read(at, f->at, &block, &p);
	} else if (f->facts & PT_FACT_BEGINS_BEHIND_CYC) {
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
	uint64_t repeats = f->time.repeats;
	bool after_cyc = pt_flow_is_after_cyc(f), moved;

	/*
	 * The bytes before it are damaged, even if they fit the code. But a guest's TSC may have an
	 * offset.
	 */
	if (p->type == PT_TSC && !f->is_guest && pt_time_is_behind(&f->time, p->payload))
		pt_flow_set_fact(f, PT_FACT_IN_DOUBT, true);
	moved = pt_time_packet(&f->time, p, after_cyc);
	if (f->time.repeats > repeats)
		pt_flow_set_fact(f, PT_FACT_IN_DOUBT, true);

	/* Looked at once: there may be a megabyte of PADs between. */
	f->cyc_at = 0;
	pt_flow_set_fact(f, PT_FACT_BEGINS_BEHIND_CYC, false);
	if (p->type == PT_MTC && after_cyc)
		pt_time_look_ahead(&f->time, f->at + PT_MTC_SIZE, f->end);
	return moved;
}

static bool count_cycles(struct pt_flow *f, const struct pt_packet *p)
{
	f->cyc_at = f->offset + (uint64_t)(f->at - f->begin);
	return pt_time_packet(&f->time, p, false);
}

/* Whether the time packet at hand is of a guest, whose TSC may have an offset. */
static bool is_of_guest(const struct pt_flow *f)
{
	return f->sync == PT_IN_PSB ? pt_time_psb_is_of_guest(f->at, f->end, f->next_is_guest)
				    : f->next_is_guest;
}

static bool refuse_time(struct pt_flow *f, const struct pt_packet *p, uint64_t bound)
{
	bool is_guest = is_of_guest(f);

	/* A guest's TSC may have an offset, which is no damage. */
	if (!is_guest || p->type != PT_TSC)
		pt_flow_set_fact(f, PT_FACT_IN_DOUBT, true);
	f->cyc_at = p->type == PT_CYC ? f->offset + (uint64_t)(f->at - f->begin) : 0;
	if (p->type != PT_CYC)
		pt_flow_set_fact(f, PT_FACT_BEGINS_BEHIND_CYC, false);
	return pt_time_refuse(&f->time, p, bound, is_guest);
}

void pt_flow_time_on(struct pt_flow *f, bool is_on)
{
	if (!(f->facts & PT_FACT_BAD_BYTES))
		pt_time_on(&f->time, is_on);
}

/*
 * Whether branches are left out from here on: the time is `before` no more, but time.tsc. A sample
 * is due where the ticks pass a multiple of the period.
 */
static void look_for_sample(struct pt_flow *f, uint64_t before)
{
	uint64_t period = f->config.sample_ticks, now = f->time.tsc, behind = now & (period - 1);
	uint64_t passed = (before + (f->insns - f->insns_at_tsc)) ^ now;

	if (behind < PT_NEAR_SAMPLE || period - behind <= PT_NEAR_SAMPLE || passed >= period) {
		pt_flow_resume_before(f, before);
		f->loud_until = f->insns + PT_NEAR_SAMPLE;
	} else if (f->insns >= f->loud_until) {
		f->is_quiet = true;
		f->quiet_until = f->insns + (period - behind - PT_NEAR_SAMPLE);
	}
}

bool pt_flow_pass_mtc(struct pt_flow *f, uint8_t mtc)
{
	uint64_t before = f->config.side_band ? f->next_side_band : UINT64_MAX;
	uint64_t period = f->config.sample_ticks, near = UINT64_MAX;

	if (f->facts & PT_FACT_BAD_BYTES || (period && !f->is_quiet))
		return false;
	if (period)
		near = (f->time.tsc | (period - 1)) + 1 - PT_NEAR_SAMPLE;
	if (!pt_time_pass_mtc(&f->time, mtc, MIN(before, near)))
		return false;
	if (period)
		f->quiet_until = f->insns + (near - f->time.tsc);
	f->cyc_at = 0;
	pt_flow_set_fact(f, PT_FACT_BEGINS_BEHIND_CYC, false);
	f->insns_at_tsc = f->insns;
	return true;
}

bool pt_flow_on_time(struct pt_flow *f, const struct pt_packet *p)
{
	uint64_t before = f->time.tsc, bound;
	bool moved;

	if (f->facts & PT_FACT_BAD_BYTES)
		return false;
	bound = pt_time_bound(&f->time, p, f->at, f->config.next_tsc, f->config.context);
	if (bound)
		moved = refuse_time(f, p, bound);
	else
		moved = p->type == PT_CYC ? count_cycles(f, p) : tell_time(f, p);
	if (!moved)
		return false;
	if (f->config.sample_ticks)
		look_for_sample(f, before);
	f->insns_at_tsc = f->insns;
	return pt_flow_follow_side_band(f, f->time.tsc);
}
