/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow_way.h"

#include "pt/flow_emit.h"
#include "pt/flow_place.h"
#include "pt/flow_time.h"
#include "pt/packet.h"

/* Errors behind which the branches since the last PSB are in doubt, and those up to the next one.
 */
static bool is_doubtful(enum pt_error reason)
{
	return reason == PT_ERR_MISMATCH || reason == PT_ERR_UNEXPECTED ||
	       reason == PT_ERR_BAD_PACKET || reason == PT_ERR_LOOP;
}

void pt_flow_report_error(struct pt_flow *f, uint64_t ip, enum pt_error reason)
{
	if (is_doubtful(reason))
		pt_flow_set_fact(f, PT_FACT_IN_DOUBT, true);
	pt_flow_settle(f, f->insns);
	pt_flow_resume(f, 0);
	f->stats.errors[reason]++;
	pt_flow_emit(f, (struct pt_event){ .error = { PT_EV_ERROR, (uint8_t)reason, ip,
						      f->offset + (uint64_t)(f->at - f->begin) } });
}

static void seek_psb(struct pt_flow *f)
{
	pt_flow_stand_nowhere(f, PT_NOWHERE);
	f->sync = PT_SKIPPING;
	f->block = PT_NO_BLOCK;
	pt_flow_set_fact(f, PT_FACT_BAD_BYTES, false);
	f->psb.address = PT_PSB_NO_ADDRESS;
	f->interrupts = f->next_interrupts = PT_INTERRUPTS_UNKNOWN;
}

static void leave_place(struct pt_flow *f)
{
	pt_flow_stand_nowhere(f, PT_SEEKING);
	/* A change of the width is rare, and a damaged byte may look like one. */
	if (f->psb.width)
		f->width = f->psb.width;
}

/*
 * Goes on at the next address. Within PSB+ nothing is known of the execution, whatever was before:
 * a part that begins there knows no more.
 */
static void seek_address(struct pt_flow *f)
{
	leave_place(f);
	if (f->sync != PT_IN_PSB)
		return;
	pt_flow_clear_stack(f);
	f->psb.address = PT_PSB_NO_ADDRESS;
	f->sync = PT_FOLLOWING;
	if (f->config.quick == PT_QUICKEST)
		seek_psb(f);
}

void pt_flow_lose_bytes(struct pt_flow *f)
{
	pt_flow_end_period(f, false);
	seek_psb(f);
	pt_time_resync(&f->time);
}

/* A PSB+ with an error in it tells nothing of what was before: another period has begun. */
static void report_lost_way(struct pt_flow *f, enum pt_error reason)
{
	bool is_in_psb = f->sync == PT_IN_PSB;

	if (is_in_psb) {
		pt_flow_begin_period(f, f->psb.address == PT_PSB_GOES_ON);
		pt_flow_settle(f, f->insns);
		pt_flow_emit(f, (struct pt_event){ .psb = { PT_EV_PSB, 0, f->psb.offset } });
	}
	pt_flow_report_error(f, is_in_psb ? 0 : pt_flow_ip(f), reason);
}

void pt_flow_lose_rest(struct pt_flow *f)
{
	report_lost_way(f, PT_ERR_CUT);
	pt_flow_lose_bytes(f);
}

const uint8_t *pt_flow_next_psb(const struct pt_flow *f)
{
	if (f->facts & PT_FACT_IS_LAST)
		return pt_find_psb(f->at, f->fed_end);
	return pt_find_psb_begin(f->at, f->fed_end);
}

void pt_flow_find_limit(struct pt_flow *f)
{
	f->end = pt_flow_next_psb(f);
}

/*
 * The damaged packet may be none of a branch. So execution goes on where it stood. Not within
 * PSB+: a part that begins there knows no place yet.
 */
static void keep_place(struct pt_flow *f)
{
	if (f->sync == PT_IN_PSB || !pt_flow_is_traced(f)) {
		seek_address(f);
		return;
	}
	pt_flow_forget_packets(f);
	f->position = PT_EXECUTING;
}

