/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs: memoised walks from a block, by up to PT_RUN_BITS directions. code.h has the struct.
 */
#pragma once

#include "pt/code.h"

/*
 * The run from a block with `n` ≤ PT_RUN_BITS directions, at the top of `bits`; NULL while the
 * block is not hot. Valid until the next call.
 */
const struct pt_run *pt_code_make_run(struct pt_code *code, uint32_t node, uint64_t bits,
				      unsigned int n);

static inline uint32_t pt_run_key(uint64_t bits, unsigned int n)
{
	return (uint32_t)(1u << n | bits >> (64 - n));
}

static inline uint32_t pt_run_slot(const struct pt_code *code, uint32_t node, uint32_t key)
{
	return (uint32_t)(((uint64_t)node << 16 | key) * 0x9e3779b97f4a7c15ULL >>
			  (64 - code->runs_log2));
}

static inline bool pt_is_run(const struct pt_run *run, uint32_t node, uint32_t key)
{
	return run->node == node && run->key == key;
}

static inline const struct pt_run *pt_code_run(struct pt_code *code, uint32_t node, uint64_t bits,
					       unsigned int n)
{
	uint32_t key = pt_run_key(bits, n);
	uint32_t slot = pt_run_slot(code, node, key);

	if (pt_is_run(&code->runs[slot], node, key))
		return &code->runs[slot];
	if (pt_is_run(&code->runs[slot ^ 1], node, key)) /* of the same cache line */
		return &code->runs[slot ^ 1];
	return pt_code_make_run(code, node, bits, n);
}
