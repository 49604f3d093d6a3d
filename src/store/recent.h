/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list of numbers, ordered by last use. Numbers that come often have small places in it. Writer
 * and reader keep the same list.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

#define RECENT_DEPTH 256 /* numbers that were not used for longer count as new */
#define RECENT_NONE  UINT32_MAX

/* { 0 } is a valid empty list. */
struct recent {
	VEC(uint32_t)
	list; /* the last used number is at the end; numbers beyond RECENT_DEPTH
	       * stay in memory */
};

/*
 * Returns the place of `value` (0: used last), or RECENT_NONE if it is new. `value` is the last
 * used one afterwards.
 */
uint32_t recent_place(struct recent *r, uint32_t value);

/*
 * The reverse: the value at a place. It is the last used one afterwards. False: there is no such
 * place.
 */
bool recent_at(struct recent *r, uint32_t place, uint32_t *value);

/* For a reader, when the value is new. */
void recent_put(struct recent *r, uint32_t value);
void recent_fini(struct recent *r);