void pt_flow_pass_bad_byte(struct pt_flow *f)
{
	bool was_bad = f->facts & PT_FACT_BAD_BYTES;
	uint64_t progress = f->insns + f->stats.branches;

	/* One error for bytes in a row, and for packets between them that nothing follows from. */
	if (!was_bad || f->sync == PT_IN_PSB || progress != f->bad_progress)
		report_lost_way(f, PT_ERR_BAD_PACKET);
	f->bad_progress = progress;
	keep_place(f);
	f->block = PT_NO_BLOCK;
	f->interrupts = f->next_interrupts = PT_INTERRUPTS_UNKNOWN;
	pt_time_resync(&f->time);
	f->at++;
	f->stats.skipped_bytes++;
	if (was_bad)
		return;
	pt_flow_set_fact(f, PT_FACT_BAD_BYTES, true);
	pt_flow_find_limit(f);
}

void pt_flow_lose_way(struct pt_flow *f, enum pt_error reason)
{
	report_lost_way(f, reason);
	seek_address(f);
}

/*
 * Code of a mapping may be in a file that is not there. But without a mapping, or
 * where bytes are no instruction, nothing can have run.
 */
static void doubt_place(struct pt_flow *f, uint64_t ip)
{
	const struct pt_memory *m = &f->code->memory;
	uint8_t byte;

	if (m->covers && (!m->covers(m->context, f->code->space, ip) ||
			  m->read(m->context, f->code->space, ip, &byte, 1)))
		pt_flow_set_fact(f, PT_FACT_IN_DOUBT, true);
}

bool pt_flow_check_walk(struct pt_flow *f, enum pt_walk r)
{
	static const enum pt_error reasons[] = {
		[PT_WALK_NEEDS_TIP] = PT_ERR_MISMATCH,
		[PT_WALK_NO_CODE] = PT_ERR_NO_CODE,
		[PT_WALK_MISMATCH] = PT_ERR_MISMATCH,
		[PT_WALK_LOOP] = PT_ERR_LOOP,
	};

	if (r == PT_WALK_DONE)
		return true;
	if (r == PT_WALK_NO_CODE) {
		doubt_place(f, pt_node(f->code, f->node)->after);
		/* Calls and returns there are not seen. */
		pt_flow_clear_stack(f);
	}
	/* The packets are all right: the next address that they tell is as good as a PSB's. */
	pt_flow_report_error(f, pt_flow_ip(f), reasons[r]);
	/* Missing code is no damage, so the width is the one that was told last. */
	if (r == PT_WALK_NO_CODE)
		pt_flow_stand_nowhere(f, PT_SEEKING);
	else
		leave_place(f);
	return false;
}

void pt_flow_end_period(struct pt_flow *f, bool is_confirmed)
{
	if (!(f->facts & PT_FACT_IN_DOUBT))
		return;
	/* At the time before the PSB, which a part that ends here does not read. */
	pt_flow_emit(f, (struct pt_event){ .unverified = { PT_EV_UNVERIFIED, is_confirmed,
							   f->insns - f->period_insns,
							   f->period_offset } });
	f->doubtful_insns = pt_flow_doubtful_insns(f);
	f->period_insns = f->insns;
	f->period_offset = f->offset + (uint64_t)(f->at - f->begin);
	pt_flow_set_fact(f, PT_FACT_IN_DOUBT, false);
}

void pt_flow_begin_period(struct pt_flow *f, bool is_confirmed)
{
	pt_flow_end_period(f, is_confirmed);
	f->period_insns = f->insns;
	f->period_offset = f->psb.offset;
}

void pt_flow_begin_at(struct pt_flow *f, uint64_t ip)
{
	if (f->time.tsc)
		pt_flow_follow_side_band(f, f->time.tsc + (f->config.is_coarse
								   ? f->insns - f->insns_at_tsc
								   : 0));
	pt_flow_arrive(f, ip);
	f->position = PT_EXECUTING;
	pt_flow_time_on(f, true);
	f->stats.branches++;
	pt_flow_settle(f, f->insns);
	pt_flow_emit_branch(f, PT_END_FALL, PT_F_BRANCH | PT_F_BEGIN, 0, 0, ip);
	if (f->config.quick)
		pt_flow_say_ip(f, ip);
}

void pt_flow_go_on_at(struct pt_flow *f, uint64_t ip)
{
	bool is_readable;

	assert(f->position == PT_SEEKING);
	pt_flow_arrive(f, ip);
	is_readable = f->config.quick || pt_node(f->code, f->node)->n_insns;
	f->node = 0;
	f->ip = 0;
	if (is_readable) {
		pt_flow_begin_at(f, ip);
	} else {
		doubt_place(f, ip);
		pt_flow_clear_stack(f);
	}
}
