/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack of return addresses that compressed returns are for: 64 entries, the oldest go first.
 */
#pragma once

#include <stdint.h>

#include "pt/code.h"

enum { PT_STACK = 64 };

struct pt_return {
	uint64_t addr;
	uint32_t node; /* 0: to be looked up */
};

struct pt_returns {
	struct pt_return at[PT_STACK];
	uint32_t bottom, top; /* counted on: modulo PT_STACK they are places */
};

static inline uint32_t pt_depth(const struct pt_returns *r)
{
	return r->top - r->bottom;
}

static inline void pt_push(struct pt_returns *r, uint64_t addr, uint32_t node)
{
	r->at[r->top++ % PT_STACK] = (struct pt_return){ addr, node };
	if (pt_depth(r) > PT_STACK)
		r->bottom++;
}

static inline void pt_pop(struct pt_returns *r)
{
	if (pt_depth(r))
		r->top--;
}

/* Over a branch of a memoised walk. */
static inline void pt_pass_told(struct pt_returns *r, const struct pt_told *told)
{
	if (told->next)
		pt_push(r, told->branch.from + told->branch.insn_size, told->next);
	else if (told->branch.end == PT_END_RETURN)
		pt_pop(r);
}

/*
 * The entry below `above` others. If there are not so many, the result is a place of the ring with
 * any content: reading it does no harm and means nothing, so compare the depth as well.
 */
static inline const struct pt_return *pt_return_at(const struct pt_returns *r, uint32_t above)
{
	return &r->at[(r->top - 1 - above) % PT_STACK];
}
