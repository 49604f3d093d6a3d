/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a trace during decoding, which the files of pt_trace share.
 *
 * A queue is decoded in the thread that asks for its events, or in parts from PSB to PSB. Each part
 * is a queue of its own in a thread of pt_ahead. The events of the parts are joined in order.
 */
#pragma once

#include "machine/address_space.h"
#include "pt/piece.h"
#include "symbol/kernel/kcore_cache.h"
#include "trace/pt_filter.h"
#include "trace/pt_history.h"
#include "trace/pt_images.h"
#include "trace/pt_trace_info.h"

enum {
	BUFFERED = 4096, /* events of a queue that wait, before it is stopped */
	JOIN = 64,       /* bytes of the next piece that a packet may go on in */
};

struct pt_ahead;

/*
 * A version of the code: a process after some of its changes, and the kernel after some of its own;
 * or the guest that the process runs.
 */
struct version {
	int32_t pid;
	bool is_guest;
	int32_t guest; /* the guest's process (event/guest_task.h); 0: none is known */
	size_t n_changes, n_pokes;
};

/* Code of a version, and the graph that it was decoded to. */
struct view {
	struct version of;
	uint32_t n_users; /* queues that are in it */
	uint64_t used;    /* the larger the later */
	struct address_space maps;
	struct pt_code *code;
	struct pt_trace *trace;
};

/* The process and thread from an event of a queue on. */
struct mark {
	size_t event;
	int32_t tid, guest_tid;
	uint32_t machine_pid, vcpu; /* of the guest, if `of.guest` is known */
	struct version of;
};

/* Views that one thread uses. */
struct view_pool {
	VEC(struct view *) views;
	uint64_t clock; /* of their use */
};

/* Trace data in a row: an AUXTRACE record's, or a sample's. */
struct piece {
	const uint8_t *bytes; /* NULL and 0: they are not there */
	uint64_t size;
	int32_t pid, tid; /* of a sample: whose it is, and when; else -1 */
	uint64_t time_ns;
	uint64_t offset;    /* in the queue's trace */
	bool is_apart;      /* bytes before it are left out: it begins with a PSB (pt_window.h) */
	uint64_t tsc_shift; /* what is added to its TSCs (pt_steps.h) */
};

struct part;

/* From a place on, the first PSB whose time is known; or where the search for one has ended. */
struct psb_ahead {
	size_t piece, to_piece;
	uint64_t at, to_at;
	uint64_t tsc; /* 0: none was found */
};

struct queue {
	struct pt_trace *trace;
	uint32_t number, cpu, index;
	int32_t pid, tid;
	VEC(struct piece) pieces;
	size_t piece; /* the one at hand, … */
	uint64_t at;  /* … and how far it was decoded */
	uint64_t given_back;
	size_t n_switches;            /* of the CPU, that were followed */
	const struct pt_switch *said; /* of these: who will be next, once the trace is there */
	uint64_t said_ip;             /* meanwhile: where the trace was last, … */
	uint64_t stands_until;        /* … and the last time in ns without a move; 0: none */
	struct psb_ahead ahead;
	uint8_t tail[2 * JOIN];
	size_t n_tail; /* of the piece before: a packet goes on in this one */
	struct pt_flow *flow;
	struct view *view;
	struct version version;      /* of the code at hand; the view may be of all processes */
	VEC(struct pt_event) events; /* that wait, from `head` on */
	size_t head;
	VEC(struct mark) marks; /* the one that holds for head, then later ones */
	size_t mark;
	struct address_space given_maps; /* of the span that was given out last … */
	struct version given;            /* … if it is another than the view's */
	bool has_given_maps, is_done;
	bool is_guest;                        /* the trace is in a guest of the process, */
	const struct pt_guest_cpu *guest_cpu; /* on this CPU of it (NULL: not known), */
	const struct pt_switch *guest_thread; /* in this thread of it (NULL: not known) */
	struct view_pool *pool;
	/* Of a part: where the next one begins; pieces.n: nowhere. */
	bool is_part;
	size_t n_ahead; /* n_switches where it began, if the last one was only said; else 0 */
	size_t end_piece;
	uint64_t end_at;
	/* With parts: the begun ones, in order, and the place of the next one. */
	struct part *first_part, *last_part;
	uint32_t n_parts;
	size_t next_piece;
	uint64_t next_at;
	struct mark leaves; /* the last thread of the part before */
	bool has_leaves;
	struct pt_joint joint;
	struct pt_time time; /* with CYCs: at the begin of the next part; of a part, at its begin */
	bool time_is_guest;  /* with CYCs: whether the next part begins in a guest, by its PIP */
};

struct pt_trace {
	struct pt_trace_info info;
	struct perfdata *data;
	struct pt_history history;
	struct pt_images *images;
	struct pt_modules *modules;
	struct address_filters filters;
	uint64_t switch_ip; /* where the kernel switches threads; UINT64_MAX: not known */
	enum pt_detail detail;
	enum pt_quick quick;
	uint64_t sample_ticks; /* 0: every branch is needed */
	uint64_t n_steps;      /* of the TSC, which went back (pt_steps.h) */
	VEC(struct queue) queues;
	struct view_pool pool;
	struct pt_ahead *ahead; /* NULL: this thread decodes */
	VEC(struct pt_event) losses;
	size_t n_losses_given;
	const struct queue *last;   /* whose events were given last; NULL: none's, or a loss */
	struct pt_flow_stats stats; /* of queues that are done */
	VEC(struct loaded_module) loaded_modules; /* as in the history */
	uint64_t *module_errors;                  /* by module of the history */
	uint64_t kernel_errors;                   /* outside of them */
	uint64_t guest_errors, guest_user_errors; /* of guests' kernels, and of their programs */
};

/* The process whose mappings a version has: this machine's, or the guest's. */
static inline int32_t version_process(const struct version *of)
{
	return of->guest ? of->guest : of->pid;
}

/* The bytes of a piece, by its place in the queue; NULL and 0: they are not there. */
static inline const uint8_t *queue_piece(const struct queue *q, size_t i, uint64_t *size)
{
	*size = q->pieces.data[i].size;
	return q->pieces.data[i].bytes;
}

/* The TSC of a PSB in a piece as a time. 0: it has none. */
static inline uint64_t piece_tsc(const struct queue *q, size_t i, uint64_t tsc)
{
	return tsc ? pt_time_shift(tsc, q->pieces.data[i].tsc_shift) : 0;
}

/* The time of an event's `tsc`; 0: not known. */
static inline uint64_t trace_ns(const struct pt_trace *t, uint64_t tsc)
{
	return t->info.is_timeless || !tsc ? 0 : pt_time_ns(&t->info.clock, tsc);
}
