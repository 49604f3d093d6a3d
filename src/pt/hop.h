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

enum {
	PT_NO_HOP = 0xff,
	PT_SPARE_OPS = 2, /* so many behind a hop's first may be read */
};

/*
 * Which entry of the return stack is another than the hop takes off, from 1 at the top; 0: none is,
 * or there are not so many.
 */
uint32_t pt_hop_other(const struct pt_code *code, const struct pt_hop *hop,
		      const struct pt_returns *returns);

/*
 * Made when it is met, or, with many directions, for the second time; NULL before. Valid until the
 * next call.
 */
const struct pt_hop *pt_code_make_hop(struct pt_code *code, uint64_t addr, uint64_t tnt,
				      uint16_t variant, const struct pt_returns *returns);

/* Another hop of the same address and TNTs, where `hop` is not for these returns; NULL: none is. */
const struct pt_hop *pt_code_other_hop(struct pt_code *code, const struct pt_hop *hop,
				       const struct pt_returns *returns);

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
static inline bool pt_hop_fits(const struct pt_code *code, const struct pt_hop *hop,
			       const struct pt_returns *returns)
{
	uint32_t depth = pt_depth(returns), n = hop->n_returns;
	uint64_t other = 0;

	/* One jump for all, as each would be mispredicted now and then. */
	other |= (pt_return_at(returns, 0)->addr ^ hop->returns[0]) & -(uint64_t)(n > 0);
	other |= (pt_return_at(returns, 1)->addr ^ hop->returns[1]) & -(uint64_t)(n > 1);
	other |= (n > depth) | (depth + hop->height >= PT_STACK);
	return !other && (n <= PT_HOP_RETURNS || !pt_hop_other(code, hop, returns));
}

/* The addresses that it leaves on the return stack, the bottom first; i ≥ 1. */
static inline uint64_t pt_hop_push(const struct pt_code *code, const struct pt_hop *hop,
				   unsigned int i)
{
	unsigned int n = hop->n_returns;

	return code->addrs.data[hop->more + (n > PT_HOP_RETURNS ? n - PT_HOP_RETURNS : 0) + i];
}

/* The hop to take; NULL: there is none. */
static inline const struct pt_hop *pt_code_hop(struct pt_code *code, uint64_t addr, uint64_t tnt,
					       const struct pt_returns *returns)
{
	const struct pt_hop *hop = &code->hops[pt_hop_hash(addr, tnt, 0) >> (64 - code->hops_log2)];

	if (!pt_is_hop(hop, addr, tnt, 0))
		hop = pt_code_make_hop(code, addr, tnt, 0, returns);
	if (!hop || pt_hop_fits(code, hop, returns))
		return hop;
	return pt_code_other_hop(code, hop, returns);
}
