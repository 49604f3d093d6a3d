/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps a history small: merges old parts to coarser ones and removes the oldest.
 *
 * The daemon calls it from time to time in a child of low priority, and so does `assay retain`:
 *
 *  1. It removes the remains of a crash: unfinished parts, and parts that a merged part replaces.
 *  2. It packs each finished part (store/history/pack.h), with the overviews that pay. Parts older
 *     than `times_s` lose the exact times of their samples.
 *  3. It removes parts that ended longer ago than `max_age_s`.
 *  4. When a tier's age is over, it merges the parts of each of its spans to one part.
 *  5. While the history is larger than `max_bytes`, it merges the oldest parts before their age.
 *     When all parts are as coarse as possible, it removes the oldest.
 *
 * The part that the recorder writes is never touched. A merged part is made under a hidden name
 * (with a leading dot) and contains the names of the parts that it replaces. Once it is synced to
 * disk, it gets its final name. Only then the old parts are renamed and removed. So readers count
 * each sample once, whenever the process or the machine stops, and the next call continues. On a
 * full disk, only safely merged parts are removed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/history/history.h"
#include "store/history/merge.h"

struct error;

/* One tier for each level of history_levels. */
struct retention_tier {
	uint64_t after_s; /* age of parts, in seconds, that become blocks of this level; 0: never */
	/* Time of a merged part, in seconds; spans begin at 1970 and follow each other */
	uint64_t span_s;
	/* Stacks with a smaller share of the part's samples are cut (store/history/merge.h) */
	double min_share;
	uint32_t merged; /* enum separation bits that no longer keep samples apart */
};

enum retention_step {
	RETENTION_WRITTEN, /* a merged part is on disk under its hidden name */
	RETENTION_NAMED,   /* it has its final name; the replaced parts are still there */
	RETENTION_HIDDEN,  /* a part got a hidden name, and is still on disk */
	RETENTION_REMOVED, /* the part is removed */
};

struct retention_policy {
	struct retention_tier tiers[N_HISTORY_LEVELS];
	bool joins; /* several parts in a span of a tier become one, also if none has finer blocks
		     */
	uint64_t max_age_s, max_bytes; /* 0: no limit */
	/*
	 * Age of parts, in seconds, that lose the exact times of their samples; 0: when their
	 * blocks become longer than a second, as these have none.
	 */
	uint64_t times_s;
	struct overview_rule overviews;
	const char *active; /* the part that the recorder writes; NULL: see `over` */
	/*
	 * Instead of `active`: the names of the finished parts; all others count as active. For
	 * callers beside a recorder that begins one part after the other.
	 */
	const struct history_names *over;
	uint64_t now_ns; /* CLOCK_REALTIME; 0: now */
	bool is_locked;  /* the caller holds history_lock() */
	/* NULL: not called */
	void (*at_step)(void *context, enum retention_step step, const char *part);
	void *context;
};

/*
 * Seconds for 2 days; minutes for 2 weeks, in parts of a day; hours for 90 days, in parts of a
 * week; then days, in parts of 4 weeks. Blocks of ten minutes exist in overviews only.
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
	uint32_t n_merged;    /* old parts that were merged … */
	uint32_t n_made;      /* … into so many new ones */
	uint32_t n_removed;   /* parts removed for their age or for space */
	uint32_t n_damaged;   /* unreadable parts, left alone */
	uint32_t n_newer;     /* parts of a newer assay, left alone */
	uint64_t samples_cut; /* samples that are now in "[other]" */
	uint64_t bytes_before, bytes_after;
};

/*
 * Locks a history. Whoever packs, merges, moves or removes parts needs the lock. Without it, a
 * second process would take unfinished parts for the remains of a crash and remove them. Returns a
 * descriptor, which the caller closes. -EBUSY: another process has the lock (only without `waits`).
 */
int history_lock(const char *dir, bool waits, struct error *err);

/*
 * `dir` is the directory of the parts: DIR/samples/current. A part without an end that was written
 * in the last hour counts as active. Unreadable parts stay until the time in their name is older
 * than max_age_s. -EBUSY: another process works on the history. *out is set on failure, too.
 */
int history_retain(const char *dir, const struct retention_policy *policy,
		   struct retention_result *out, struct error *err);
