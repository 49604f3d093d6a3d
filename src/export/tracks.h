/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracks: the samples of a profile by thread and event, each track in the order of time.
 *
 * For formats that show time; these ask for TRACK_KEYS and for samples.
 */
#pragma once

#include "export/piles.h"
#include "profile/profile.h"

/* The keys of the format: each tuple of these (a group of the profile) is a part of one track. */
#define TRACK_KEYS                                                            \
	{                                                                     \
		.key = { PROFILE_THREAD, PROFILE_CPU, PROFILE_EVENT }, .n = 3 \
	}

struct track {
	uint32_t counter, thread; /* indexes of info.counters and profile->threads */
	struct weight total;
};

struct tracks {
	VEC(struct track) list; /* by counter, then by process and thread */
	struct piles piles;     /* of each track */
};

/* Call tracks_fini() also after a failure. */
int tracks_init(struct tracks *t, struct profile *p, struct error *err);
void tracks_fini(struct tracks *t);

/* The samples of a track, from the first one: see pile_next(). */
static inline void track_open(const struct tracks *t, const struct track *track,
			      struct pile_reader *out)
{
	pile_open(&t->piles, (uint32_t)(track - t->list.data), out);
}
