/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside profile/: the part of the tree that some entries reach, with weights
 * summed up from the leaves. Made group by group over the same arrays.
 */
#pragma once

#include "profile/rows.h"

/* Indexes of entries, group by group. The caller's to free(). */
uint32_t *entries_by_group(const struct profile *p);

struct subtree {
	const struct profile *p;
	VEC(uint32_t) touched;                /* nodes, parents first, without the root */
	uint32_t *mark;                       /* by node: the pass that touched it last */
	uint32_t *first_child, *next_sibling; /* by node; 0: none */
	struct cell *cells; /* by [node * n_lanes + lane]; the root's is the sum */
	uint32_t pass;
};

void subtree_init(struct subtree *t, const struct profile *p);
void subtree_fini(struct subtree *t);

/* Makes it the tree of these entries; what it was before is gone. */
void subtree_fill(struct subtree *t, const uint32_t *entries, size_t n);

static inline const struct cell *subtree_cells(const struct subtree *t, uint32_t node)
{
	return &t->cells[(size_t)node * t->p->n_lanes];
}

/*
 * The order of two functions of equal weight: by symbol, then by image. Their numbers depend on the
 * number of threads that loaded the profile, so they decide between namesakes only.
 */
int walk_compare_names(const struct profile *p, uint32_t function, uint32_t other);

/* The limits, with the least weight of every lane worked out. */
struct threshold {
	const struct row_limits *limits;
	uint32_t n_lanes;
	double *least; /* by lane */
};

void threshold_init(struct threshold *t, const struct profile *p, const struct row_limits *limits);
void threshold_fini(struct threshold *t);

/* Whether some lane of totals (or of selves) is large enough. */
bool threshold_takes(const struct threshold *t, const struct cell *cells, bool of_total);

/*
 * The rows that a tree hides below a row. They become an OTHER row, or are added to the rest of the
 * tree.
 */
struct hidden {
	struct cell *cells; /* their totals, by lane */
	uint32_t n_rows, n_lanes;
};

void hidden_init(struct hidden *h, const struct profile *p);
void hidden_fini(struct hidden *h);
void hidden_add(struct hidden *h, const struct cell *cells, uint32_t n_rows);

/* Makes an OTHER row of them below `parent`, if there are any, and empties `h`. */
void hidden_put(struct hidden *h, struct rows *out, uint32_t depth, uint32_t indent,
		uint32_t parent);

/* Whether they get a row below `parent`. Otherwise they are added to `rest`. */
bool hidden_keeps(struct hidden *h, const struct threshold *t, struct hidden *rest,
		  uint32_t parent);

/*
 * Calls grow() for the entries of each group, heaviest group first, with the GROUP row
 * made for it; the light groups go to `rest`. Without class keys there is one call, and
 * no heading (NO_INDEX).
 */
void each_group(const struct profile *p, const struct threshold *t, struct hidden *rest,
		struct rows *out,
		void (*grow)(void *context, const uint32_t *entries, size_t n, uint32_t heading),
		void *context);
