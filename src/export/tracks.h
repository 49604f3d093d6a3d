/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracks: the entries of a profile by thread and event, each track in the order of time.
 *
 * For formats that show time; these ask for TRACK_KEYS and for slices. A slice is a sample with an
 * exact time, or the samples of a second whose order and times are not known. The latter have the
 * time of the second's first sample: other times would be invented.
 */
#pragma once

#include "profile/profile.h"

/* The keys of the format: each tuple of these (a group of the profile) is a part of one track. */
#define TRACK_KEYS                                                            \
	{                                                                     \
		.key = { PROFILE_THREAD, PROFILE_CPU, PROFILE_EVENT }, .n = 3 \
	}

struct track {
	uint32_t counter, thread; /* indexes of info.counters and profile->threads */
	uint32_t first, n;        /* in tracks->entries */
	struct weight total;
};

struct track_entry {
	uint32_t entry; /* of the profile */
	uint64_t time_ns;
};

struct tracks {
	VEC(struct track) list; /* by counter, then by process and thread */
	struct track_entry *entries;
};

void tracks_init(struct tracks *t, const struct profile *p);
void tracks_fini(struct tracks *t);

/* The weight of an entry: profiles of tracks have one lane. */
static inline const struct weight *track_weight(const struct profile *p,
						const struct track_entry *e)
{
	return profile_weights(p, e->entry);
}
