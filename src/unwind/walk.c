/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/walk.h"

#include <string.h>

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
 * Rules by (table, file offset): processes come and go, and run the same programs at other
 * addresses. docs/unwinding.md has what it gains.
 */
#define MEMORY_BITS 14

/* What is mapped around the last addresses of a space: a stack is of few images. */
#define N_RANGES 4

struct remembered {
	const uint32_t *rows; /* of the table; NULL: nothing is here */
	uint64_t file_off;
	struct unwind_rule rule;
};

struct range {
	uint64_t start, end, file_off; /* file_off: of start */
	const struct unwind_table *table;
};

struct unwinder {
	uint64_t space; /* of the ranges */
	struct range ranges[N_RANGES];
	uint32_t last, next; /* the range that was hit, and that is replaced next */
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

static void enter_space(struct unwinder *u, uint64_t space)
{
	if (space && space == u->space)
		return;
	memset(u->ranges, 0, sizeof(u->ranges));
	u->space = space;
}

static inline const struct range *find_range(struct unwinder *u, uint64_t pc)
{
	const struct range *r = &u->ranges[u->last];

	if (pc - r->start < r->end - r->start)
		return r;
	for (uint32_t i = 0; i < N_RANGES; i++) {
		r = &u->ranges[i];
		if (pc - r->start < r->end - r->start) {
			u->last = i;
			return r;
		}
	}
	return NULL;
}

static void keep_range(struct unwinder *u, uint64_t pc, const struct unwind_place *place)
{
	if (pc < place->start || pc >= place->end)
		return;
	u->ranges[u->next] = (struct range){
		.start = place->start,
		.end = place->end,
		.file_off = place->file_off - (pc - place->start),
		.table = place->table,
	};
	u->last = u->next;
	u->next = (u->next + 1) % N_RANGES;
}

static inline struct unwind_rule rule_of(struct unwinder *u, const struct unwind_table *table,
					 uint64_t file_off)
{
	uint64_t hash = (file_off ^ (uint64_t)(uintptr_t)table->rows << 20) * 0x9e3779b97f4a7c15ull;
	struct remembered *m = &u->memory[hash >> (64 - MEMORY_BITS)];

	if (m->file_off != file_off || m->rows != table->rows)
		*m = (struct remembered){ table->rows, file_off,
					  unwind_table_find(table, file_off) };
	return m->rule;
}

/* False if nothing is mapped there. */
static inline bool find_rule(struct unwinder *u, const struct unwind_input *in, uint64_t pc,
			     struct unwind_rule *rule)
{
	const struct range *range = find_range(u, pc);
	struct unwind_place place = { 0 };
	enum unwind_where where;

	if (range) {
		*rule = rule_of(u, range->table, pc - range->start + range->file_off);
		return true;
	}
	where = in->find(in->ctx, pc, &place);
	if (where == UNWIND_AT_NOTHING)
		return false;
	*rule = (struct unwind_rule){ 0 };
	if (where == UNWIND_AT_TABLE) {
		*rule = rule_of(u, place.table, place.file_off);
		keep_range(u, pc, &place);
	}
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

	enter_space(u, in->space);
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
