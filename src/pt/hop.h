/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hops: memoised walks from one TIP packet to the next.
 *
 * The trace's bytes have the target of a TIP and the TNT packets up to the next TIP. So these bytes
 * alone are the key of a hop, and no look-up waits for the one before.
 *
 *     TIP 0x4711   82 a6   TIP …
 *         address, TNT bytes ──hash──► hop ──► ops[]: calls, returns (or all branches), last the
 *                                                     branch that the second TIP is for
 *
 * A hop can return from calls before it. So it is valid only with the same addresses on the return
 * stack as when it was made. Directions that do not end at an indirect branch, and errors, can't be
 * hops. They are kept as hops without ops, and walked step by step.
 */
#pragma once

#include "pt/code.h"
#include "pt/returns.h"

/*
 * Which entry of the return stack is another than the hop takes off, from 1 at the top; 0: none is,
 * or there are not so many.
 */
uint32_t pt_hop_other(struct pt_code *code, const struct pt_hop *hop, struct pt_returns *returns);

/*
 * Made when it is met, or, with many directions, for the second time; NULL before. Valid until the
 * next call.
 */
const struct pt_hop *pt_code_make_hop(struct pt_code *code, uint64_t addr, uint64_t tnt,
				      uint16_t variant, struct pt_returns *returns);

/* Another hop of the same address and TNTs, where `hop` is not for these returns; NULL: none is. */
const struct pt_hop *pt_code_other_hop(struct pt_code *code, const struct pt_hop *hop,
				       struct pt_returns *returns);

static inline uint64_t pt_hop_hash(uint64_t addr, uint64_t tnt, uint16_t variant)
{
	return (addr ^ (tnt + variant) * 0xff51afd7ed558ccdULL) * 0x9e3779b97f4a7c15ULL;
}

static inline bool pt_is_hop(const struct pt_hop *hop, uint64_t addr, uint64_t tnt,
			     uint16_t variant)
{
	return hop->addr == addr && hop->tnt == tnt && hop->variant == variant;
}

/* Whether the entries of the return stack are those that the hop takes off, and there is room. */
static inline bool pt_hop_fits(struct pt_code *code, const struct pt_hop *hop,
			       struct pt_returns *returns)
{
	unsigned int n = hop->n_returns;

	/* One jump for all, as each would be mispredicted now and then. */
	return !(pt_returns_differ(returns, hop->returns, n) |
		 (pt_depth(returns) - n > hop->room)) &&
	       (n <= PT_WALK_RETURNS || !pt_hop_other(code, hop, returns));
}

/* Applies the hop to the return stack. */
static inline void pt_hop_pass(const struct pt_code *code, const struct pt_hop *hop,
			       struct pt_returns *returns)
{
	unsigned int n = hop->n_returns;
	uint32_t from = pt_returns_pass(returns, n, hop->pushes, hop->n_pushes);

	if (hop->n_pushes > PT_WALK_PUSHES)
		memcpy(&returns->node[PT_SPARE_RETURNS + from],
		       &code->callers
				.data[hop->more + (n > PT_WALK_RETURNS ? n - PT_WALK_RETURNS : 0)],
		       hop->n_pushes * sizeof(uint32_t));
}

/* The hop to take; NULL: there is none. */
static inline const struct pt_hop *pt_code_hop(struct pt_code *code, uint64_t addr, uint64_t tnt,
					       struct pt_returns *returns)
{
	const struct pt_hop *hop =
		&code->hops[pt_hop_hash(addr, tnt, 0) >> (64 - code->hops_table.log2)];

	if (!pt_is_hop(hop, addr, tnt, 0))
		hop = pt_code_make_hop(code, addr, tnt, 0, returns);
	if (!hop || pt_hop_fits(code, hop, returns))
		return hop;
	return pt_code_other_hop(code, hop, returns);
}
