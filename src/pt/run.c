/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/run.h"

#include <assert.h>

#include "base/intmap.h"
#include "pt/path.h"

enum { MAX_VARIANTS = 4 };

/* What the run takes off the return stack, and leaves there. */
static void run_set_returns(const struct pt_path *p, struct pt_run *run)
{
	const struct pt_op *ops = &p->code->ops.data[run->ops];

	run->n_returns = (uint8_t)p->n_before;
	run->room = (uint8_t)(p->lacks_return ? 0 : PT_STACK - p->n_before);
	run->height = (uint8_t)p->max_calls;
	for (unsigned int i = 0; i < p->n_before; i++)
		run->returns[PT_WALK_RETURNS - 1 - i] = pt_return_at(p->before, p->code, i);
	run->n_pushes = (uint8_t)p->n_calls;
	for (unsigned int i = 0; i < p->n_calls && i < PT_WALK_PUSHES; i++)
		run->pushes[i] = p->calls[i];
	if (p->n_calls > PT_WALK_PUSHES)
		run->height = PT_RUN_BY_OPS;
	for (uint32_t i = 0; i < p->n_ops; i++)
		if (pt_told(p->code, &ops[i])->branch.to == p->code->watched)
			run->height = PT_RUN_BY_OPS;
}

/*
 * A run ends right behind the last direction, or before the first block that it can't pass. A walk
 * step by step ends at the same place.
 */
static void set_run(struct pt_code *code, struct pt_run *run, uint64_t bits, unsigned int n,
		    struct pt_returns *returns)
{
	struct pt_path p = { .code = code,
			     .node = pt_run_node(run),
			     .bits = bits,
			     .n = n,
			     .before = returns,
			     .max_before = PT_WALK_RETURNS };
	uint32_t steps = 0;

	run->to = p.node;
	run->ops = (uint32_t)code->ops.n;
	while (p.n && steps++ < PT_PATH_STEPS && pt_path_step(&p))
		run->to = p.node;
	run->n_bits = (uint8_t)p.n_used;
	run->n_ops = (uint8_t)p.n_ops;
	run->insns = p.insns;
	run_set_returns(&p, run);
	pt_path_end(&p);
}

/* Looks at the first pair of slots alone; NULL: the run is not there. */
static inline const struct pt_run *run_near(const struct pt_code *code, uint64_t id)
{
	uint64_t slot = pt_run_slot(code, id);
	const struct pt_run *run = &code->runs[slot], *beside = &code->runs[slot ^ 1];

	run = run->id == id ? run : beside;
	return run->id == id ? run : NULL;
}

/* The run's slot, or the empty one where it belongs. */
static struct pt_run *run_find(const struct pt_code *code, uint64_t id)
{
	uint64_t slot = pt_run_slot(code, id), mask = (1ULL << code->runs_table.log2) - 1;

	/* Both of a pair before the next pair. */
	for (uint64_t i = 0;; i++) {
		struct pt_run *run = &code->runs[((slot + (i & ~1ULL)) & mask) ^ (i & 1)];

		if (!run->id || run->id == id)
			return run;
	}
}

static void runs_grow(struct pt_code *code)
{
	struct pt_run *old = code->runs, *end = old + (1ULL << code->runs_table.log2);
	void *memory = code->runs_table.memory;
	uint32_t n = code->n_runs;

	pt_code_grow_runs(code);
	for (struct pt_run *run = old; run < end; run++)
		if (run->id)
			*run_find(code, run->id) = *run;
	code->n_runs = n;
	free(memory);
}

static const struct pt_run *make_variant(struct pt_code *code, uint64_t id, uint64_t bits,
					 unsigned int n, struct pt_returns *returns)
{
	struct pt_run *run = run_find(code, id);
	struct pt_node *node;

	if (run->id)
		return run;
	if (code->steps_alone)
		return NULL;
	node = pt_node(code, (uint32_t)(id >> 16));
	if (node->heat < PT_RUN_HEAT) {
		node->heat++;
		return NULL;
	}
	/* The table is at most half full, so look-ups rarely go beyond the first pair. */
	if (code->n_runs >> (code->runs_table.log2 - 1)) {
		runs_grow(code);
		run = run_find(code, id);
	}
	*run = (struct pt_run){ .id = id };
	set_run(code, run, bits, n, returns);
	code->n_runs++;
	return run;
}

/* The variant for the first entry of the return stack that is another than the run's. */
static uint16_t next_variant(struct pt_code *code, const struct pt_run *run,
			     struct pt_returns *returns)
{
	uint32_t depth = pt_depth(returns), n = MIN(run->n_returns, depth), i = 0;
	uint64_t caller;

	while (i < n && pt_return_at(returns, code, i) == run->returns[PT_WALK_RETURNS - 1 - i])
		i++;
	caller = i < depth ? pt_return_at(returns, code, i) : 0;
	return (uint16_t)(hash_u64(((uint64_t)i << 32 | caller) + pt_run_variant(run)) | 1);
}

const struct pt_run *pt_code_make_run(struct pt_code *code, uint32_t node, uint64_t bits,
				      unsigned int n, struct pt_returns *returns)
{
	const struct pt_run *run;

	assert(n > 0 && n <= PT_RUN_BITS && node < code->nodes.n);
	run = make_variant(code, pt_run_id(node, bits, n, 0), bits, n, returns);
	if (!run || pt_run_fits(run, returns))
		return run;
	return pt_code_other_run(code, run, bits, n, returns);
}

const struct pt_run *pt_code_other_run(struct pt_code *code, const struct pt_run *run,
				       uint64_t bits, unsigned int n, struct pt_returns *returns)
{
	uint32_t node = pt_run_node(run);

	for (int i = 1; i < MAX_VARIANTS; i++) {
		uint64_t id = pt_run_id(node, bits, n, next_variant(code, run, returns));

		/* An entry that was an address is a block now. */
		if (pt_run_fits(run, returns))
			return run;
		run = run_near(code, id);
		if (!run)
			run = make_variant(code, id, bits, n, returns);
		if (!run || pt_run_fits(run, returns))
			return run;
	}
	return NULL;
}
