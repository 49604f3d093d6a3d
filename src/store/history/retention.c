/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/history/retention.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "store/history/retention_parts.h"

struct run {
	struct retained_parts parts;
	struct retention_result *result;
};

static bool is_usable(const struct retained_part *part)
{
	return !part->is_active && !part->is_damaged && !part->is_gone;
}

static uint64_t before(const struct run *run, uint64_t seconds)
{
	uint64_t ns = seconds > UINT64_MAX / NS_PER_SECOND ? UINT64_MAX : seconds * NS_PER_SECOND;

	return run->parts.now_ns > ns ? run->parts.now_ns - ns : 0;
}

/* ---- packing ---- */

static bool keeps_times(const struct run *run, const struct retained_part *part)
{
	uint64_t age_s = run->parts.policy->times_s;

	return !age_s || part->last_ns >= before(run, age_s);
}

/*
 * A part that can't be packed stays as it is. A full disk ends the packing, because the next part
 * would fail, too.
 */
static int pack_parts(struct run *run, struct error *err)
{
	for (size_t i = 0; i < run->parts.parts.n; i++) {
		struct retained_part *part = &run->parts.parts.data[i];
		struct error why = { 0 };
		int r = is_usable(part)
				? retained_pack(&run->parts, part, keeps_times(run, part), &why)
				: 0;

		run->result->n_packed += r > 0;
		if (r == -ENOSPC || r == -EDQUOT) {
			if (err)
				*err = why;
			return r;
		}
	}
	return 0;
}

/* ---- age ---- */

static int forget_old(struct run *run, struct error *err)
{
	uint64_t oldest_ns = before(run, run->parts.policy->max_age_s);
	int r = 0;

	for (size_t i = 0; run->parts.policy->max_age_s && i < run->parts.parts.n && r >= 0; i++) {
		struct retained_part *part = &run->parts.parts.data[i];

		if (part->is_active || part->is_gone || part->last_ns >= oldest_ns)
			continue;
		r = retained_remove(&run->parts, part, err);
		run->result->n_removed++;
	}
	return r;
}

/* ---- tiers ---- */

struct group {
	uint32_t *which;
	uint32_t n;
	bool has_finer; /* there is something to merge */
};

static uint64_t span_of(const struct retained_part *part, uint64_t span_s)
{
	return part->first_ns / NS_PER_SECOND / MAX(span_s, (uint64_t)1);
}

/* Collects the parts in the span of a tier whose blocks are not longer than the tier's. */
static void gather(const struct run *run, uint64_t span, size_t level, struct group *out)
{
	const struct retention_tier *tier = &run->parts.policy->tiers[level];
	uint64_t block_ns = history_levels[level].block_ns;

	out->which = xrealloc(out->which, run->parts.parts.n + 1, sizeof(*out->which));
	out->n = 0;
	out->has_finer = false;
	for (size_t i = 0; i < run->parts.parts.n; i++) {
		const struct retained_part *part = &run->parts.parts.data[i];

		if (!is_usable(part) || part->block_ns > block_ns ||
		    span_of(part, tier->span_s) != span)
			continue;
		out->which[out->n++] = (uint32_t)i;
		out->has_finer |= part->block_ns < block_ns;
	}
}

static bool group_pays(const struct run *run, const struct group *g)
{
	return g->has_finer || (run->parts.policy->joins && g->n > 1);
}

/*
 * Takes the parts that can't be read out of a group that could not be merged. If each can be read,
 * all are left alone. Returns whether the others are worth another try.
 */
static bool leave_unreadable(struct run *run, struct group *g, size_t level)
{
	struct retained_part *parts = run->parts.parts.data;
	uint32_t n_tried = g->n;

	g->n = 0;
	g->has_finer = false;
	for (uint32_t i = 0; i < n_tried; i++) {
		struct retained_part *part = &parts[g->which[i]];

		if (!retained_try_to_open(&run->parts, part))
			continue;
		g->which[g->n++] = g->which[i];
		g->has_finer |= part->block_ns < history_levels[level].block_ns;
	}
	for (uint32_t i = 0; i < g->n && g->n == n_tried; i++)
		parts[g->which[i]].is_damaged = true;
	return g->n < n_tried && group_pays(run, g);
}

static int merge_group(struct run *run, struct group *g, size_t level, struct error *err);

static bool has_finer(const struct run *run, const struct group *g, size_t level)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (run->parts.parts.data[g->which[i]].block_ns < history_levels[level].block_ns)
			return true;
	return false;
}

/* Together, the parts have more events than a session can have. */
static int merge_halves(struct run *run, const struct group *g, size_t level, struct error *err)
{
	struct group halves[] = { { .which = g->which, .n = g->n / 2 },
				  { .which = g->which + g->n / 2, .n = g->n - g->n / 2 } };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(halves) && r >= 0; i++) {
		halves[i].has_finer = has_finer(run, &halves[i], level);
		if (group_pays(run, &halves[i]))
			r = merge_group(run, &halves[i], level, err);
	}
	return r;
}

/* An unreadable part is left alone, and the others are merged. */
static int merge_group(struct run *run, struct group *g, size_t level, struct error *err)
{
	struct error why;
	int r;

	do {
		why = (struct error){ 0 };
		r = retained_merge(&run->parts, g->which, g->n, level, run->result, &why);
		if (r == -E2BIG && g->n > 1)
			return merge_halves(run, g, level, err);
		if (r != -EBADMSG && r != -EINVAL && r != -EPROTONOSUPPORT && r != -E2BIG) {
			if (r < 0 && err)
				*err = why;
			return r;
		}
	} while (leave_unreadable(run, g, level));
	return 0;
}

