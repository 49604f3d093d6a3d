/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside profile/: what turns the id spaces of segments into those of a profile.
 * Freed as soon as the profile is loaded.
 */
#pragma once

#include "base/arena.h"
#include "base/intmap.h"
#include "profile/node_set.h"
#include "profile/context.h"
#include "profile/profile.h"
#include "profile/query.h"
#include "store/session.h"

/* A front cache of address look-ups, direct-mapped: a call tree repeats its addresses. */
#define LOOKUP_SLOTS      16384
#define LOOKUP_IMAGE_BITS 24 /* the others are of the offset */

struct lookup {
	uint64_t key;      /* of lookup_key(); 0: empty */
	uint32_t first, n; /* of frames */
};

/* What tells functions apart beside image and symbol, for the map of functions. */
struct function_key {
	uint32_t image, symbol;
	uint32_t inlined; /* lines' function_id + 1 */
	uint32_t line;    /* of the profile's lines */
	uint64_t offset;  /* with_addresses; else NO_OFFSET */
};

/* Which of the query's filters an image or function passes; true where there is none. */
struct image_takes {
	bool app, image, binary;
	bool lib_image; /* and mode: */
	bool excluded;  /* false where there is no such filter */
};
struct function_takes {
	bool symbol, via; /* symbol: and language: */
};

struct given {
	uint32_t image, order; /* of its recording: code may be replaced by later code */
	struct given_symbol symbol;
};

struct comm_weight {
	uint32_t holder, comm; /* holder: index of the process or thread */
	uint64_t samples;
};
struct comm_weights {
	struct intmap index; /* holder << 32 | comm */
	VEC(struct comm_weight) rows;
};

struct profile_index {
	struct rows_ahead *ahead; /* of the pass at hand; NULL: rows are read as they are wanted */
	bool needs_times;         /* load_needs_times() */
	bool has_moments;         /* load_wants_moments() */
	bool is_spread;           /* load_spread_samples() */
	struct load_part *parts;  /* by segment; NULL: not yet */
	struct profile_request own_request;    /* samples are read after the caller's has gone */
	const struct profile_request *request; /* it */
	const struct query *query;
	bool takes_all_functions; /* no filter of symbols or languages */

	struct strings image_keys; /* identity of image i is string i + 1 */
	VEC(struct image_takes) image_takes;
	VEC(struct given) given; /* sorted by image, then by order */
	uint32_t idle_image;     /* or NO_INDEX */
	bool *expected;          /* by image (expected.c) … */
	uint32_t n_expected;     /* … of those that the session has; 0: not known */

	struct lookup *lookups;
	struct strings functions;    /* the struct function_key of function i is string i + 1 */
	struct strings whole_keys;   /* the same without lines, to … */
	struct intmap wholes;        /* … their first function */
	struct strings jit_names;    /* merges_jit: line and name of JIT code, … */
	struct intmap jit_functions; /* … to its function */
	struct intmap jit_twins;     /* by image of JIT code: that of code of several processes */
	struct strings lines;        /* (file, line) of line i is string i + 1 */
	VEC(uint32_t) frames; /* functions at an address, outermost first: what lookups name */
	VEC(struct function_takes) function_takes;
	struct strings places; /* (image, offset) of place i is string i + 1 */
	struct node_set nodes;
	struct cut_roots *cut_roots; /* NULL: no stack was cut */
	struct strings arcs;         /* the struct profile_arc of arc i is string i + 1 */
	/* Entries before it are of slices that are over; UINT32_MAX: each row has its own. */
	uint32_t first_entry;
	struct intmap entries;       /* group << 32 | node, to entry + 1; without class keys … */
	VEC(uint32_t) entry_of_node; /* … entry + 1, or 0 */
	struct strings groups;       /* the tuple of group i is string i + 1 */
	struct intmap processes, threads, cgroups; /* cgroups: by path in cgroup_texts */
	struct container_names *containers;        /* of the session; NULL: nobody asked */
	struct comm_weights process_comms,
		thread_comms; /* of processes: of their first threads … */
	struct comm_weights other_comms, process_apps; /* … of others; and their programs */
	bool finds_lanes;           /* lanes are known when all samples have been looked at */
	uint32_t *lane_of;          /* by counter; NO_INDEX: not taken */
	struct strings lane_tuples; /* the struct profile_lane of lane i is string i + 1 … */
	uint32_t *lane_order;       /* … as found; its number in the order to show */
};

void profile_index_init(struct profile *p, const struct profile_request *request);
void profile_index_free(struct profile *p); /* the parts are empty */

/* Frees all but what profile_each_sample() needs. */
void profile_index_rest(struct profile *p);

/* Cgroups (cgroups.c), with the values for keys and filters. */
bool index_wants_cgroups(const struct profile *p);
uint32_t index_cgroup(struct profile *p, const char *path);
uint32_t profile_cgroup_value(const struct profile *p, enum profile_key key, uint32_t cgroup);
const char *profile_cgroup_text(const struct profile *p, enum profile_key key, uint32_t value);

