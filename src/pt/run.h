/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs: memoised walks from a block, by up to PT_RUN_BITS directions. code.h has the struct.
 *
 * A run can return from calls before it. So it is valid only with the same addresses on the return
 * stack as when it was made. There is a variant for each of the callers that were met.
 */
#pragma once

#include "pt/code.h"
#include "pt/returns.h"

/*
 * The run from a block with `n` ≤ PT_RUN_BITS directions, at the top of `bits`, made if need be;
 * NULL while the block is not hot. Valid until the next call.
 */
const struct pt_run *pt_code_make_run(struct pt_code *code, uint32_t node, uint64_t bits,
				      unsigned int n, const struct pt_returns *returns);

/* Another run of the same block and directions, where `run` is not for these returns. */
const struct pt_run *pt_code_other_run(struct pt_code *code, const struct pt_run *run,
				       uint64_t bits, unsigned int n,
				       const struct pt_returns *returns);

static inline uint32_t pt_run_key(uint64_t bits, unsigned int n)
{
	return (uint32_t)(1u << n | bits >> (64 - n));
}

static inline uint32_t pt_run_slot(const struct pt_code *code, uint32_t node, uint32_t key,
				   uint16_t variant)
{
	return (uint32_t)((((uint64_t)variant << 32 | node) << 16 | key) * 0x9e3779b97f4a7c15ULL >>
			  (64 - code->runs_log2));
}

static inline bool pt_is_run(const struct pt_run *run, uint32_t node, uint32_t key,
			     uint16_t variant)
{
	return run->node == node && run->key == key && run->variant == variant;
}

/* Whether the entries of the return stack are those that the run takes off. */
static inline bool pt_run_fits(const struct pt_run *run, const struct pt_returns *returns)
{
	uint32_t depth = pt_depth(returns), n = run->n_returns;
	uint64_t other = 0;

	/* One jump for all, as each would be mispredicted now and then. */
	other |= (pt_return_at(returns, 0)->addr ^ run->returns[0]) & -(uint64_t)(n > 0);
	other |= (pt_return_at(returns, 1)->addr ^ run->returns[1]) & -(uint64_t)(n > 1);
	return !(other | (n > depth) | (depth > run->depth));
}

static inline const struct pt_run *pt_code_run(struct pt_code *code, uint32_t node, uint64_t bits,
					       unsigned int n, const struct pt_returns *returns)
{
	uint32_t key = pt_run_key(bits, n);
	uint32_t slot = pt_run_slot(code, node, key, 0);
	const struct pt_run *run = &code->runs[slot];

	if (!pt_is_run(run, node, key, 0))
		run = &code->runs[slot ^ 1]; /* a neighbour, which is read along */
	if (!pt_is_run(run, node, key, 0))
		return pt_code_make_run(code, node, bits, n, returns);
	if (pt_run_fits(run, returns))
		return run;
	return pt_code_other_run(code, run, bits, n, returns);
}
