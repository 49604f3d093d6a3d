/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions added up to a coarser one, or packed as they are: what retention makes of parts, with
 * the overviews that pay.
 *
 * The samples of a minute, an hour or a day of the wall clock become one block, whatever block they
 * come from: a block belongs to the one that its first sample lies in. Nothing is
 * looked up and no chain is put together: trees are joined node by node, once a segment.
 *
 * Rare stacks can be cut: a node whose samples, with all that it called, are less than a share of
 * the whole goes, with what is below it, into one node "[other]" below its caller. The sums of
 * samples and events stay exact, for every class and every node that is kept; so do the losses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct session;

/*
 * Which overviews pay. Reading rows of blocks and nodes of trees takes about the same time: what
 * is no more than min_cost of them is read at once, and an overview has to be a small part of what
 * is read in its place.
 */
struct overview_rule {
	uint64_t min_cost;
	double most; /* of the rows and nodes below it */
};
#define OVERVIEWS_THAT_PAY ((struct overview_rule){ 100000, 0.6 })

struct merge_config {
	uint64_t block_ns;
	uint32_t merged;      /* enum separation: what is not kept apart any longer */
	double min_share;     /* of all samples; 0: all stacks are kept */
	const char *replaces; /* as session_info's */
	struct overview_rule overviews;
};

struct merge_result {
	uint64_t samples; /* in all */
	uint64_t cut;     /* that are in "[other]" */
};

/*
 * Writes the session `to`, which does not exist yet, of all blocks of `from` (one session, or
 * several joined). On failure, a full disk too, `to` is removed.
 */
int session_merge(const struct session *from, const struct merge_config *config, const char *to,
		  struct merge_result *out, struct error *err);
