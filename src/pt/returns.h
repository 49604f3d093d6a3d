/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack of return addresses that compressed returns are for: 64 entries, the oldest go first.
 *
 * An entry is a block of the graph, because memoised walks compare and push many of them. While the
 * graph may change, an entry is an address: pt_returns_leave().
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "pt/code.h"

enum {
	PT_STACK_ROOM = 4 * PT_STACK, /* so that a full stack moves at each 192nd call alone */
	PT_SPARE_RETURNS = 4,         /* so many entries beyond both ends may be read or written */
};

struct pt_returns {
	/* From `bottom` on, up to `top`: places behind the spare ones. */
	uint32_t node[PT_STACK_ROOM + 2 * PT_SPARE_RETURNS];
	uint64_t addr[PT_STACK_ROOM + 2 * PT_SPARE_RETURNS]; /* of an entry whose node is 0 */
	uint32_t bottom, top;
};

static inline uint32_t pt_depth(const struct pt_returns *r)
{
	return r->top - r->bottom;
}

/* Makes room at the upper end: a stack that is full has moved up with each call. */
void pt_returns_move_down(struct pt_returns *r);

/* The entries become addresses: the graph may change. */
void pt_returns_leave(struct pt_returns *r, const struct pt_code *code);

static inline void pt_push(struct pt_returns *r, uint32_t node)
{
	if (pt_depth(r) == PT_STACK)
		r->bottom++;
	if (r->top == PT_STACK_ROOM)
		pt_returns_move_down(r);
	r->node[PT_SPARE_RETURNS + r->top++] = node;
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
		pt_push(r, told->next);
	else if (told->branch.end == PT_END_RETURN)
		pt_pop(r);
}

/* The block of the entry below `above` others, which is there. */
static inline uint32_t pt_return_at(struct pt_returns *r, struct pt_code *code, uint32_t above)
{
	uint32_t at = PT_SPARE_RETURNS + r->top - 1 - above;

	if (!r->node[at])
		r->node[at] = pt_code_at(code, r->addr[at]);
	return r->node[at];
}

/*
 * Compares the upper n ≤ PT_WALK_RETURNS entries with those of a memoised walk, the top last. Not
 * 0: one is another, or an address. No jump depends on n: it would be mispredicted now and then. If
 * there are not so many entries, the result means nothing.
 */
static inline uint64_t pt_returns_differ(const struct pt_returns *r,
					 const uint32_t callers[PT_WALK_RETURNS], unsigned int n)
{
	static const uint32_t masks[PT_NO_WALK + 1][PT_WALK_RETURNS] = {
		[1] = { 0, UINT32_MAX }, [2 ... PT_NO_WALK] = { UINT32_MAX, UINT32_MAX }
	};
	uint64_t now, then, mask;

	_Static_assert(sizeof(now) == sizeof(masks[0]), "two entries are compared at once");
	memcpy(&now, &r->node[PT_SPARE_RETURNS + r->top - PT_WALK_RETURNS], sizeof(now));
	memcpy(&then, callers, sizeof(then));
	memcpy(&mask, masks[n], sizeof(mask));
	return (now ^ then) & mask;
}

/*
 * The stack behind a memoised walk, which takes off `n_returns` and leaves `n_pushes`. All of
 * `pushes` is written, so that no jump depends on their number.
 */
static inline uint32_t pt_returns_pass(struct pt_returns *r, unsigned int n_returns,
				       const uint32_t pushes[PT_WALK_PUSHES], unsigned int n_pushes)
{
	uint32_t top = r->top - n_returns;

	_Static_assert((int)PT_WALK_PUSHES <= (int)PT_SPARE_RETURNS, "there is room for all");
	memcpy(&r->node[PT_SPARE_RETURNS + top], pushes, PT_WALK_PUSHES * sizeof(*pushes));
	r->top = top + n_pushes;
	return top;
}
