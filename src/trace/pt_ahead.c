/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes on all processors. Queues are decoded in parts from PSB to PSB, which are joined in
 * order.
 *
 *   queue:   part 1   │ part 2   │ part 3 │ part 4 …
 *            thread 1   thread 2   waits
 *
 * A few parts are begun. When the events of the first are given out, the next one is begun. A
 * part's events wait until the part is the first of its queue. A part with very many events stops,
 * with its thread. When it is the first, it goes on in the thread that asks. So the number of begun
 * parts bounds the memory. A thread has its own views (code graphs), and they are hot for its next
 * part.
 */
#include "trace/pt_ahead.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/thread.h"
#include "pt/packet.h"
#include "trace/pt_queue.h"
#include "trace/pt_side_band.h"
#include "trace/pt_view.h"

enum {
	MAX_THREADS = 16,
	PART_BYTES = 64 << 10,
	QUIET_PART_BYTES = 256 << 10, /* where few events are kept: threads are woken less often */
	WORTH_BYTES = 1 << 20, /* of all queues: less is decoded before threads have started */
	PART_EVENTS = 1 << 21, /* a part with more is stopped */
};

enum part_state { PART_WAITS, PART_RUNS, PART_STOPPED, PART_DONE };

struct part {
	struct queue q;
	enum part_state state;
	struct part *next;       /* of the queue */
	struct part *next_to_do; /* of all that wait */
	struct pt_piece_end end;
};

struct worker {
	struct pt_ahead *ahead;
	struct view_pool pool;
	pthread_t thread;
};

struct event_room {
	struct pt_event *data;
	size_t cap;
};

struct pt_ahead {
	pthread_mutex_t lock;
	pthread_cond_t has_work, has_changed;
	struct part *first, *last; /* that wait for a thread */
	struct worker workers[MAX_THREADS];
	uint32_t n_workers, n_parts;
	uint64_t part_bytes;
	bool ends;
	VEC(struct event_room) spare; /* memory of parts that are over; of the asking thread */
};

/* ---- in the threads ---- */

static bool is_at_end(const struct queue *q)
{
	return q->piece >= q->pieces.n || q->piece > q->end_piece ||
	       (q->piece == q->end_piece && q->at >= q->end_at);
}

static void begin(struct part *part, struct view_pool *pool)
{
	struct queue *q = &part->q;

	q->pool = pool;
	queue_follow_psb(q);
	queue_open_flow(q);
	q->n_ahead = queue_ends_ahead(q) ? q->n_switches : 0;
	pt_flow_restart(q->flow, q->pieces.data[q->piece].offset + q->at);
	pt_flow_set_time(q->flow, &q->time);
}

static void end(struct part *part)
{
	struct queue *q = &part->q;
	uint64_t size;

	if (q->end_piece < q->pieces.n) {
		const uint8_t *bytes = queue_piece(q, q->end_piece, &size);

		pt_flow_shift_tsc(q->flow, q->pieces.data[q->end_piece].tsc_shift);
		pt_flow_end_piece(q->flow, bytes + q->end_at, bytes + size);
	} else {
		pt_flow_end(q->flow);
	}
	part->end = pt_flow_piece_end(q->flow);
	queue_leave_view(q);
}

/* Up to its end, or so many events. */
static void decode(struct part *part, size_t max_events)
{
	while (!is_at_end(&part->q) && part->q.events.n < max_events)
		queue_decode_piece(&part->q);
	if (is_at_end(&part->q))
		end(part);
}

static struct part *take_work(struct pt_ahead *a)
{
	struct part *part;

	while (!a->first && !a->ends)
		pthread_cond_wait(&a->has_work, &a->lock);
	part = a->ends ? NULL : a->first;
	if (part) {
		a->first = part->next_to_do;
		part->state = PART_RUNS;
	}
	return part;
}

