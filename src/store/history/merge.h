/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums up sessions to a coarser session, or repacks them unchanged. Retention uses it for parts,
 * and adds the overviews that pay.
 *
 * All samples of a minute, an hour or a day of the wall clock become one block. A source block
 * belongs to the merged block that holds its first sample. Merging needs no symbols and builds no
 * chains: it joins trees node by node, once for each segment.
 *
 * Rare stacks can be cut. If a node and its callees have less than a share of all samples, the node
 * and everything below it become one node "[other]" below the caller. The sums of samples and
 * events stay exact, for every class and every node that is kept, and so do the losses. Of sessions
 * with addresses alone (merge_config.leaves), rare addresses are cut.
 *
 * Blocks of a second can keep the exact times of their samples. Longer blocks and overviews never
 * have them.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct session;
struct symbolizer;

/*
 * The rule for overviews that pay. Reading a row of a block takes about as long as reading a node
 * of a tree. Up to min_cost rows and nodes are read directly. Above that, an overview must be a
 * small part of the rows and nodes that it replaces.
 */
struct overview_rule {
	uint64_t min_cost;
	double most; /* share of the rows and nodes below it */
};
#define OVERVIEWS_THAT_PAY ((struct overview_rule){ 100000, 0.6 })
#define OVERVIEWS_ALWAYS   ((struct overview_rule){ 0, INFINITY }) /* nothing is counted */

/* The image (of kind NAMED) of the code of forgotten samples (merge_config.forgets). */
#define IMAGE_FORGOTTEN_PATH "[forgotten]"

struct merge_config {
	uint64_t block_ns;
	uint32_t merged;      /* enum separation bits that no longer keep samples apart */
	double min_share;     /* of all samples; 0: keep all stacks */
	bool keeps_times;     /* of blocks of a second; else only the second is known */
	const char *replaces; /* as in session_info */
	struct overview_rule overviews;
	/*
	 * With a symbolizer, all code of a function becomes one place (store/history/functions.h),
	 * nodes without samples are left out, and there are no overviews. NULL: addresses stay.
	 */
	struct symbolizer *symbols;
	bool without_comm; /* thread names are not written */
	/*
	 * Without a symbolizer: each sample keeps the place of its innermost code alone, and there
	 * are no overviews. A place that means nothing outside its process has the offset 0.
	 */
	bool leaves;
	/* With `leaves`: whether samples of this program in this cgroup stay. NULL: all do. */
	bool (*takes)(void *context, const char *program, const char *cgroup);
	void *takes_context;
	/*
	 * Samples of this program in this cgroup lose all but their number, event and time: their
	 * code and program are IMAGE_FORGOTTEN_PATH. Names that no other sample has are not
	 * written. NULL: none. Not with a symbolizer and not with `min_share`. Its context is
	 * takes_context.
	 */
	bool (*forgets)(void *context, const char *program, const char *cgroup);
	uint64_t table_bytes; /* as in session_info; 0: of merging */
};

struct merge_result {
	uint64_t samples; /* all */
	uint64_t cut;     /* those in "[other]" */
	uint64_t forgotten;
};

/*
 * Writes all blocks of `from` (one session, or several joined) as the session `to`, which must not
 * exist. On failure, for example on a full disk, `to` is removed.
 */
int session_merge(const struct session *from, const struct merge_config *config, const char *to,
		  struct merge_result *out, struct error *err);
