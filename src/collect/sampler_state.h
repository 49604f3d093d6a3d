/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a sampler, which its files share. */
#pragma once

#include "base/intmap.h"
#include "base/mem.h"
#include "collect/sampler.h"
#include "collect/sampler.skel.h"
#include "collect/table_maps.h"

struct known_stack {
	uint32_t at; /* of its first frame */
	uint16_t n_kernel, n_user;
	uint32_t fit;
};

/* The stacks of one generation, by hash. */
struct stacks {
	VEC(uint64_t) frames;
	VEC(struct known_stack) list;
	struct intmap by_hash;
	VEC(struct waker_message) wakers;
	struct intmap by_waker; /* id to its place */
	VEC(struct label_message) labels;
	struct intmap by_labels; /* likewise */
};

/* A counter's value, and its samples, at the last check. */
struct missed_base {
	uint64_t counted, samples, period;
};

#define CPU_ENDED (-2)

struct sampler {
	struct sampler_config config;
	struct sampler_waits waits; /* the target of its pointer */
	struct sampler_bpf *bpf;
	VEC(int) fds;
	VEC(uint32_t) counter_of_fd;
	VEC(int32_t) cpu_of_fd; /* -1: of a thread; CPU_ENDED: another one has taken its place */
	VEC(struct bpf_link *) links, switch_links;
	struct bpf_link *fork_link;      /* of waits: children of targets are targets; NULL */
	struct stacks now, before;       /* of this generation and the one before */
	struct sampler_visitor *visitor; /* while messages are read */
	struct ring_buffer *messages;
	struct ring_buffer *times;      /* NULL: without times */
	VEC(struct time_message) timed; /* not visited yet */
	struct table_maps *tables;
	struct count_key *keys; /* a batch */
	struct count_value *values;
	VEC(struct count_key) all_keys;
	VEC(struct count_value) all_values;
	uint64_t losses[N_SAMPLER_COUNTERS]; /* the program's numbers at the last reading */
	uint64_t n_unknown;                  /* samples whose stack never came, not reported yet */
	uint32_t n_cleared;
	bool *is_off;        /* by counter: sampler_pause() holds */
	bool with_languages; /* frames of interpreted languages, beside native ones */
	bool has_raw_wakes, has_raw_switches; /* of waits: by raw tracepoints, which are cheaper */
	uint32_t counts_room;                 /* entries of each map of counts */
	uint32_t messages_bytes;
	uint64_t max_words;            /* of stacks, in a generation */
	size_t poll_left;              /* bytes, in this sampler_poll() */
	uint64_t made_for_hz;          /* the rate that the maps were made for */
	VEC(struct missed_base) bases; /* by counter: sampler_collect_missed() */
	uint64_t cleared_ns;           /* time of the last clearing of tables */
};

/* Visits one count: of a sum, or with its own time (sampler.c). */
void sampler_visit(struct sampler *s, struct sampler_visitor *visitor, const struct count_key *key,
		   const struct count_value *value, uint64_t time_ns);

/* Targets of waits, and their children from now on (sampler_waits.c). */
int sampler_follow_targets(struct sampler *s, struct error *err);
/* Waits begin, and end, to be followed. */
int sampler_attach_waits(struct sampler *s, const struct sampler_config *c, struct error *err);
void sampler_detach_waits(struct sampler *s);