static void *work(void *argument)
{
	struct worker *w = argument;
	struct pt_ahead *a = w->ahead;
	struct part *part;

	pthread_mutex_lock(&a->lock);
	while ((part = take_work(a))) {
		pthread_mutex_unlock(&a->lock);
		begin(part, &w->pool);
		decode(part, PART_EVENTS);
		pthread_mutex_lock(&a->lock);
		part->state = is_at_end(&part->q) ? PART_DONE : PART_STOPPED;
		pthread_cond_broadcast(&a->has_changed);
		/* Our views are its views: until who asks has decoded the rest. */
		while (part->state == PART_STOPPED && !a->ends)
			pthread_cond_wait(&a->has_changed, &a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- in the thread that asks ---- */

static uint32_t n_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (uint32_t)CPU_COUNT(&set);
}

static bool is_worth_it(const struct pt_trace *t)
{
	uint64_t bytes = 0;

	vec_foreach (&t->queues, q) {
		for (size_t i = 0; i < q->pieces.n; i++) {
			uint64_t size;

			queue_piece(q, i, &size);
			bytes += size;
		}
	}
	return bytes >= WORTH_BYTES;
}

/* Snapshots overlap. Only one decoder can know the bytes that they skip. */
static bool may_be_cut(const struct pt_trace *t)
{
	return !t->info.is_snapshot && !t->quick;
}

struct pt_ahead *pt_ahead_new(struct pt_trace *t)
{
	/* For tests: parts of so many bytes, be there few processors or little to decode. */
	const char *bytes = getenv("ASSAY_PT_PARTS");
	uint32_t n = MIN(n_processors(), (uint32_t)MAX_THREADS);
	struct pt_ahead *a;

	if (bytes)
		n = MAX(n, 2u);
	if (n < 2 || !may_be_cut(t) || (!bytes && !is_worth_it(t)))
		return NULL;
	a = xcalloc(1, sizeof(*a));
	a->part_bytes = bytes ? strtoull(bytes, NULL, 10) : 0;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->has_work, NULL);
	pthread_cond_init(&a->has_changed, NULL);
	for (uint32_t i = 0; i < n; i++) {
		struct worker *w = &a->workers[a->n_workers];

		w->ahead = a;
		if (thread_start(&w->thread, work, w))
			a->n_workers++;
	}
	if (!a->n_workers) {
		pt_ahead_free(a);
		return NULL;
	}
	return a;
}

static void part_free(struct part *part)
{
	part->q.pieces.data = NULL; /* the queue's */
	queue_fini(&part->q);
	free(part);
}

void pt_ahead_free(struct pt_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->ends = true;
	pthread_cond_broadcast(&a->has_work);
	pthread_cond_broadcast(&a->has_changed);
	pthread_mutex_unlock(&a->lock);
	for (uint32_t i = 0; i < a->n_workers; i++)
		pthread_join(a->workers[i].thread, NULL);
	for (uint32_t i = 0; i < a->n_workers; i++)
		view_pool_fini(&a->workers[i].pool);
	vec_foreach (&a->spare, room)
		free(room->data);
	vec_fini(&a->spare);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->has_work);
	pthread_cond_destroy(&a->has_changed);
	free(a);
}

void pt_ahead_forget(struct queue *q)
{
	while (q->first_part) {
		struct part *part = q->first_part;

		q->first_part = part->next;
		part_free(part);
	}
}

struct scanned {
	struct queue *q;
	size_t piece;
	const uint8_t *bytes;
};

static uint64_t scan_next_tsc(void *context, const uint8_t *at)
{
	const struct scanned *s = context;

	return queue_next_tsc(s->q, s->piece, (uint64_t)(at - s->bytes));
}

/* Time by cycles depends on all packets before. This scan finds the time of a part quickly. */
static void scan_time(struct queue *q, size_t piece, uint64_t from, uint64_t to)
{
	uint64_t size;
	const uint8_t *bytes = queue_piece(q, piece, &size);
	const uint8_t *at = bytes + from, *end = bytes + size;
	struct scanned scanned = { q, piece, bytes };

	if (!q->trace->info.has_cyc || !bytes)
		return;
	q->time.shift = q->pieces.data[piece].tsc_shift;
	while (at < bytes + to) {
		struct pt_scan s = { .is_guest = q->time_is_guest,
				     .next_tsc = scan_next_tsc,
				     .context = &scanned };

		at = pt_time_scan(&q->time, &s, at, bytes + to, end);
		q->time_is_guest = s.is_guest;
		if (at < bytes + to) {
			pt_time_resync(&q->time);
			at = pt_find_psb(at + 1, end);
		}
	}
}