/* Merges the spans that are completely older than the tier's age. */
static int merge_tier(struct run *run, size_t level, struct error *err)
{
	const struct retention_tier *tier = &run->parts.policy->tiers[level];
	uint64_t end_s = before(run, tier->after_s) / NS_PER_SECOND;
	uint64_t block_ns = history_levels[level].block_ns;
	bool joins = run->parts.policy->joins;
	struct group g = { 0 };
	int r = 0;

	if (!tier->after_s)
		return 0;
	for (size_t i = 0, n = run->parts.parts.n; i < n && r >= 0; i++) {
		const struct retained_part *part = &run->parts.parts.data[i];
		uint64_t span = span_of(part, tier->span_s);

		if (!is_usable(part) || part->block_ns > block_ns ||
		    (part->block_ns == block_ns && !joins) ||
		    (span + 1) * MAX(tier->span_s, (uint64_t)1) > end_s)
			continue;
		gather(run, span, level, &g);
		if (group_pays(run, &g))
			r = merge_group(run, &g, level, err);
	}
	free(g.which);
	return r;
}

/* ---- size ---- */

/* The next tier of a part; N_HISTORY_LEVELS: none. */
static size_t next_level(const struct run *run, const struct retained_part *part)
{
	size_t level = 0;

	while (level < N_HISTORY_LEVELS && (history_levels[level].block_ns <= part->block_ns ||
					    !run->parts.policy->tiers[level].after_s))
		level++;
	return level;
}

/* The oldest part that can become coarser, or with `any` the oldest of all; NULL: none. */
static struct retained_part *oldest(const struct run *run, bool any)
{
	struct retained_part *found = NULL;

	vec_foreach (&run->parts.parts, part) {
		if (part->is_active || part->is_gone ||
		    (!any && (!is_usable(part) || next_level(run, part) == N_HISTORY_LEVELS)))
			continue;
		if (!found || part->first_ns < found->first_ns)
			found = part;
	}
	return found;
}

static int merge_oldest(struct run *run, const struct retained_part *part, struct error *err)
{
	size_t level = next_level(run, part);
	struct group g = { 0 };
	int r;

	gather(run, span_of(part, run->parts.policy->tiers[level].span_s), level, &g);
	r = merge_group(run, &g, level, err);
	free(g.which);
	return r;
}

/* If the disk has no room for a merged part, removes the oldest part instead. */
static int history_make_room(struct run *run, struct error *err)
{
	uint64_t max_bytes = run->parts.policy->max_bytes;
	bool is_full = false;
	int r = 0;

	while (max_bytes && r >= 0 && retained_bytes(&run->parts) > max_bytes) {
		struct retained_part *part = is_full ? NULL : oldest(run, false);

		if (part) {
			r = merge_oldest(run, part, err);
			is_full = r == -ENOSPC || r == -EDQUOT;
			r = is_full ? 0 : r;
			continue;
		}
		part = oldest(run, true);
		if (!part)
			break;
		r = retained_remove(&run->parts, part, err);
		run->result->n_removed++;
	}
	return r;
}

static int history_apply_policy(struct run *run, struct error *err)
{
	int r = retained_parts_init(&run->parts, err), room;

	run->result->bytes_before = retained_bytes(&run->parts);
	r = r < 0 ? r : forget_old(run, err);
	if (r < 0)
		return r;
	r = pack_parts(run, err);
	/* Coarsest tier first: so a very old part is merged once, not three times. */
	for (size_t level = N_HISTORY_LEVELS; level-- > 0 && r >= 0;)
		r = merge_tier(run, level, err);
	/* The history must stay below its limit also on a full disk. */
	if (r < 0 && r != -ENOSPC && r != -EDQUOT)
		return r;
	room = history_make_room(run, r < 0 ? NULL : err);
	return r < 0 ? r : room;
}

int history_lock(const char *dir, bool waits, struct error *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return error_errno(err, -errno, "cannot read %s", dir);
	while (flock(fd, LOCK_EX | (waits ? 0 : LOCK_NB)) < 0 && !r)
		r = errno == EINTR ? 0 : -errno;
	if (!r)
		return fd;
	close(fd);
	return r == -EWOULDBLOCK ? error_set(err, -EBUSY, "%s: another process works on it", dir)
				 : error_errno(err, r, "cannot lock %s", dir);
}

int history_retain(const char *dir, const struct retention_policy *policy,
		   struct retention_result *out, struct error *err)
{
	cleanup(close_at_exit) int lock = -1;
	struct run run = { .parts = { .dir = dir,
				      .policy = policy,
				      .now_ns = policy->now_ns ? policy->now_ns : clock_wall_ns() },
			   .result = out };
	int r;

	*out = (struct retention_result){ 0 };
	if (!policy->is_locked) {
		lock = history_lock(dir, false, err);
		if (lock < 0)
			return lock;
	}
	r = history_apply_policy(&run, err);
	out->bytes_after = retained_bytes(&run.parts);
	vec_foreach (&run.parts.parts, part) {
		out->n_damaged += part->is_damaged && !part->is_newer && !part->is_gone;
		out->n_newer += part->is_newer && !part->is_gone;
	}
	retained_parts_fini(&run.parts);
	return r;
}
