/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows: the result of every view of a profile, in the order of display.
 *
 * In every view, ITEM and OTHER rows add up to the profile's total. A GROUP row is a heading with
 * the sum of the rows below it. In call trees, the rule holds for `self`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "profile/key.h"
#include "profile/profile.h"

enum row_kind {
	ROW_ITEM,
	ROW_GROUP,
	ROW_OTHER, /* n_hidden rows that are not shown: all weights are in `self` */
};

/* In a callers-and-callees block. CALLER and CALLEE rows detail their block and count to no sum. */
enum row_role { ROLE_NONE, ROLE_CALLER, ROLE_SELF, ROLE_CALLEE };

struct row {
	enum row_kind kind;
	enum row_role role;
	uint16_t depth;  /* below how many rows: in trees the depth of the chain */
	uint16_t indent; /* trees: as depth, but a sole child that has all of its parent's weight
			    stands under it */
	bool has_total;  /* the total of the cells means something */
	bool is_branch;  /* trees: has siblings, or its parent has more than it */
	uint32_t parent; /* index of the row above it in the tree or nest; NO_INDEX */
	uint32_t block;  /* callers and callees: number of the block; NO_INDEX */
	uint32_t n_hidden;
	uint32_t value[N_PROFILE_KEYS]; /* by key; NO_INDEX: not one of this row's keys */
};

/* Self: innermost frame. Total: anywhere in the chain, once a sample. */
struct cell {
	struct weight self, total;
};

struct rows {
	VEC(struct row) list;
	VEC(struct cell) cells; /* [row * n_lanes + lane] */
	uint32_t n_lanes;
};

void rows_fini(struct rows *rows);

/* A new row with no key values and zero weights. Its index; its address moves with the next. */
uint32_t rows_add(struct rows *rows, enum row_kind kind, uint32_t depth, uint32_t parent);

static inline struct cell *rows_cells(const struct rows *rows, size_t row)
{
	return &rows->cells.data[row * rows->n_lanes];
}

/* The limits for a separate row. */
struct row_limits {
	double min_percent; /* of the total; in any lane */
	uint64_t max_rows;  /* under one heading; 0: no limit */
	bool by_period;     /* compare events instead of samples */
};

/*
 * The rows of all tuples of keys, one level, in no order. Totals are made where
 * `with_total` and a CODE key is among them.
 */
void profile_collate(const struct profile *p, const struct key_list *keys, bool with_total,
		     struct rows *out);
/* The same, where the caller has entries_by_group() of profile/walk.h. */
void profile_collate_ordered(const struct profile *p, const struct key_list *keys, bool with_total,
			     const uint32_t *order, struct rows *out);
/*
 * profile_collate() makes so many rows at most: one for each function and group that has samples.
 */
size_t profile_most_rows(const struct profile *p, const struct key_list *keys, bool with_total,
			 const uint32_t *order);
/* More bytes than these functions, and `order`, need beside the rows. */
size_t profile_collate_bytes(const struct profile *p);

/*
 * Trees hide rows below the limits. If the hidden rows under a row reach the threshold together,
 * they get an OTHER row. All others of the tree are one OTHER row at the end. `self` of all rows
 * adds up to the total.
 */

/* Top-down: the call tree, heavier first. With class keys, one for each group under its heading. */
void profile_tree(const struct profile *p, const struct row_limits *limits, struct rows *out);

/* Bottom-up: functions by self weight, under each its callers; groups as above. */
void profile_inverted(const struct profile *p, const struct row_limits *limits, struct rows *out);

/*
 * A block for every function, heaviest total first. It has the callers (lightest first), the
 * function itself (ROLE_SELF), and the callees (heaviest first). A sample's caller is the caller of
 * the function's outermost frame. Its callee is the callee of the innermost frame. So
 *
 *   total = sum of callers = self + sum of callees
 *
 * holds with recursion, too. A caller row without a symbol is the root: there was no caller.
 */
void profile_callgraph(const struct profile *p, const struct row_limits *limits, struct rows *out);