uint32_t index_image(struct profile *p, const struct image *image);
uint32_t index_idle_image(struct profile *p);

struct load_part;

/* Finds out which images will need tables, if the parser can then be asked for several at once. */
void index_expect_images(struct profile *p, const struct load_part *parts);

/* Makes the table of an image that is expected, and those of some others. */
void index_make_expected(struct profile *p, uint32_t image);

/*
 * For each image, the image that it is merged into: the one with the first path of a binary. If the
 * kernel could not read the build id at some moment, a file has an image by device and inode, too.
 * That image is merged into the one of its path with a build id, if there is exactly one. The
 * caller frees it.
 */
uint32_t *index_merged_images(struct profile *p);

/*
 * Lanes (lanes.c). First those of the counters; then, where classes are columns, each class that
 * has samples is added, and lanes_done() puts them in order: index->lane_order.
 */
void lanes_init(struct profile *p);
uint32_t lanes_add(struct profile *p, const struct profile_class *class);
void lanes_done(struct profile *p);

/* Gathers the names of code without files; all images must be known. */
void index_given(struct profile *p, const struct segment *segment, const uint32_t *images);
void index_given_done(struct profile *p);

/* The symbol of the image's table, which is opened here; NO_SYMBOL without functions. */
uint32_t index_symbol(struct profile *p, uint32_t image, uint64_t offset);
/* The language of a symbol of an image whose table is open; NO_SYMBOL: of other code there. */
uint32_t index_language_of(struct profile *p, uint32_t image, uint32_t symbol);
/* How reports name code of an image that has no symbol. */
const char *profile_nameless_text(const struct profile *p, uint32_t image);

/*
 * The functions at an offset of an image, outermost first: one, and with_inlines what is inlined
 * there. Valid until the next call.
 */
const uint32_t *index_frames(struct profile *p, uint32_t image, uint64_t offset, uint32_t *n);

/* Whether file: takes the source line at an offset; true where there is no such filter. */
bool index_takes_file(struct profile *p, uint32_t image, uint64_t offset);

/* Fetches what index_frames() reads first, some calls ahead: what it finds is in no cache. */
void index_fetch_frames(const struct profile *p, uint32_t image, uint64_t offset);

/* Up to n nodes will come. */
void index_reserve_nodes(struct profile *p, uint32_t n);
/* The node of a function, or with places of an offset in it, below another node. */
uint32_t index_node(struct profile *p, uint32_t parent, uint32_t function, uint64_t offset);
uint32_t index_group(struct profile *p, const uint32_t *values);
/* The source of a class's values: one class of a segment in one context. */
struct class_facts {
	const struct profile_class *class;
	uint32_t app;  /* image of the program */
	uint32_t comm; /* string of profile->comms, as the next two … */
	uint32_t host;
	uint32_t service;     /* … 0 unless a key or filter asks for it */
	uint32_t cgroup;      /* of profile->cgroups; NO_INDEX unless index_wants_cgroups() */
	uint32_t waker;       /* of profile->wakers; 0 unless index_wants_wakers() */
	uint32_t parallelism; /* 0: not known */
	enum sample_context context;
	bool is_idle;
};

/*
 * Whether a number that was kept is still the entry of group and node in the present slice: when
 * slices are joined (profile/slices.h), entries get other numbers.
 */
static inline bool index_entry_is_current(const struct profile *p, uint32_t entry, uint32_t group,
					  uint32_t node)
{
	return !p->index->first_entry ||
	       (entry >= p->index->first_entry && entry < p->entries.n &&
		p->entries.data[entry].group == group && p->entries.data[entry].node == node);
}

/* The value of a CLASS key. Adds a process, thread or the idle image if it is new. */
uint32_t index_class_value(struct profile *p, enum profile_key key,
			   const struct class_facts *facts);
uint32_t index_process(struct profile *p, int32_t pid);
uint32_t index_thread(struct profile *p, int32_t pid, int32_t tid);
void index_comm(struct comm_weights *w, uint32_t holder, uint32_t comm, uint64_t samples);
/* The weights of an arc; the place is made of the caller's offset with_places. */
struct weight *index_arc(struct profile *p, uint32_t group, uint32_t caller, uint64_t offset,
			 uint32_t callee);
/* With slices a new entry at each call: a (group, node) is then in one row of a block, or in few.
 */
uint32_t index_entry(struct profile *p, uint32_t group, uint32_t node);

/*
 * merges_jit: the place for the function of that name (jit_functions.c). NULL: it is no JIT code
 * with a name.
 */
uint32_t *index_jit_function(struct profile *p, const struct function_key *key, bool *is_new);
/* Such a function has code in this image, too. */
void index_share_jit_function(struct profile *p, uint32_t function, uint32_t image);

/* Short names of images, the heaviest name of every process and thread (index_names.c). */
void index_name_images(struct profile *p);
void index_name_processes(struct profile *p);
