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
				      unsigned int n, struct pt_returns *returns);

/* Another run of the same block and directions, where `run` is not for these returns. */
const struct pt_run *pt_code_other_run(struct pt_code *code, const struct pt_run *run,
				       uint64_t bits, unsigned int n, struct pt_returns *returns);

/*
 * The block, its directions below a 1, and the variant. 0: the first that was met; else by a hash
 * of a caller.
 */
static inline uint64_t pt_run_id(uint32_t node, uint64_t bits, unsigned int n, uint16_t variant)
{
	uint64_t key = (1ULL << 63 | bits >> 1) >> (63 - n);

	return (uint64_t)variant << 48 | (uint64_t)node << 16 | key;
}

static inline uint32_t pt_run_node(const struct pt_run *run)
{
	return (uint32_t)(run->id >> 16);
}

static inline uint16_t pt_run_variant(const struct pt_run *run)
{
	return (uint16_t)(run->id >> 48);
}

static inline uint64_t pt_run_slot(const struct pt_code *code, uint64_t id)
{
	return id * 0x9e3779b97f4a7c15ULL >> (64 - code->runs_table.log2);
}

/* Whether the entries of the return stack are those that the run takes off. */
static inline bool pt_run_fits(const struct pt_run *run, const struct pt_returns *returns)
{
	unsigned int n = run->n_returns;

	/* One jump for all, as each would be mispredicted now and then. */
	return !(pt_returns_differ(returns, run->returns, n) | (pt_depth(returns) - n > run->room));
}

static inline const struct pt_run *pt_code_run(struct pt_code *code, uint32_t node, uint64_t bits,
					       unsigned int n, struct pt_returns *returns)
{
	uint64_t id = pt_run_id(node, bits, n, 0), slot = pt_run_slot(code, id);
	const struct pt_run *run = &code->runs[slot];

	if (run->id != id)
		run = &code->runs[slot ^ 1]; /* a neighbour, which is read along */
	if (run->id != id)
		return pt_code_make_run(code, node, bits, n, returns);
	if (pt_run_fits(run, returns))
		return run;
	return pt_code_other_run(code, run, bits, n, returns);
}
