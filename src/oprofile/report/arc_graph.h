/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call graph as OProfile keeps it: functions in applications, and how often a stack had each
 * call.
 *
 * Arcs are those of sample files (struct profile_arc), and those of whole stacks. A stack counts
 * once for each of its calls, however often it has the call. The profile keeps samples apart by
 * application, or by nothing: then a function's application is its image, and that of an arc is its
 * caller's image.
 */
#pragma once

#include "base/intmap.h"
#include "profile/profile.h"

struct graph_node {
	uint32_t app, function; /* code of an image without names is one function of it */
};

struct graph_arc {
	uint32_t caller, callee; /* nodes */
};

struct arc_graph {
	const struct profile *p;
	VEC(struct graph_node) nodes;
	VEC(struct graph_arc) arcs;
	VEC(uint64_t) own;                     /* samples: [node * n_lanes + lane] */
	VEC(uint64_t) counts;                  /* [arc * n_lanes + lane] */
	uint32_t *callers, *callees;           /* arcs, in the order of their callee or caller */
	uint32_t *first_caller, *first_callee; /* by node, n_nodes + 1: into these */
	/* while it is made: */
	struct intmap node_of, arc_of;
	uint32_t *nameless; /* by image: its first function without a name, or NO_INDEX */
};

/* A line of a block: an arc, or for NO_INDEX the function itself among its callees. */
struct graph_line {
	uint32_t arc, node;
	const uint64_t *counts; /* by lane */
};

void arc_graph_make(struct arc_graph *g, const struct profile *p);
void arc_graph_fini(struct arc_graph *g);

static inline const uint64_t *arc_graph_own(const struct arc_graph *g, uint32_t node)
{
	return &g->own.data[(size_t)node * g->p->n_lanes];
}

static inline const uint64_t *arc_graph_counts(const struct arc_graph *g, uint32_t arc)
{
	return &g->counts.data[(size_t)arc * g->p->n_lanes];
}

/*
 * Callers of a node, lightest first; or its callees and itself, heaviest first, by the first lane.
 * The caller frees them.
 */
struct graph_line *arc_graph_side(const struct arc_graph *g, uint32_t node, bool of_callers,
				  size_t *n);
