/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeping a history small: old parts are merged to coarser ones, the oldest removed.
 *
 * Called from time to time, by the daemon in a child of low priority and by `assay retain`:
 *
 *  1. What a crash left is removed: unfinished parts, and parts that a merged one replaces.
 *  2. Each part that is over is packed (store/pack.h), with the overviews that pay.
 *  3. Parts that ended longer ago than `max_age_s` are removed.
 *  4. Parts of one span of a tier that is past its age become one part of that tier's blocks.
 *  5. While the history is larger than `max_bytes`, the oldest parts are merged further than their
 *     age says, and when all are as coarse as can be, the oldest is removed.
 *
 * The part that is being written is never touched. A merged part is made under another name (a
 * dot in front), with all that it replaces named in it; it is on disk before it gets its own name,
 * and only then the old parts are renamed away and removed. So whenever the process or the machine
 * stops, readers see each sample once, and the next call goes on. Where the disk is full,
 * nothing is removed that is not safely merged.
 */
#pragma once

#include <stdint.h>

#include "store/history/history.h"
#include "store/history/merge.h"

struct error;

/* One tier a level of history_levels. */
struct retention_tier {
	uint64_t after_s; /* parts that ended so long ago become blocks of this level; 0: never */
	uint64_t span_s;  /* what is put into one part: spans of the calendar, from 1970 on */
	double min_share; /* stacks with less of their part's samples are cut
			     (store/history/merge.h) */
	uint32_t merged;  /* enum separation: what samples are not kept apart by any longer */
};

enum retention_step {
	RETENTION_WRITTEN, /* a merged part is on disk, but has not got its name */
	RETENTION_NAMED,   /* it has, and all that it replaces is there still */
	RETENTION_HIDDEN,  /* a part was renamed away, and is there under the other name */
	RETENTION_REMOVED, /* it is gone */
};

struct retention_policy {
	struct retention_tier tiers[N_HISTORY_LEVELS];
	uint64_t max_age_s, max_bytes; /* 0: no limit */
	struct overview_rule overviews;
	const char *active; /* the part that is being written; NULL: see below */
	/*
	 * Instead of that, the parts that are over: others are being written, whatever they look
	 * like. For who runs beside a recorder that begins one part after the other.
	 */
	const struct history_names *over;
	uint64_t now_ns; /* CLOCK_REALTIME; 0: now */
	bool is_locked;  /* by the caller: history_lock() */
	void (*at_step)(void *context, enum retention_step step, const char *part); /* or NULL */
	void *context;
};

/*
 * Seconds for 2 days; minutes for 2 weeks, a day in a part; hours for 90 days, a week in a part;
 * then days, 4 weeks in a part. Blocks of ten minutes are for overviews alone.
 */
#define RETENTION_DEFAULT                                                                   \
	((struct retention_policy){                                                         \
		.tiers = { { 2 * 86400, 86400, 0, 0 },                                      \
			   { 0, 86400, 0, 0 },                                              \
			   { 14 * 86400, 7 * 86400, 1e-6, SEPARATE_THREAD | SEPARATE_CPU }, \
			   { 90 * 86400, 28 * 86400, 1e-5,                                  \
			     SEPARATE_PROCESS | SEPARATE_THREAD | SEPARATE_CPU } },         \
		.overviews = OVERVIEWS_THAT_PAY,                                            \
	})

struct retention_result {
	uint32_t n_packed;
	uint32_t n_merged;    /* parts that have become part of … */
	uint32_t n_made;      /* … so many new ones */
	uint32_t n_removed;   /* parts removed for their age, or for room */
	uint32_t n_damaged;   /* parts that cannot be read, and are left alone */
	uint64_t samples_cut; /* now in "[other]" */
	uint64_t bytes_before, bytes_after;
};

/*
 * Whoever packs, merges, moves or removes parts of a history has its lock: another one would take
 * what is being made for what a killed one left, and remove it. A descriptor, the caller's to
 * close(). -EBUSY: another process has it, and `waits` is not set.
 */
int history_lock(const char *dir, bool waits, struct error *err);

/*
 * `dir` is that of the parts: DIR/samples/current. A part without an end is taken for the
 * active one if it was written to in the last hour. Unreadable parts are left alone until their
 * name is beyond max_age_s. -EBUSY: another process is at it. *out tells what was done on failure,
 * too.
 */
int history_retain(const char *dir, const struct retention_policy *policy,
		   struct retention_result *out, struct error *err);
