/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/run.h"

#include <assert.h>

#include "pt/path.h"

/* What the run leaves on the return stack: it returns from none of the calls before it. */
static void set_pushes(const struct pt_path *p, struct pt_run *run)
{
	const struct pt_op *ops = &p->code->ops.data[run->ops];

	run->n_pushes = p->n_calls > 1 ? PT_RUN_BY_OPS : (uint8_t)p->n_calls;
	run->height = (uint8_t)p->max_calls;
	for (uint32_t i = 0; i < p->n_ops; i++) {
		if (p->n_calls == 1 && ops[i].next == p->calls[0])
			run->push = (uint8_t)i;
		if (ops[i].branch.to == p->code->watched)
			run->n_pushes = PT_RUN_BY_OPS;
	}
}

/*
 * A run ends right behind the last direction, or behind a return of a call from before it, or
 * before the first block that it can't pass. A walk step by step ends at the same place.
 */
static struct pt_run run_of(struct pt_code *code, uint32_t node, uint64_t bits, unsigned int n)
{
	struct pt_path p = { .code = code, .node = node, .bits = bits, .n = n };
	struct pt_run run = { .node = node,
			      .key = (uint16_t)pt_run_key(bits, n),
			      .to = node,
			      .ops = (uint32_t)code->ops.n };
	uint32_t steps = 0;

	while (p.n && steps++ < PT_PATH_STEPS && pt_path_step(&p))
		run.to = p.node;
	run.n_bits = (uint8_t)p.n_used;
	run.n_ops = (uint8_t)p.n_ops;
	run.insns = p.insns;
	run.return_from = p.return_from;
	run.return_size = p.return_size;
	set_pushes(&p, &run);
	return run;
}

/* The run's slot, or the empty one where it belongs. */
static struct pt_run *run_find(const struct pt_code *code, uint32_t node, uint32_t key)
{
	uint32_t slot = pt_run_slot(code, node, key), mask = (1u << code->runs_log2) - 1;

	/* Both of a cache line before the next line. */
	for (uint32_t i = 0;; i++) {
		struct pt_run *run = &code->runs[((slot + (i & ~1u)) & mask) ^ (i & 1)];

		if (!run->node || pt_is_run(run, node, key))
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
			*run_find(code, run->node, run->key) = *run;
	code->n_runs = n;
	free(old);
}

const struct pt_run *pt_code_make_run(struct pt_code *code, uint32_t node, uint64_t bits,
				      unsigned int n)
{
	struct pt_run *run;

	assert(n > 0 && n <= PT_RUN_BITS && node < code->nodes.n);
	run = run_find(code, node, pt_run_key(bits, n));
	if (run->node)
		return run;
	if (code->steps_alone)
		return NULL;
	if (pt_node(code, node)->heat < PT_RUN_HEAT) {
		pt_node(code, node)->heat++;
		return NULL;
	}
	if (code->n_runs / 3 >> (code->runs_log2 - 2)) {
		runs_grow(code);
		run = run_find(code, node, pt_run_key(bits, n));
	}
	*run = run_of(code, node, bits, n);
	code->n_runs++;
	return run;
}
