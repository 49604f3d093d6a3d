/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile: the samples of a session that a query takes, collated.
 *
 * The segments' id spaces become one, addresses become functions, and the call trees of all
 * segments become one tree of functions. Every view (flat lists, trees, callers and callees) is
 * made from `nodes` and `entries`.
 *
 *     session segments            profile
 *     (class, node) -> count      (group, node) -> weight per event
 *       |        |                   |       |
 *     class    tree of             tuple   tree of
 *              addresses           of keys functions
 *
 * Looking up: the innermost frame of a sample has the executing address, which is looked up
 * unchanged. The others have return addresses. A function may end with a call, so its return
 * address lies behind it. Therefore these are looked up one byte back. The first user frame below
 * kernel frames has no return address: an exception may have hit the first instruction of a
 * function.
 *
 * Recursion: a function's total counts a sample once, however often the function
 * is in its chain.
 *
 * Everything lives until profile_free(); session and symbolizer must outlive it.
 * One thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/strings.h"
#include "event/loss.h"
#include "machine/image.h"
#include "profile/key.h"
#include "symbol/symbols.h"

struct arena;
struct session;
struct query;
struct error;
struct counter_info;

/* Frames beyond this depth are left out of a chain: a bound for damaged sessions. */
#define PROFILE_MAX_DEPTH 1024

#define NO_INDEX UINT32_MAX

struct weight {
	uint64_t samples;
	uint64_t period; /* events in all, in the unit of the counter */
};

/*
 * Images of equal identity (machine/image.h) in several segments are one. So are a
 * binary's different paths (/lib and /usr/lib, containers): same build id, same file name.
 */
struct profile_image {
	const struct image *image;
	const struct symbol_table *table; /* NULL: never asked for */
	const char *name; /* short: its last component, or more where two share it */
	/* As OProfile's tools show it (oprofile/report/opreport_rows.h), or NULL. */
	const char *op_name, *op_path;
	uint64_t samples; /* that fell in it */
	bool is_idle;     /* the pseudo program of idle samples */
	bool is_merged;   /* another one stands for it and has its samples */
};

/*
 * A piece of code with separate rows: a symbol. With lines, it is a source line of a symbol. With
 * inlines, it can be an inlined function, too, which has no symbol.
 */
struct profile_function {
	uint32_t image;
	uint32_t symbol;     /* of the image's table; NO_SYMBOL: no name is known */
	const char *inlined; /* what is inlined there, for people; NULL: the symbol itself */
	uint32_t line;       /* of `lines`: where asked for, else NO_INDEX */
	uint32_t language;   /* image_language(), or LANGUAGE_GO */
	uint32_t whole;      /* the first function that differs in line and offset only */
	uint64_t offset;     /* of the instruction where asked for, else NO_OFFSET */
};
#define NO_OFFSET UINT64_MAX

struct profile_line {
	uint32_t file;    /* of `files` */
	uint32_t line;    /* 0: not known */
	const char *path; /* "/home/me/sort.c:12"; profile_no_line */
	const char *name; /* short: "sort.c:12" */
};

extern const char profile_no_line[];

/* nodes[0] is the root, whose function is NO_INDEX; parents come before children. */
struct profile_node {
	uint32_t parent, function;
	uint32_t depth; /* of the root: 0 */
};

/*
 * A place in code, as it was looked up: of callers one byte back, so that it lies in the call. Only
 * where asked for; nodes are then told apart by their places instead of their functions.
 */
struct profile_place {
	uint32_t function;
	uint64_t offset; /* in the function's image; machine/image.h defines its zero */
};

/* What (group, node) got: weights[entry * n_lanes + lane]. */
struct profile_entry {
	uint32_t group, node;
};

/*
 * An arc of a call graph that came without stacks, from OProfile's sample files: how often a stack
 * had this call. Its weights are arc_weights[arc * n_lanes + lane]. With has_totals, the caller of
 * all arcs is the mark, and they are the samples with the callee in their stack; their periods mean
 * nothing.
 */
