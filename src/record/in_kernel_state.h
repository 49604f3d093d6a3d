/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of in_kernel.c, which its parts share. */
#pragma once

#include "base/intmap.h"
#include "base/mem.h"
#include "collect/sampler.h"
#include "event/event.h"
#include "machine/image.h"
#include "pipeline/java_copy.h"
#include "pipeline/off_cpu.h"

#if defined(__aarch64__)
#define SP_REGISTER 31 /* its DWARF number */
#define PC_REGISTER 32
#else
#define SP_REGISTER 7
#define PC_REGISTER 16
#endif

struct seen_file {
	struct sampler_file seen;
	image_id image;       /* id 0: its path is not known yet */
	uint64_t wanted_ns;   /* start of the wait for its table; 0: not needed */
	uint32_t given_round; /* sampler_table_round() of its table; 0: no table yet */
};

/* A file that may be the runtime of a language. */
struct examination {
	uint32_t number;
	image_id image;
};

/* A stack that was walked here. An unresolved leaf is left out. */
struct walked_stack {
	uint32_t at, n;      /* in frames */
	uint32_t before_run; /* frames before the first one of a language; n: there is none */
	int leaf_loss;       /* enum loss_reason, or -1 */
	bool is_cut;         /* as in struct pipeline_sample */
};

/* Walked raw stacks, by hash: those of this epoch and of the one before. */
struct walked_stacks {
	VEC(struct code_addr) frames;
	VEC(struct walked_stack) list;
	struct intmap by_hash;
};

struct late_count {
	struct sampler_count count;
	char comm[16];
};

/* Frames of a language that one native frame stands for. */
struct language_run {
	struct code_addr *data;
	size_t n, cap;
};

/* Stacks with code of Java; copied ones also have JavaScript's. */
struct java_stack_counts {
	uint64_t walked, copied;           /* samples that the sampler walked; copies */
	uint64_t why[N_JAVA_COPIES];       /* of those of Java */
	uint64_t compared, different, cut; /* for tests: beside walks of copies, which may be cut */
};

struct in_kernel {
	struct sampler_visitor visitor;
	struct event_sink sink, *next;
	struct sampler *sampler;
	struct pipeline *pipeline;
	struct machine *machine;
	VEC(struct seen_file) files; /* by number */
	VEC(uint32_t) to_place;      /* files that the side band has not reached yet */
	VEC(struct examination) to_examine;
	size_t n_late;            /* of these: pipeline_is_file_late() */
	struct intmap images;     /* in_kernel_file_hash() to image */
	struct intmap mark_names; /* string id of a mark's path to its image */
	uint32_t n_marks;
	bool with_thread_ids; /* marks name single threads */
	VEC(struct code_addr) frames;
	VEC(uint32_t) wanted; /* files that need tables */
	VEC(uint8_t) raws;    /* raw stacks to walk, one behind the other */
	VEC(struct late_count) late;
	struct walked_stacks now, before;
	struct walked_stacks waiting;         /* of waits, which may be counted at any time */
	uint32_t first_wait;                  /* counter; UINT32_MAX: no waits */
	uint64_t wait_rest_ns[N_WAIT_EVENTS]; /* not yet a sample */
	uint64_t time_ns;
	uint64_t known_ns; /* the side band is known up to then; UINT64_MAX: to its end */
	struct language_run run,
		held_run;         /* frames of languages that wait for their native frame */
	struct lang_names *names; /* of functions of languages */
	struct java_frames *java; /* that the sampler knows */
	struct java_stack_counts java_stacks;
	struct label_marks *labels;       /* NULL: labels are not recorded */
	struct thread_contexts *contexts; /* likewise */
	bool with_tables;
	uint64_t copy_ns;    /* the oldest copy for code among `raws`; UINT64_MAX: none */
	bool copies_wait;    /* the last turn met known code in most copies */
	bool is_stalled;     /* a raw stack needs a table that was not ready … */
	uint64_t stalled_at; /* … at this generation of tables */
	uint32_t n_seen;     /* files that were checked for a table without a request */
};
