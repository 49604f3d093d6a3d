/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls: the place of the caller, the called function, and the weight below.
 *
 * For formats with arcs instead of chains. A call's weight counts a sample once, however often the
 * call is in its chain. Weights are [i * n_lanes + lane].
 */
#pragma once

#include "profile/profile.h"

struct call {
	uint32_t caller, callee; /* a place, and a function */
};

struct calls {
	VEC(struct call) list;  /* by the caller's function, then its offset, then the callee */
	struct weight *weights; /* by call: with all below */
	struct weight *self;    /* by place: as innermost frame */
};

/* For a profile with places. */
void calls_init(struct calls *c, const struct profile *p);
void calls_fini(struct calls *c);

static inline uint32_t call_caller(const struct profile *p, const struct call *call)
{
	return p->places.data[call->caller].function;
}

/* Indexes of all places by function, then by offset. The caller's to free(). */
uint32_t *places_by_function(const struct profile *p);