struct profile_arc {
	uint32_t caller, callee; /* functions */
	uint32_t place;          /* with_places: of the call; else NO_INDEX */
	uint32_t group;          /* of the stacks */
};

struct profile_process {
	int32_t pid;
	int32_t tid;    /* of a thread; -1 for a process */
	string_id comm; /* its most sampled name */
};

/*
 * The samples of profile->slice_s seconds of the session, in the order of time. A slice has one
 * block or several, and a second can have several slices. `entries` lie slice by slice. Only where
 * asked for: else an entry is of the whole session.
 */
struct profile_slice {
	uint64_t first_ns, last_ns; /* times of the first and last sample */
	size_t first, n;            /* entries */
};

/* A sample whose exact time is known, in the order of its block. */
struct profile_moment {
	uint64_t time_ns;
	uint32_t group, node, thread, lane; /* thread: index of profile->threads */
	struct weight weight;
};

/*
 * A sample with its exact time. If that is not known, it stands for all samples of a block of the
 * session that have the same group and node. Their time is that of the block's first sample.
 */
struct profile_sample {
	uint64_t time_ns;
	uint32_t group, node;
	struct weight weight;
	bool is_exact; /* time_ns is its own */
};

/*
 * A lane is a group of columns: one a counter, or one for all where EVENT is among the keys. Where
 * the request has `columns`, one for each of their tuples that has samples (OProfile's classes):
 * by processor, then process, thread and counter.
 */
struct profile_lane {
	uint32_t counter;              /* index of info.counters; NO_INDEX: all of them */
	uint32_t cpu, process, thread; /* values of these keys; NO_INDEX: not a column */
	bool masks_merged; /* `counter` stands for others that differ in unit mask … */
	uint64_t masks;    /* … which together are these bits */
	struct weight total;
	/* with_samples, and of moments: not all samples stand for the same number of events */
	bool periods_vary;
};

/* More lanes than this are refused: a table of so many columns says nothing. */
#define PROFILE_MAX_LANES 512

/* The value of a CLASS key that is a column, or of EVENT; NO_INDEX where it is none. */
uint32_t profile_lane_value(const struct profile_lane *lane, enum profile_key key);

/* What a cgroup is in reports. Texts are of profile->cgroup_texts; "" for none. */
enum { CGROUP_PATH, CGROUP_UNIT, CGROUP_CONTAINER, CGROUP_POD, N_CGROUP_KEYS };
struct profile_cgroup {
	string_id text[N_CGROUP_KEYS]; /* the values of these keys */
	/* As they are known by id; "": not known. Of a pod with its namespace, "default/web". */
	string_id container_name, pod_name;
	string_id service; /* cgroup_service(); "": the program's name counts */
	bool is_taken;     /* by the query */
};

/*
 * The facts of a wait (profile/wakers.h): its waker, and why. And those of a memory access
 * (profile/accesses.h). Texts are of profile->waker_texts.
 */
struct profile_waker {
	string_id comm, symbol, stack, reason, owner, device;
	string_id mem, tlb, snoop, data_symbol, data_image;
	string_id trace, span;
	string_id label, labels; /* value of the key LABEL; all, NAME=VALUE each */
	string_id label_pairs;   /* of all labels: NAME, '\0', VALUE, '\0' each; {0}: none */
	bool is_label_taken;     /* by the filter label: */
	bool is_taken;           /* by the query */
};

/* Whether keys or filters ask for these facts, for which the kernel's functions are needed. */
bool wakers_are_wanted(const struct key_list *keys, const struct query *query);

struct profile {
	const struct session *session;
	struct symbolizer *symbols;
	struct key_list class_keys; /* those that entries are kept apart by */
	bool has_functions;         /* false: `symbol` of every function is NO_SYMBOL */
	bool lacks_times;           /* parallelism was asked for, and no sample has its time */
	bool lacks_latency;         /* latency_weight, and no sample has a latency */
	bool has_chains;            /* some sample has callers */
	bool has_totals;            /* totals are given: arcs without a caller (IMAGE_ARCS_PATH) */
	bool has_lines;             /* lines or inlined functions have separate rows */

