/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/run.h"

#include <assert.h>

#include "pt/path.h"

enum { MAX_VARIANTS = 4 };

_Static_assert(PT_RUN_RETURNS <= PT_RUN_PUSHES, "what a run takes off has the place of its pushes");

/* What the run takes off the return stack, and leaves there. */
static void set_returns(const struct pt_path *p, struct pt_run *run)
{
	const struct pt_op *ops = &p->code->ops.data[run->ops];

	run->n_returns = (uint8_t)p->n_before;
	run->depth = p->lacks_return ? run->n_returns : PT_STACK;
	/* All of `pushes` is written, whatever `n_pushes`: over no entry of a full stack. */
	run->height = (uint8_t)MAX(p->max_calls, PT_RUN_PUSHES - p->n_before);
	for (unsigned int i = 0; i < p->n_before; i++)
		run->returns[i] = pt_return_at(p->before, i)->addr;
	run->n_pushes = p->n_calls > PT_RUN_PUSHES ? PT_RUN_BY_OPS : (uint8_t)p->n_calls;
	for (unsigned int i = 0; i < p->n_calls && i < PT_RUN_PUSHES; i++)
		run->pushes[i] = pt_node(p->code, p->calls[i])->start;
	for (uint32_t i = 0; i < p->n_ops; i++)
		if (pt_told(p->code, &ops[i])->branch.to == p->code->watched)
			run->n_pushes = PT_RUN_BY_OPS;
}

/*
 * A run ends right behind the last direction, or before the first block that it can't pass. A walk
 * step by step ends at the same place.
 */
static void set_run(struct pt_code *code, struct pt_run *run, uint64_t bits, unsigned int n,
		    const struct pt_returns *returns)
{
	struct pt_path p = { .code = code,
			     .node = run->node,
			     .bits = bits,
			     .n = n,
			     .before = returns,
			     .max_before = PT_RUN_RETURNS };
	uint32_t steps = 0;

	run->to = run->node;
	run->ops = (uint32_t)code->ops.n;
	while (p.n && steps++ < PT_PATH_STEPS && pt_path_step(&p))
		run->to = p.node;
	run->n_bits = (uint8_t)p.n_used;
	run->n_ops = (uint8_t)p.n_ops;
	run->insns = p.insns;
	set_returns(&p, run);
}

/* Looks at the first pair of slots alone; NULL: the run is not there. */
static inline const struct pt_run *run_near(const struct pt_code *code, uint32_t node, uint32_t key,
					    uint16_t variant)
{
	const struct pt_run *run = &code->runs[pt_run_slot(code, node, key, variant)];
	const struct pt_run *beside = &code->runs[pt_run_slot(code, node, key, variant) ^ 1];

	run = pt_is_run(run, node, key, variant) ? run : beside;
	return pt_is_run(run, node, key, variant) ? run : NULL;
}

/* The run's slot, or the empty one where it belongs. */
static struct pt_run *run_find(const struct pt_code *code, uint32_t node, uint32_t key,
			       uint16_t variant)
{
	uint32_t slot = pt_run_slot(code, node, key, variant), mask = (1u << code->runs_log2) - 1;

	/* Both of a pair before the next pair. */
	for (uint32_t i = 0;; i++) {
		struct pt_run *run = &code->runs[((slot + (i & ~1u)) & mask) ^ (i & 1)];

		if (!run->node || pt_is_run(run, node, key, variant))
			return run;
	}
}

static void runs_grow(struct pt_code *code)
{
	struct pt_run *old = code->runs, *end = old + (1ULL << code->runs_log2);
	uint32_t n = code->n_runs;

	pt_code_new_runs(code, code->runs_log2 + 1u);
	for (struct pt_run *run = old; run < end; run++)
		if (run->node)
			*run_find(code, run->node, run->key, run->variant) = *run;
	code->n_runs = n;
	free(old);
}

static const struct pt_run *make_variant(struct pt_code *code, uint32_t node, uint64_t bits,
					 unsigned int n, uint16_t variant,
					 const struct pt_returns *returns)
{
	uint16_t key = (uint16_t)pt_run_key(bits, n);
	struct pt_run *run = run_find(code, node, key, variant);

	if (run->node)
		return run;
	if (code->steps_alone)
		return NULL;
	if (pt_node(code, node)->heat < PT_RUN_HEAT) {
		pt_node(code, node)->heat++;
		return NULL;
	}
	/* The table is at most half full, so look-ups rarely go beyond the first pair. */
	if (code->n_runs >> (code->runs_log2 - 1)) {
		runs_grow(code);
		run = run_find(code, node, key, variant);
	}
	*run = (struct pt_run){ .node = node, .key = key, .variant = variant };
	set_run(code, run, bits, n, returns);
	code->n_runs++;
	return run;
}

/* The variant for the first address on the return stack that is another than the run's. */
static uint16_t next_variant(const struct pt_run *run, const struct pt_returns *returns)
{
	uint32_t depth = pt_depth(returns), n = MIN(run->n_returns, depth), i;
	bool same = pt_return_at(returns, 0)->addr == run->returns[0];
	uint64_t addr;

	_Static_assert(PT_RUN_RETURNS == 2, "both are compared");
	i = (uint32_t)((n > 0) & same);
	i += i & (n > 1) & (pt_return_at(returns, 1)->addr == run->returns[1]);
	addr = i < depth ? pt_return_at(returns, i)->addr : 0;
	return (uint16_t)(hash_u64(addr + i + run->variant) | 1);
}

const struct pt_run *pt_code_make_run(struct pt_code *code, uint32_t node, uint64_t bits,
				      unsigned int n, const struct pt_returns *returns)
{
	const struct pt_run *run;

	assert(n > 0 && n <= PT_RUN_BITS && node < code->nodes.n);
	run = make_variant(code, node, bits, n, 0, returns);
	if (!run || pt_run_fits(run, returns))
		return run;
	return pt_code_other_run(code, run, bits, n, returns);
}

const struct pt_run *pt_code_other_run(struct pt_code *code, const struct pt_run *run,
				       uint64_t bits, unsigned int n,
				       const struct pt_returns *returns)
{
	uint32_t node = run->node, key = run->key;

	for (int i = 1; i < MAX_VARIANTS; i++) {
		uint16_t variant = next_variant(run, returns);

		run = run_near(code, node, key, variant);
		if (!run)
			run = make_variant(code, node, bits, n, variant, returns);
		if (!run || pt_run_fits(run, returns))
			return run;
	}
	return NULL;
}