/* Where the part that begins at next_piece, next_at may end. */
static void find_end(struct queue *q, uint64_t part_bytes, struct part *part)
{
	uint64_t size, want = q->next_at + part_bytes;

	for (; q->next_piece < q->pieces.n; q->next_piece++) {
		const uint8_t *bytes = queue_piece(q, q->next_piece, &size);

		if (q->pieces.data[q->next_piece].is_apart && !q->next_at)
			pt_time_resync(&q->time);
		/* A packet of the piece before may go on in this one. */
		want = MAX(want, (uint64_t)JOIN);
		if (want < size) {
			const uint8_t *cut = pt_find_cut(bytes + want, bytes, bytes + size);

			if (cut < bytes + size) {
				scan_time(q, q->next_piece, q->next_at, (uint64_t)(cut - bytes));
				q->next_at = (uint64_t)(cut - bytes);
				break;
			}
		}
		want = want > size ? want - size : 0;
		scan_time(q, q->next_piece, q->next_at, size);
		q->next_at = 0;
	}
	part->q.end_piece = q->next_piece;
	part->q.end_at = q->next_at;
}

static uint64_t part_bytes(const struct pt_ahead *a, const struct pt_trace *t)
{
	if (a->part_bytes)
		return a->part_bytes;
	return t->detail == PT_NO_BRANCHES || t->sample_ticks ? QUIET_PART_BYTES : PART_BYTES;
}

static struct part *new_part(struct pt_ahead *a, struct queue *q)
{
	struct part *part = xcalloc(1, sizeof(*part));

	part->q = (struct queue){ .trace = q->trace,
				  .number = q->number,
				  .cpu = q->cpu,
				  .index = q->index,
				  .pid = q->pid,
				  .tid = q->tid,
				  .piece = q->next_piece,
				  .at = q->next_at,
				  .given_back = q->next_at,
				  .time = q->time,
				  .is_part = true };
	part->q.pieces.data = q->pieces.data;
	part->q.pieces.n = q->pieces.n;
	part->q.time.shift = q->pieces.data[q->next_piece].tsc_shift;
	part->q.time.keeps_ticks = !q->trace->info.has_cyc;
	q->joint.max_ratio = part->q.time.keeps_ticks ? q->trace->info.clock.max_ratio : 0;
	if (a->spare.n) {
		struct event_room room = a->spare.data[--a->spare.n];

		part->q.events.data = room.data;
		part->q.events.cap = room.cap;
	}
	find_end(q, part_bytes(a, q->trace), part);
	return part;
}

/* Begins parts: of each queue one, and as many as keep the threads busy. */
static void begin_parts(struct pt_ahead *a, struct queue *q)
{
	while (q->next_piece < q->pieces.n && (!q->n_parts || a->n_parts < a->n_workers + 2)) {
		struct part *part = new_part(a, q);

		if (q->first_part)
			q->last_part->next = part;
		else
			q->first_part = part;
		q->last_part = part;
		q->n_parts++;
		a->n_parts++;
		pthread_mutex_lock(&a->lock);
		if (a->first)
			a->last->next_to_do = part;
		else
			a->first = part;
		a->last = part;
		pthread_cond_signal(&a->has_work);
		pthread_mutex_unlock(&a->lock);
	}
}

static enum part_state wait_for(struct pt_ahead *a, const struct part *part)
{
	enum part_state state;

	pthread_mutex_lock(&a->lock);
	while (part->state == PART_WAITS || part->state == PART_RUNS)
		pthread_cond_wait(&a->has_changed, &a->lock);
	state = part->state;
	pthread_mutex_unlock(&a->lock);
	return state;
}

/* The first event in which this machine's kernel, and not a guest's, switches; events.n: none. */
static size_t first_switch(const struct queue *q)
{
	size_t n = 0, mark = 0;

	for (; n < q->events.n; n++) {
		while (mark + 1 < q->marks.n && q->marks.data[mark + 1].event <= n)
			mark++;
		if (queue_is_switch(q, &q->events.data[n]) &&
		    !(q->marks.n && q->marks.data[mark].of.is_guest))
			break;
	}
	return n;
}

/*
 * A part begins with the thread of the last record. If that comes before its switch, and the part
 * before ended before the switch, then the events up to the switch are of the thread that leaves.
 */
