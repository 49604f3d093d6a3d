/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow.h"

#include <assert.h>
#include <string.h>

#include "pt/flow_emit.h"
#include "pt/flow_packets.h"
#include "pt/flow_pending.h"
#include "pt/flow_place.h"
#include "pt/flow_time.h"
#include "pt/flow_way.h"
#include "pt/walk.h"
#include "pt/walk_hops.h"

struct pt_flow *pt_flow_new(const struct pt_flow_config *config, struct pt_code *code)
{
	struct pt_flow *f = xcalloc(1, sizeof(*f));

	assert(config->events);
	f->config = *config;
	f->code = code;
	f->width = code->width;
	f->said_width = 64;
	f->time.clock = &f->config.clock;
	pt_flow_begin_reports(f);
	return f;
}

void pt_flow_free(struct pt_flow *f)
{
	free(f);
}

const struct pt_flow_stats *pt_flow_stats(const struct pt_flow *f)
{
	return &f->stats;
}

uint64_t pt_flow_address(const struct pt_flow *f)
{
	return pt_flow_ip(f);
}

void pt_flow_shift_tsc(struct pt_flow *f, uint64_t shift)
{
	f->time.shift = shift;
}

uint64_t pt_flow_tsc(const struct pt_flow *f)
{
	return f->time.tsc;
}

void pt_flow_set_code(struct pt_flow *f, struct pt_code *code)
{
	pt_flow_leave_code(f);
	if (code)
		f->code = code;
}

/*
 * A TIP where one is expected: half of all packets that are no TNTs, by a shorter way. False: it
 * is something else.
 */
static bool quick_tip(struct pt_flow *f)
{
	size_t size;

	if (f->end - f->at < PT_TIP_ROOM || !f->node || f->position != PT_EXECUTING ||
	    f->block != PT_NO_BLOCK)
		return false;
	size = pt_tip_read(f->at, &f->last_ip);
	if (!size)
		return false;
	pt_flow_forget_change(f);
	if (!pt_flow_check_walk(f, pt_walk_tip(f, f->last_ip)))
		pt_flow_go_on_at(f, f->last_ip);
	pt_flow_report_interrupts(f);
	f->at += size;
	return true;
}

/* A time packet, by a shorter way, too. */
static bool quick_mtc(struct pt_flow *f)
{
	struct pt_packet p;
	int size = f->block == PT_NO_BLOCK ? pt_mtc_read(f->at, f->end, &p) : 0;

	if (size && !pt_flow_pass_mtc(f, (uint8_t)p.payload))
		pt_flow_on_time(f, &p);
	f->at += size;
	return size;
}

/* To the next PSB. False: there is none. */
static bool synchronise(struct pt_flow *f)
{
	const uint8_t *psb = pt_flow_next_psb(f);

	f->end = f->fed_end;
	if (f->end - psb < PT_PSB_SIZE && !(f->facts & PT_FACT_IS_LAST))
		f->stops |= PT_STOP_CUT;
	if (f->config.quick != PT_QUICKEST)
		f->stats.skipped_bytes += (uint64_t)(psb - f->at);
	f->at = psb;
	if (psb == f->end || f->stops & PT_STOP_CUT)
		return false;
	f->sync = PT_FOLLOWING;
	return true;
}

void pt_flow_resync(struct pt_flow *f)
{
	pt_flow_lose_bytes(f);
	pt_flow_flush(f);
}

void pt_flow_resync_at(struct pt_flow *f, uint64_t offset)
{
	pt_flow_resync(f);
	f->offset = offset;
}

void pt_flow_pause(struct pt_flow *f)
{
	f->stops |= PT_STOP_PAUSED;
}

/* Behind the last byte before a PSB, or before what may be one: true if more is to be read. */
static bool passes_limit(struct pt_flow *f)
{
	if (f->end == f->fed_end)
		return false;
	f->end = f->fed_end;
	if (f->end - f->at < PT_PSB_SIZE)
		f->stops |= PT_STOP_CUT;
	return true;
}

void pt_flow_end(struct pt_flow *f)
{
	pt_flow_end_period(f, false);
	f->stats.doubtful_insns = pt_flow_doubtful_insns(f);
	pt_flow_flush(f);
}

size_t pt_flow_feed_some(struct pt_flow *f, const uint8_t *bytes, size_t size, bool is_last)
{
	bool was_at_watched;
	struct pt_packet p;
	size_t used;
	int r;

	f->begin = f->at = bytes;
	f->end = f->fed_end = bytes + size;
	was_at_watched = f->stops & PT_STOP_WATCHED;
	f->stops = 0;
	pt_flow_set_fact(f, PT_FACT_IS_LAST, is_last);
	pt_flow_enter_code(f);
	if (was_at_watched) {
		f->next_side_band = 0;
		pt_flow_follow_side_band(f, f->time.tsc);
	}
	if (f->facts & PT_FACT_BAD_BYTES)
		pt_flow_find_limit(f);
	while ((f->at < f->end || passes_limit(f)) && !f->stops) {
		if (!pt_flow_is_in_sync(f) && !synchronise(f))
			break;
		if (f->block == PT_NO_BLOCK) {
			const uint8_t *from = f->at;
			uint32_t n = f->tnt.n;

			f->at = pt_tnt_collect(f->at, f->end, &f->tnt);
			/* PADs alone have no directions. */
			f->tnt_from = f->tnt.n > n ? from : f->tnt_from;
		}
		if (f->tnt.n) {
			pt_flow_use_directions(f);
			continue;
		}
		if (quick_tip(f)) {
			pt_walk_hops(f);
			continue;
		}
		if (quick_mtc(f))
			continue;
		r = pt_flow_next_packet(f, &p);
		if (r)
			pt_flow_on_packet(f, &p);
		f->at += r;
	}
	/* A deferred TIP left directions that wait for the next packet, but the buffer ends here.
	 */
	if (is_last && f->at == f->end && f->tnt.n)
		pt_flow_use_directions(f);
	pt_flow_check(f);
	pt_flow_leave_code(f);
	f->n_last_tnt = f->tnt.n ? pt_flow_last_tnt(f) : 0;
	f->tnt_from = NULL;
	used = (size_t)(f->at - f->begin);
	pt_flow_set_fact(f, PT_FACT_BEGINS_BEHIND_CYC, pt_flow_is_after_cyc(f));
	f->offset += used;
	f->begin = f->at;
	f->stats.bytes += used;
	f->stats.insns = f->insns;
	f->stats.doubtful_insns = pt_flow_doubtful_insns(f);
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