	VEC(struct profile_image) images;
	VEC(struct profile_function) functions;
	VEC(struct profile_line) lines; /* with_lines */
	struct strings files; /* with_lines: paths as the compiler saw them; "": not known */
	VEC(struct profile_node) nodes;
	VEC(struct profile_place) places; /* with_places */
	VEC(uint32_t) node_places;        /* with_places: by node; the root's is NO_INDEX */
	VEC(struct profile_entry) entries;
	VEC(struct profile_slice) slices; /* with_slices */
	/* As asked; twice, four times … as much if there are too many entries for the memory. */
	uint32_t slice_s;
	VEC(struct profile_moment) moments; /* most_moments: instead of entries */
	VEC(struct weight) weights;
	/*
	 * with_samples, instead of entries: by node, in how many rows of blocks it is the innermost
	 * frame, and UINT32_MAX where that is more. Nodes at the end may be missing.
	 */
	VEC(uint32_t) leaf_rows;
	VEC(struct profile_arc) arcs; /* with_chains */
	VEC(struct weight) arc_weights;
	VEC(uint32_t) group_values; /* a group's: [group * class_keys.n + i] */
	uint32_t n_groups;
	VEC(struct profile_process) processes;
	VEC(struct profile_process) threads;
	struct strings comms;
	VEC(struct profile_cgroup) cgroups; /* where a key or a filter wants them */
	struct strings cgroup_texts;
	VEC(struct profile_waker) wakers; /* likewise; the first one stands for none */
	struct strings waker_texts;
	struct arena *arena; /* of image names */

	struct profile_lane *lanes;
	uint32_t n_lanes;
	struct key_list lane_keys; /* that are columns */
	uint32_t n_lanes_refused;  /* if not 0: there would be so many, and no sample is taken */

	uint64_t n_stored;   /* samples in the whole session */
	uint64_t n_selected; /* taken: the sum of all lanes */
	uint64_t n_idle;     /* idle samples left out */
	uint64_t n_filtered; /* left out by the query: n_stored less the other two */
	/* lanes_by_samples, of what passes all filters but those of symbols: */
	bool has_classes;   /* there is such a sample or arc */
	bool has_many_apps; /* a lane has several applications; without their key, several images */
	uint64_t losses[N_LOSS_REASONS]; /* of the time selected */
	uint64_t first_ns, last_ns;      /* times of the first and last sample selected by time */

	struct profile_index *index; /* what only loading and profile_each_sample() need */
};

struct profile_request {
	const struct session *session;
	struct symbolizer *symbols; /* NULL where no view shows functions */
	const struct query *query;
	/* Set by another thread: the profile is not wanted any more, and lacks samples. Or NULL. */
	const atomic_bool *is_unwanted;
	struct key_list keys;    /* CLASS keys keep entries apart; CODE keys are ignored */
	struct key_list columns; /* CPU, PROCESS, THREAD: that are lanes (profile/merge.h) */
	bool merge_masks;        /* counters that differ in their unit mask only are one lane */
	/*
	 * OProfile's classes: a counter is a lane if a sample passes all filters but those of
	 * symbols. Lanes of counters are in the order of unit mask, name and count.
	 */
	bool lanes_by_samples;
	bool with_functions; /* else a piece of code is a whole image */
	bool with_chains;    /* else only the innermost frames */
	bool with_places;    /* keep the offsets that samples fell on */
	bool with_slices;    /* keep the seconds apart */
	uint32_t slice_s;    /* with_slices: only so many seconds of the clock; 0: each second */
	size_t max_entries;  /* with_slices: slices become longer beyond about so many; 0: 64 MiB */
	/*
	 * If the session has about so many exact times or fewer, these samples are moments, not
	 * entries. 0: all are entries.
	 */
	uint32_t most_moments;
	bool with_samples;   /* for profile_each_sample(), with EVENT among the keys; no entries */
	bool with_lines;     /* source lines have separate rows */
	bool with_addresses; /* instructions have separate rows */
	bool wall_weight;    /* a sample's events are divided by the parallelism at its time */
	bool latency_weight; /* a sample's events are its latency in cycles (IMAGE_LATENCY_PATH) */
	bool with_wakers;    /* a wait's waker is part of its chain */
	bool with_inlines;   /* frames for functions that are inlined */
	/*
	 * Functions of JIT code are one if they have one name, also in several processes. Their
	 * image then has no process, so sums by image are not those of the processes. Not
	 * with_places and not with_addresses.
	 */
	bool merges_jit;
};

