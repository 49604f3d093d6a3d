/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A merge while it runs. Inside store/history/merge*.c. */
#pragma once

#include "base/intmap.h"
#include "base/mem.h"
#include "store/history/merge.h"
#include "store/history/merge_names.h"
#include "store/native.h"

/* A source segment and its translation. */
struct source {
	const struct segment *segment;
	uint32_t number;
	/*
	 * By use and node: its place in the store's tree, if has_place is set. Without functions,
	 * both uses have the same arrays.
	 */
	struct native_place *places[N_CODE_USES];
	bool *has_place[N_CODE_USES];
	bool *has_rows;     /* by node, only with functions; NULL: all nodes are wanted */
	uint32_t *classes;  /* by class: the store's class + 1, or 0 */
	bool *is_cut;       /* by node: it goes into "[other]"; NULL: nothing is cut */
	uint8_t *taken;     /* by class: 0: config.takes was not asked yet; TAKEN, LEFT_OUT */
	uint8_t *forgotten; /* likewise, of config.forgets */
};

enum { TAKEN = 1, LEFT_OUT };

/* A source block and the merged block that it belongs to. */
struct block_ref {
	uint64_t key; /* number of the merged block, counted from 1970 */
	uint32_t source, block;
};

struct merge {
	const struct session *from;
	const struct merge_config *config;
	struct merge_names names;
	struct source *sources;
	uint32_t n_sources;
	/* Length of the merged blocks: the session's, or an overview's */
	uint64_t block_ns;
	VEC(struct block_ref) blocks; /* in the order of the merged blocks */
	struct store *store;
	struct count_rows rows;
	bool keeps_times;          /* the session has some, and they are wanted */
	struct sample_times times; /* of the block at hand, by row */
	struct merge_result result;
	uint64_t first_ns, last_ns; /* of the present merged block */
	uint64_t end_ns;            /* of all */
};

/*
 * The samples of each path with its callees, over all segments, by the hash of the path. Two paths
 * with the same hash would be kept or cut together, which changes no sum.
 */
struct shares {
	struct intmap index;
	VEC(uint64_t) samples;
};

/* The path of each node of a source, as an index into `x`. The caller frees them. */
uint32_t *merge_source_paths(struct shares *x, const struct merge *m, const struct source *s);

/*
 * Lists the blocks of merged blocks of this length. If the clock was set back, an hour has blocks
 * in two places. They become one.
 */
void merge_list_blocks(struct merge *m, uint64_t block_ns);

/* Chooses the overviews that config->overviews wants, by level. */
void merge_choose_overviews(struct merge *m, bool *pays);
