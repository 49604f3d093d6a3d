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
	struct segment *segment;
	uint32_t number;
	uint32_t first_block, end_block; /* the blocks whose nodes are there; mostly all */
	/*
	 * By use and node: its place in the store's tree, if has_place is set. Without functions,
	 * both uses have the same arrays.
	 */
	struct native_place *places[N_CODE_USES];
	bool *has_place[N_CODE_USES];
	bool *has_rows; /* by node, only with functions; NULL: all nodes are wanted */
	/* By use and node: the place of its function, an index into `offsets`. NULL: not known */
	uint32_t *functions[N_CODE_USES];
	VEC(uint64_t) offsets;
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

/* The sources of m->from, without their nodes. */
void merge_sources_init(struct merge *m);

/* Reads the nodes of a source, or of all, and makes room for their places. */
int merge_source_open(struct merge *m, struct source *s, struct error *err);
int merge_open_sources(struct merge *m, struct error *err);
void merge_source_close(struct merge *m, struct source *s);

/*
 * Finds the functions of a source's nodes, image by image. Each image's names are in memory once
 * then, and only for this long. has_rows is set.
 */
void merge_find_functions(struct merge *m, struct source *s);

/* The code of a node, which is used as `use`. */
struct code_addr merge_source_code(const struct merge *m, const struct source *s, uint32_t node,
				   enum code_use use);

/* How a node is used as the caller of another. An interrupted program called nothing. */
enum code_use merge_use_of_parent(const struct merge *m, const struct source *s, uint32_t parent,
				  uint32_t node);

static inline uint32_t merge_parent_of(const struct segment *segment, uint32_t node)
{
	uint32_t parent = segment->nodes[node].parent;

	return parent < node ? parent : 0;
}

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