/* Whether the profile needs the exact times of samples. Else, sums of whole seconds do. */
bool profile_needs_times(const struct profile_request *request);

/*
 * Bad data in the session is skipped: session_open() has warned about it and counted it as lost.
 * Without enough memory, the profile has no samples, and reserve_failures() counts on.
 */
struct profile *profile_load(const struct profile_request *request);
void profile_free(struct profile *p); /* NULL is fine */
DEFINE_AT_EXIT(profile_free, struct profile)

/*
 * Visits the samples in the order of time, of a profile with_samples. The blocks of the session are
 * read again, and the samples of some seconds are in memory at once. Session and query must be
 * there still. An answer of visit() other than 0 ends it and is returned; else 0 or -ENOMEM.
 */
typedef int profile_sample_visitor(void *context, const struct profile_sample *sample);
int profile_each_sample(struct profile *p, profile_sample_visitor *visit, void *context);

/*
 * For a query that selects nothing: a sentence with the filter that is the cause, and with the
 * existing values.
 */
int profile_explain_empty(const struct profile_request *request, struct error *err);

/*
 * Visits each value that a filter could name, for the innermost frames. A filter that is not by a
 * key (time:, session: …) has none. `number` is the value of a filter that takes numbers.
 */
enum filter_tag;
void profile_each_value(const struct profile_request *request, enum filter_tag tag,
			void (*visit)(void *ctx, uint32_t number, const char *text), void *ctx);

/* The value of a key for people. `scratch` may hold the text. The function name is demangled. */
#define KEY_TEXT_SIZE 64
const char *profile_key_text(const struct profile *p, enum profile_key key, uint32_t value,
			     char scratch[static KEY_TEXT_SIZE]);

/* The value of a CODE key at a function, and of a CLASS key of a group (-1 where not kept). */
uint32_t profile_code_value(const struct profile *p, enum profile_key key, uint32_t function);
uint32_t profile_class_value(const struct profile *p, enum profile_key key, uint32_t group);
/* The CPU of a group, among class keys; CLASS_ALL where samples are not kept apart by it. */
int32_t profile_cpu(const struct profile *p, uint32_t group);

enum code_mode { CODE_USER, CODE_KERNEL, CODE_UNKNOWN, N_CODE_MODES };
extern const char *const code_mode_names[N_CODE_MODES];
enum code_mode image_code_mode(const struct image *image);
/* enum language (lang/language.h), or the number of a language that a newer assay knows. */
uint32_t image_language(const struct image *image);

/*
 * Where a function begins, or its instruction with_addresses: symbol/addresses.h. 0 where that is
 * not known.
 */
uint64_t profile_address(const struct profile *p, uint32_t function);

/* What a lane counts: its share of a total in samples or in events. */
static inline uint64_t weight_value(const struct weight *w, bool by_period)
{
	return by_period ? w->period : w->samples;
}

/* The time between two samples of a running thread; 0: not known. */
uint64_t profile_interval_ns(const struct counter_info *c);

/*
 * Whether all samples of a lane stand for the same number of events. Then shares of samples are
 * shares of events. A counter with a frequency begins anew in each thread, with a period of one
 * event, and needs a dozen samples to reach its frequency. There, only events give right shares.
 */
bool profile_period_is_constant(const struct profile *p, uint32_t lane);
/* The default weight of a profile: events if some lane needs it, else samples. */
bool profile_weighs_by_period(const struct profile *p);

static inline void weight_add(struct weight *to, const struct weight *w)
{
	to->samples += w->samples;
	to->period += w->period;
}

static inline const struct weight *profile_weights(const struct profile *p, size_t entry)
{
	return &p->weights.data[entry * p->n_lanes];
}
