/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a trace during decoding, common to pt_trace.c and pt_ahead.c.
 *
 * A queue is decoded in the thread that asks for its events, or in parts from PSB to PSB. Each part
 * is a queue of its own in a thread of pt_ahead. The events of the parts are joined in order.
 */
#pragma once

#include "machine/address_space.h"
#include "pt/piece.h"
#include "trace/pt_history.h"
#include "trace/pt_images.h"
#include "trace/pt_trace.h"

enum {
	BUFFERED = 4096, /* events of a queue that wait, before it is stopped */
	JOIN = 64,       /* bytes of the next piece that a packet may go on in */
};

struct pt_ahead;

/* A version of the code: a process after some of its changes, and the kernel after some of its own.
 */
struct version {
	int32_t pid;
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
	int32_t tid;
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
};

struct part;

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
	uint8_t tail[2 * JOIN];
	size_t n_tail; /* of the piece before: a packet goes on in this one */
	struct pt_flow *flow;
	struct view *view;
	VEC(struct pt_event) events; /* that wait, from `head` on */
	size_t head;
	VEC(struct mark) marks; /* the one that holds for head, then later ones */
	size_t mark;
	struct address_space given_maps; /* of the span that was given out last … */
	struct version given;            /* … if it is another than the view's */
	bool has_given_maps, is_done;
	struct view_pool *pool;
	/* Of a part: where the next one begins; pieces.n: nowhere. */
	bool is_part;
	size_t end_piece;
	uint64_t end_at;
	/* With parts: the begun ones, in order, and the place of the next one. */
	struct part *first_part, *last_part;
	uint32_t n_parts;
	size_t next_piece;
	uint64_t next_at, next_offset;
	struct pt_joint joint;
	struct pt_time time; /* with CYCs: at the begin of the next part; of a part, at its begin */
};

struct pt_trace {
	struct pt_trace_info info;
	struct perfdata *data;
	struct pt_history history;
	struct pt_images *images;
	uint64_t switch_ip; /* where the kernel switches threads; UINT64_MAX: not known */
	enum pt_detail detail;
	enum pt_quick quick;
	uint64_t first_ns, last_ns;
	VEC(struct queue) queues;
	struct view_pool pool;
	struct pt_ahead *ahead; /* NULL: this thread decodes */
	VEC(struct pt_event) losses;
	size_t n_losses_given;
	const struct queue *last;   /* whose events were given last; NULL: none's, or a loss */
	struct pt_flow_stats stats; /* of queues that are done */
	uint64_t *module_errors;    /* by module of the history */
	uint64_t kernel_errors;     /* outside of them */
};

/* pt_trace.c */
void queue_open_flow(struct queue *q);
void queue_decode_piece(struct queue *q);
void queue_end(struct queue *q);
void queue_leave_view(struct queue *q);
void queue_fini(struct queue *q);
/* Of a queue by number: the mappings where its last span was given out from; NULL: of losses. */
const struct address_space *queue_given_maps(struct pt_trace *t, uint32_t number);
/* Puts the queue into the code of a version. */
void queue_enter_view(struct queue *q, const struct version *of);
/* Memory of a piece up to q->at, when it is worth it. */
void queue_give_back(struct queue *q, const uint8_t *bytes, uint64_t size);
void view_pool_fini(struct view_pool *pool);

/* The bytes of a piece, by its place in the queue; NULL and 0: they are not there. */
static inline const uint8_t *queue_piece(const struct queue *q, size_t i, uint64_t *size)
{
	*size = q->pieces.data[i].size;
	return q->pieces.data[i].bytes;
}

/* pt_side_band.c: side band up to `now_ns`; the time at which to come again. */
uint64_t queue_follow(struct queue *q, uint64_t now_ns);

/*
 * For the next events: the branch by which a thread calls __switch_to belongs to this thread. The
 * events behind it belong to the next thread.
 */
void queue_find_switches(struct queue *q, const struct pt_event *events, size_t n);

/* pt_ahead.c. NULL: there is one processor only, or too little to decode. */
struct pt_ahead *pt_ahead_new(struct pt_trace *t);
void pt_ahead_free(struct pt_ahead *a); /* NULL is fine */
void pt_ahead_forget(struct queue *q);  /* parts that were begun; after pt_ahead_free() */

/* Puts the next events of the queue into q->events and q->marks, whose former events were all given
 * out. 0: the end of the queue. */
size_t pt_ahead_fill(struct pt_ahead *a, struct queue *q);
