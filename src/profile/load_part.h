/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One segment on its way into a profile (load.c). Inside profile/. */
#pragma once

#include <stdlib.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "store/segment.h"

struct reserve;

/* The group of a (class, context) that had no sample yet. */
#define NO_GROUP (NO_INDEX - 1)

/* A node of a segment, used as it is (USE_LEAF or USE_CALLER). */
struct chain_step {
	uint32_t node;
	int use;
};

/* The profile's entry that a node's row went to last: mostly the next one's, too. */
struct last_entry {
	uint32_t group, node, entry; /* group: + 1, or 0 while there was none */
};

/* Whole stacks that begin in a node (profile/cut_roots.h). */
struct root_row {
	uint32_t kind, node;
	uint64_t samples;
};

struct load_part {
	const struct segment *segment;
	uint32_t *images;  /* by image: the profile's */
	uint32_t *groups;  /* by class and context; NO_INDEX: not taken, or NO_GROUP yet */
	uint32_t *lanes;   /* by class */
	bool *idle;        /* by class */
	bool *has_samples; /* by class: that are taken, and not left out as idle */
	uint32_t *comms;
	uint32_t host;     /* string of profile->comms */
	uint32_t *cgroups; /* by class; NULL: nobody asked */
	uint64_t *class_samples;
	uint8_t *uses;         /* by node */
	uint32_t *apps;        /* lanes_by_samples: by class its application + 1; SEVERAL_APPS; 0 */
	uint32_t *code_leaves; /* by node: the frame that filters of code go by (shown_frames.h);
				  NULL */
	uint32_t *shown_leaves, *shown_parents; /* by node (shown_frames.h); NULL: all are shown */
	bool *shown_calls; /* by node: what is shown for it as the innermost frame is a call */
	/* Of cut stacks (cut_roots.h); NULL: the profile has none. */
	uint32_t *thread_kinds;                /* by class; 0: its program is not known */
	uint32_t *outermost;                   /* by node: the outermost frame of its stack … */
	bool *is_cut;                          /* … and whether this is [cut] */
	struct intmap cut_nodes, root_numbers; /* root_numbers: kind << 32 | node, to its … */
	VEC(struct root_row) roots;            /* … place here */
	bool *arcs;              /* by node: no sample's, but of an arc; NULL: there are none */
	uint8_t *contexts;       /* by node; NULL where nobody asked */
	uint32_t *as_leaf;       /* by node: the profile's node for it as the innermost frame … */
	uint32_t *as_caller;     /* … and as a caller */
	struct last_entry *last; /* by node */
	bool wants_wakers;       /* a key or a filter asks for them */
	uint32_t *waker_marks;   /* by node of a waker: its mark (wakers.h); NULL: none */
	struct intmap waker_of_node; /* a waker's outermost node to its place in profile->wakers */
	uint32_t n_extras;
	struct intmap extras;       /* (waker, parallelism) to a number from 1 */
	struct intmap extra_groups; /* (that number, class and context) to the group */
	bool takes_any;             /* no filter needs both the class and the code of a row */
	bool is_once;               /* read once, not twice */
	uint32_t *alike;      /* by class: one of which the same is asked (profile/sums.h) … */
	VEC(uint32_t) blocks; /* … where sums are read of these blocks instead of their rows */
	VEC(struct chain_step) chain; /* on its way into the tree: innermost first */
	struct count_rows rows;       /* of the block at hand */
	VEC(uint32_t) row_wakers;     /* wants_wakers: by row, of profile->wakers */
	/*
	 * Of the block at hand: when its first and last sample were taken. With index->is_spread
	 * also the time of each row, which is one sample then; 0: not exactly known.
	 */
	uint64_t first_ns, last_ns;
	VEC(uint64_t) times;
	VEC(uint32_t) row_parallelism; /* likewise; where it is wanted; 0: not known */
};

void load_part_init(struct load_part *part, const struct segment *segment);
void load_part_fini(struct load_part *part);

/* Gives back the memory of what concerns the block at hand. */
void load_part_rest(struct load_part *part);

/* Takes room for the parts of all segments, and for the profile's indexes of them. */
int load_part_reserve(struct reserve *room, const struct session *s);

/* A block with the time of part->blocks alone: first_ns and last_ns. */
struct block load_part_span(const struct load_part *part);

/* Sets part->arcs: which nodes are below the image of arcs (machine/image.h). */
void load_find_arcs(struct load_part *part);

/* An array of zeros, one more than n. */
static inline void *load_column(size_t n, size_t size)
{
	return xcalloc(n + 1, size);
}

#define SEVERAL_APPS UINT32_MAX

static inline uint32_t load_parent_of(const struct segment *s, uint32_t node)
{
	uint32_t parent = s->nodes[node].parent;

	return parent < node ? parent : 0;
}

static inline uint32_t load_image_of(const struct load_part *part, image_id id)
{
	return part->images[id.n < part->segment->n_images ? id.n : 0];
}
