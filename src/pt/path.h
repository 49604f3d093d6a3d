/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A way through code, by directions: what runs (code.h) and hops (hop.h) are made of. Its ops are
 * put behind those of the graph.
 */
#pragma once

#include "pt/code.h"
#include "pt/returns.h"

enum { PT_PATH_OPS = 64, PT_PATH_STEPS = 4 * PT_PATH_OPS };

struct pt_path {
	struct pt_code *code;
	uint32_t node; /* where it stands */
	uint64_t bits; /* the directions that are left, the oldest at bit 63 */
	unsigned int n, n_used;
	uint32_t insns;
	uint32_t first_op, n_ops;
	uint32_t calls[PT_PATH_OPS]; /* nodes to return to, of calls on the way */
	unsigned int n_calls, max_calls;
	struct pt_returns *before; /* the return stack before the path, … */
	unsigned int n_before;     /* … of which it took so many entries, … */
	unsigned int max_before;   /* … and may take so many */
	bool lacks_return;         /* it ended at a return, and the stack was empty */
};

/*
 * Over the block where it stands. False: it stands before something that it can't pass, be it for
 * want of directions or of return addresses.
 */
bool pt_path_step(struct pt_path *p);

/* Whether the branch at the end of the current block becomes an event, if it goes to `to`. */
bool pt_path_tells(const struct pt_path *p, uint64_t to);

/* The ops of the path are complete: PT_SPARE_OPS more may be read. */
void pt_path_end(struct pt_path *p);

/*
 * Adds the branch at the end of the block at hand; `next`: of pt_told. False when there are too
 * many.
 */
bool pt_path_add(struct pt_path *p, uint64_t to, uint32_t next);