static void give_to_leaving(struct queue *q)
{
	size_t n = first_switch(q), mark = 0;
	struct mark next = q->leaves;

	if (n++ == q->events.n)
		return;
	for (; mark < q->marks.n && q->marks.data[mark].event <= n; mark++) {
		next = q->marks.data[mark];
		q->marks.data[mark] = q->leaves;
		q->marks.data[mark].event = next.event;
		/* Whether it is in a guest is known of each event. */
		q->marks.data[mark].of.is_guest = next.of.is_guest;
		if (!next.of.is_guest)
			q->marks.data[mark].of.guest = 0;
	}
	next.event = n;
	vec_push(&q->marks, next);
	memmove(q->marks.data + mark + 1, q->marks.data + mark,
		(q->marks.n - 1 - mark) * sizeof(next));
	q->marks.data[mark] = next;
}

/* Puts the part's events in the place of the queue's, and joins them: between marks, as these
 * count. */
static void take_events(struct queue *q, struct part *part)
{
	__typeof__(q->events) events = q->events;
	__typeof__(q->marks) marks = q->marks;
	size_t kept = 0;

	q->events = part->q.events;
	q->marks = part->q.marks;
	part->q.events = events;
	part->q.marks = marks;
	part->q.events.n = part->q.marks.n = 0;
	for (size_t i = 0; i < q->marks.n; i++) {
		size_t from = q->marks.data[i].event;
		size_t to = i + 1 < q->marks.n ? q->marks.data[i + 1].event : q->events.n, n;

		n = pt_join(&q->joint, q->events.data + from, to - from);
		if (kept < from)
			memmove(q->events.data + kept, q->events.data + from,
				n * sizeof(*q->events.data));
		q->marks.data[i].event = kept;
		kept += n;
	}
	q->events.n = kept;
	if (part->q.n_ahead > q->n_switches && q->has_leaves)
		give_to_leaving(q);
	part->q.n_ahead = 0;
	/* The next events of the part belong to the last mark. */
	if (q->marks.n) {
		vec_push(&part->q.marks, q->marks.data[q->marks.n - 1]);
		part->q.marks.data[0].event = 0;
	}
}

static void go_on(struct pt_ahead *a, struct part *part)
{
	decode(part, BUFFERED);
	if (!is_at_end(&part->q))
		return;
	pthread_mutex_lock(&a->lock);
	part->state = PART_DONE;
	pthread_cond_broadcast(&a->has_changed);
	pthread_mutex_unlock(&a->lock);
}

/* Gives back the memory of the decoded bytes up to the part's end. It stops all threads for a
 * moment, so it is not done for each part. */
static void give_back(struct queue *q, const struct part *part)
{
	for (;;) {
		bool goes_on = q->piece < part->q.end_piece;
		const uint8_t *bytes;
		uint64_t size;

		if (q->piece >= q->pieces.n)
			return;
		bytes = queue_piece(q, q->piece, &size);
		q->at = goes_on ? size : part->q.end_at;
		if (bytes)
			queue_give_back(q, bytes, size);
		if (!goes_on)
			return;
		q->piece++;
		q->at = q->given_back = 0;
	}
}

static void retire(struct pt_ahead *a, struct queue *q)
{
	struct part *part = q->first_part;

	assert(q->n_parts && a->n_parts && !part->q.events.n);
	pt_join_end(&q->joint, &part->end);
	q->n_switches = part->q.n_switches - (part->q.said ? 1 : 0);
	q->has_leaves = part->q.marks.n;
	if (q->has_leaves)
		q->leaves = part->q.marks.data[part->q.marks.n - 1];
	queue_end(&part->q);
	give_back(q, part);
	q->trace->stats.branches -= MIN(q->joint.n_doubled, q->trace->stats.branches);
	q->joint.n_doubled = 0;
	q->first_part = part->next;
	q->n_parts--;
	a->n_parts--;
	vec_push(&a->spare, ((struct event_room){ part->q.events.data, part->q.events.cap }));
	memset(&part->q.events, 0, sizeof(part->q.events));
	part_free(part);
}

size_t pt_ahead_fill(struct pt_ahead *a, struct queue *q)
{
	struct part *part;

	q->events.n = q->marks.n = q->head = q->mark = 0;
	for (;;) {
		enum part_state state;

		begin_parts(a, q);
		part = q->first_part;
		if (!part)
			return 0;
		state = wait_for(a, part);
		if (!part->q.events.n && state == PART_DONE) {
			retire(a, q);
			continue;
		}
		if (!part->q.events.n)
			go_on(a, part);
		if (!part->q.events.n)
			continue;
		take_events(q, part);
		if (q->events.n)
			return q->events.n;
	}
}
