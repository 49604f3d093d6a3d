/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers by how long ago they were used: who comes again and again is told by a small place.
 * Writer and reader keep the same list.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

#define RECENT_DEPTH 256 /* what was used longer ago is as new */
#define RECENT_NONE  UINT32_MAX

/* { 0 } is a valid empty list. */
struct recent {
	VEC(uint32_t) list; /* the one used last at the end; what is too deep stays */
};

/*
 * The place of `value`, 0 for the one used last, and makes it the last one; or RECENT_NONE, and
 * puts it there.
 */
uint32_t recent_place(struct recent *r, uint32_t value);

/* The reverse: the value at a place, which becomes the last one. False: there is none. */
bool recent_at(struct recent *r, uint32_t place, uint32_t *value);

/* Of a reader that was told that the value is in no place. */
void recent_put(struct recent *r, uint32_t value);
void recent_fini(struct recent *r);
