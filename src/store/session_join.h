/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several sessions as one, and the saved sessions of a store. */
#pragma once

#include "store/session.h"

/*
 * Makes one session of the parts (at least one). The new session owns the parts, even after a
 * failure. It has all segments in order. Events are joined by name, count, unit mask and mode.
 * Times are converted to one clock by the wall-clock start of each part. Other information comes
 * from the part that started first. `any_rate`: events that differ only in their frequency are
 * joined, too, with the frequency of the first.
 */
int session_join(struct session **parts, uint32_t n, bool any_rate, struct session **out,
		 struct error *err);

/*
 * The same, with up to SESSION_JOINED_EVENTS_MAX events: more than a session on the disk can have.
 * So it is for questions alone, and not for session_merge().
 */
#define SESSION_JOINED_EVENTS_MAX 4096
int session_join_to_read(struct session **parts, uint32_t n, bool any_rate, struct session **out,
			 struct error *err);

/*
 * Which sessions can be joined by session_join_to_read() with `any_rate`: *fits of those that would
 * bring too many events is false. Earlier ones come first.
 */
void session_join_fits(struct session *const *parts, uint32_t n, bool *fits);

/*
 * The event that an event of a part has become in a session that was joined with `any_rate`, as the
 * classes of its segments have it. n_counters: it is of none of the parts.
 */
uint32_t session_event_of_part(const struct session *joined, const struct counter_info *event);

/*
 * The lowest and the highest frequency, in samples a second, of an event in a session and in all
 * sessions that were joined to it. Both are 0 if the event has no frequency.
 */
struct rate_range {
	uint64_t low_hz, high_hz;
};
struct rate_range session_rates(const struct session *s, const struct counter_info *c);

/*
 * Keeps the current session of a store as samples/NAME beside it. -EEXIST: the name is taken.
 * -ENOENT: there is no current session.
 */
int session_save(const char *dir, const char *name, struct error *err);

/* The sessions of a store, by name. session_names_fini() frees the texts. */
struct session_names {
	char **data;
	size_t n, cap;
};
void session_names_fini(struct session_names *names);

/* Lists the folders in DIR/samples, sorted. No such folder: an empty list. */
void session_names_list(const char *dir, struct session_names *out);
