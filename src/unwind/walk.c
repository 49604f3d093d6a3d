/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/walk.h"

#include "base/mem.h"
#include "unwind/user_ctx.h"
#include "unwind/step.h"

const char *const unwind_stop_keys[N_UNWIND_STOPS] = {
#define X(id, key, text) key,
	UNWIND_STOPS(X)
#undef X
};

const char *const unwind_stop_texts[N_UNWIND_STOPS] = {
#define X(id, key, text) text,
	UNWIND_STOPS(X)
#undef X
};

/*
 * Rules by (space, address): the frames above a hot function are the same from
 * sample to sample. docs/unwinding.md has what it gains.
 */
#define MEMORY_BITS 12

struct remembered {
	uint64_t space, pc;
	struct unwind_rule rule;
};

struct unwinder {
	struct remembered memory[1 << MEMORY_BITS];
};

struct unwinder *unwinder_new(void)
{
	return xcalloc(1, sizeof(struct unwinder));
}

void unwinder_free(struct unwinder *u)
{
	free(u);
}

/* False if nothing is mapped there. */
static inline bool find_rule(struct unwinder *u, const struct unwind_input *in, uint64_t pc,
			     struct unwind_rule *rule)
{
	uint64_t hash = (pc ^ in->space << 40) * 0x9e3779b97f4a7c15ull;
	struct remembered *m = &u->memory[hash >> (64 - MEMORY_BITS)];
	struct unwind_place place;
	enum unwind_where where;

	if (in->space && m->pc == pc && m->space == in->space) {
		*rule = m->rule;
		return true;
	}
	where = in->find(in->ctx, pc, &place);
	if (where == UNWIND_AT_NOTHING)
		return false;
	*rule = (struct unwind_rule){ 0 };
	if (where == UNWIND_AT_TABLE)
		*rule = unwind_table_find(place.table, place.file_off);
	*m = (struct remembered){ in->space, pc, *rule };
	return true;
}

void unwind_walk(struct unwinder *u, const struct unwind_input *in, struct unwind_chain *chain)
{
	struct unwind_regs regs = in->regs;
	struct unwind_ctx c = {
		.stack = in->stack,
		.start = in->regs.sp,
		.size = in->stack_size,
		.is_whole = in->is_whole,
		.other = in->other,
		.n_other = in->n_other,
	};
	enum unwind_stop stop = UNWIND_GOES_ON;
	struct unwind_rule rule;
	size_t n = 0, n_by_fp = 0;

	while (!stop) {
		if (n == chain->max) {
			stop = UNWIND_DEPTH;
			break;
		}
		chain->pcs[n++] = regs.pc;
		if (!find_rule(u, in, unwind_lookup_pc(&regs), &rule)) {
			stop = UNWIND_UNMAPPED;
			break;
		}
		stop = unwind_step(rule, &regs, &c);
		n_by_fp += !stop && unwind_rule_cfa(rule) == UNWIND_CFA_NONE;
	}
	chain->n = n;
	chain->n_by_fp = n_by_fp;
	chain->stop = stop;
}
