/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_queue.h"

#include <string.h>
#include <sys/mman.h>

#include "base/reserve.h"
#include "trace/pt_overlap.h"
#include "trace/pt_side_band.h"
#include "trace/pt_view.h"

enum {
	FED = 1 << 20, /* at most, before memory is given back */
	GIVE_BACK = 1 << 22,
	LOOK_AHEAD = 1 << 20,  /* for a time that shows whether an earlier one is damaged */
	LOOK_BEHIND = 1 << 13, /* at first, for the last time of the host */
};

/* ---- times ahead ---- */

static bool place_is_from(size_t piece, uint64_t at, size_t from_piece, uint64_t from)
{
	return piece > from_piece || (piece == from_piece && at >= from);
}

/* Whether a search covered the place. */
static bool is_from_known(const struct psb_ahead *a, size_t piece, uint64_t from)
{
	return place_is_from(piece, from, a->piece, a->at) &&
	       !place_is_from(piece, from, a->to_piece, a->to_at);
}

static uint64_t bytes_between(const struct queue *q, size_t piece, uint64_t at, size_t to_piece,
			      uint64_t to_at)
{
	uint64_t n = 0, size;

	for (; piece < to_piece; piece++, at = 0)
		n += queue_piece(q, piece, &size) && size > at ? size - at : 0;
	return n + (to_at - at);
}

/* The TSC of a PSB+; 0: it has none, or is of a guest, whose TSC may have an offset. */
static uint64_t queue_host_tsc(const uint8_t *psb, const uint8_t *end)
{
	return pt_time_psb_is_of_guest(psb, end, false) ? 0 : pt_time_of_psb(psb, end);
}

/* Looks at `left` bytes from a.to_piece, a.to_at on. */
static struct psb_ahead look_ahead(const struct queue *q, struct psb_ahead a, uint64_t left)
{
	uint64_t size;

	for (; left && a.to_piece < q->pieces.n; a.to_piece++, a.to_at = 0) {
		const uint8_t *bytes = queue_piece(q, a.to_piece, &size), *at, *to;

		if (!bytes || a.to_at >= size)
			continue;
		to = bytes + a.to_at + MIN(left, size - a.to_at);
		at = bytes + a.to_at;
		left -= (uint64_t)(to - at);
		for (at = pt_find_psb(at, to); at < to && !a.tsc;) {
			a.tsc = piece_tsc(q, a.to_piece, queue_host_tsc(at, bytes + size));
			at = a.tsc ? at : pt_find_psb(at + PT_PSB_SIZE, to);
		}
		a.to_at = (uint64_t)(at - bytes);
		if (a.tsc || a.to_at < size)
			break;
	}
	return a;
}

static struct psb_ahead find_psb_ahead(const struct queue *q, size_t piece, uint64_t from)
{
	const struct psb_ahead *old = &q->ahead;
	struct psb_ahead a = { .piece = piece, .at = from, .to_piece = piece, .to_at = from };
	uint64_t left = LOOK_AHEAD, cut = PT_PSB_SIZE - 1;

	/* A search from before found none up to there: only the rest is left to search. */
	if (is_from_known(old, piece, from)) {
		left = bytes_between(q, old->piece, old->at, piece, from);
		a.to_piece = old->to_piece;
		a.to_at = old->to_at;
		if (left) { /* a PSB may have been cut */
			cut = MIN(cut, a.to_at);
			a.to_at -= cut;
			left += cut;
		}
	}
	return look_ahead(q, a, left);
}

uint64_t queue_next_tsc(struct queue *q, size_t piece, uint64_t from)
{
	const struct psb_ahead *a = &q->ahead;

	if (!a->tsc || !is_from_known(a, piece, from))
		q->ahead = find_psb_ahead(q, piece, from);
	return a->tsc;
}

/* The last TSC of a host's PSB+ in these bytes; 0: there is none. */
static uint64_t last_host_tsc(const uint8_t *at, const uint8_t *to, const uint8_t *end)
{
	uint64_t last = 0, tsc;

	for (at = pt_find_psb(at, to); at < to; at = pt_find_psb(at + PT_PSB_SIZE, to)) {
		tsc = queue_host_tsc(at, end);
		last = tsc ? tsc : last;
	}
	return last;
}

/* Of the last PSB+ of the host that begins before a place, if it is near; else 0. */
static uint64_t queue_tsc_before(const struct queue *q, size_t piece, uint64_t at)
{
	uint64_t size, n, looked_at = 0, tsc = 0;

	for (; !tsc && looked_at < LOOK_AHEAD; at -= n, looked_at += n) {
		const uint8_t *bytes;

		while (!at && piece)
			at = q->pieces.data[--piece].size;
		bytes = queue_piece(q, piece, &size);
		n = MIN(at, MAX(looked_at, (uint64_t)LOOK_BEHIND));
		if (!n)
			break;
		if (bytes)
			tsc = last_host_tsc(bytes + at - n, bytes + MIN(size, at + PT_PSB_SIZE - 1),
					    bytes + size);
		tsc = piece_tsc(q, piece, tsc);
	}
	return tsc;
}

static uint64_t queue_on_next_tsc(void *context, const uint8_t *at)
{
	struct queue *q = context;
	uint64_t size;
	const uint8_t *bytes = queue_piece(q, q->piece, &size);
	bool is_of_piece = bytes && at >= bytes && at < bytes + size; /* else of q->tail */

	return queue_next_tsc(q, q->piece, is_of_piece ? (uint64_t)(at - bytes) : q->at);
}

/* ---- */

static uint64_t queue_next_time(const struct pt_trace *t, uint64_t ns)
{
	return ns == UINT64_MAX ? ns : pt_time_tsc(&t->info.clock, ns);
}

static uint64_t queue_on_side_band(void *context, uint64_t tsc)
{
	struct queue *q = context;

	return queue_next_time(q->trace, queue_follow(q, pt_time_ns(&q->trace->info.clock, tsc)));
}

static void queue_on_events(void *context, const struct pt_event *events, size_t n)
{
	struct queue *q = context;

	if (q->trace->switch_ip != UINT64_MAX)
		queue_find_switches(q, events, n);
	vec_reserve(&q->events, q->events.n + n);
	memcpy(q->events.data + q->events.n, events, n * sizeof(*events));
	q->events.n += n;
	if (q->events.n >= BUFFERED)
		pt_flow_pause(q->flow);
}

static void queue_on_machine(void *context, bool is_guest)
{
	queue_enter_machine(context, is_guest);
}

static bool queue_is_filtered_out(void *context, uint64_t ip)
{
	const struct queue *q = context;

	return q->view && pt_filters_exclude(q->trace, &q->view->maps, ip);
}

void queue_open_flow(struct queue *q)
{
	const struct pt_trace_info *info = &q->trace->info;
	struct pt_flow_config config = {
		.clock = info->clock,
		.quick = q->trace->quick,
		.no_branches = q->trace->detail == PT_NO_BRANCHES,
		.sample_ticks = q->trace->sample_ticks,
		.events = queue_on_events,
		.side_band = info->is_timeless ? NULL : queue_on_side_band,
		.errata = info->errata,
		.is_filtered_out = q->trace->filters.n ? queue_is_filtered_out : NULL,
		.has_event_trace = info->has_event_trace,
		.machine = queue_on_machine,
		.next_tsc = queue_on_next_tsc,
		.is_coarse = !info->has_mtc && !info->has_cyc,
		.context = q,
	};

	if (!q->view)
		queue_follow(q, info->is_timeless ? UINT64_MAX : 0);
	q->flow = pt_flow_new(&config, q->view->code);
}

/*
 * The TSC of the PSB at hand, on the host's clock. A guest's TSC may have an offset. Then the last
 * TSC of the host is the best estimate. *before: that TSC; 0: none is near.
 */
static uint64_t queue_psb_tsc(struct queue *q, uint64_t *before)
{
	uint64_t size, tsc, next;
	const uint8_t *bytes = queue_piece(q, q->piece, &size);
	bool is_guest;

	*before = 0;
	if (!bytes)
		return 0;
	is_guest = pt_time_psb_is_of_guest(bytes + q->at, bytes + size, false);
	tsc = piece_tsc(q, q->piece, pt_time_of_psb(bytes + q->at, bytes + size));
	next = tsc ? queue_next_tsc(q, q->piece, q->at + PT_PSB_SIZE) : 0;
	if (is_guest)
		*before = queue_tsc_before(q, q->piece, q->at);
	if (tsc < *before || (*before && next && next < tsc))
		return *before;
	/* A damaged time would lead past all changes. */
	return next ? MIN(next, tsc) : tsc;
}

void queue_follow_psb(struct queue *q)
{
	uint64_t before, tsc = queue_psb_tsc(q, &before);

	/* With CYCs, it is known from a scan. */
	if (q->is_part && !q->trace->info.has_cyc)
		q->time.tsc = before;
	if (tsc && !q->trace->info.is_timeless)
		queue_follow(q, pt_time_ns(&q->trace->info.clock, tsc));
}

static bool queue_has_switches(const struct queue *q)
{
	const struct pt_history *h = &q->trace->history;

	return q->cpu < h->cpus.n && h->cpus.data[q->cpu].n;
}

/* Finds the first byte of a snapshot that the one before did not have, and whether bytes are
 * missing between them. */
static void queue_begin_piece(struct queue *q)
{
	const struct piece *now = &q->pieces.data[q->piece], *before = now - 1;
	bool is_consecutive = true;

	pt_flow_shift_tsc(q->flow, now->tsc_shift);
	if (now->tid >= 0 && !queue_has_switches(q)) {
		q->pid = now->pid;
		q->tid = now->tid;
		queue_follow(q, now->time_ns);
	}
	if (now->is_apart) {
		queue_follow_psb(q);
		pt_flow_resync_at(q->flow, now->offset);
	}
	if (!q->trace->info.is_snapshot || !q->piece || !now->bytes)
		return;
	q->at = pt_overlap(before->bytes, before->size, now->bytes, now->size, &is_consecutive);
	if (!is_consecutive)
		pt_flow_resync(q->flow);
}

/* The packet that goes on from the last piece into this one. False: there is no more of it yet. */
static void queue_join(struct queue *q, const uint8_t *bytes, uint64_t size, bool is_last)
{
	size_t n = MIN(size - q->at, (uint64_t)JOIN), old = q->n_tail, used;

	memcpy(q->tail + old, bytes + q->at, n);
	used = pt_flow_feed_some(q->flow, q->tail, old + n, is_last);
	if (used >= old) {
		q->n_tail = 0;
		q->at += used - old;
	} else if (q->at + n == size) {
		/* It is longer than the whole piece. */
		memmove(q->tail, q->tail + used, old + n - used);
		q->n_tail = MIN(old + n - used, (size_t)JOIN);
		q->at = size;
	} else {
		memmove(q->tail, q->tail + used, old - used);
		q->n_tail = old - used;
	}
}

/* Releases the memory of decoded bytes. */
void queue_give_back(struct queue *q, const uint8_t *bytes, uint64_t size)
{
	uintptr_t page = 4096, from = ((uintptr_t)bytes + q->given_back + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)bytes + q->at) & ~(page - 1);

	if (q->at < size && q->at - q->given_back < GIVE_BACK)
		return;
	if (to > from)
		madvise((void *)from, to - from, MADV_DONTNEED); /* NOLINT: an address */
	q->given_back = q->at;
}

/* Whether no bytes follow the piece at hand. */
static bool queue_is_cut_behind(const struct queue *q)
{
	return q->piece + 1 == q->pieces.n || q->pieces.data[q->piece + 1].is_apart;
}

void queue_decode_piece(struct queue *q)
{
	uint64_t size, used;
	const uint8_t *bytes = queue_piece(q, q->piece, &size);
	bool is_last = queue_is_cut_behind(q) || q->trace->info.is_snapshot, is_end;

	if (reserve_check() < 0) {
		/* Who reads the trace sees the failure, and takes nothing of it. */
		q->piece = q->pieces.n;
		return;
	}
	if (!q->at)
		queue_begin_piece(q);
	if (q->is_part && q->piece == q->end_piece) {
		size = q->end_at;
		is_last = true;
	}
	if (q->at < size && q->n_tail) {
		queue_join(q, bytes, size, is_last);
	} else if (q->at < size) {
		is_end = size - q->at <= FED;
		used = pt_flow_feed_some(q->flow, bytes + q->at, MIN(size - q->at, (uint64_t)FED),
					 is_last && is_end);
		q->at += used;
		if (is_end && q->at < size && size - q->at < PT_PACKET_MAX + PT_PSB_SIZE &&
		    !is_last && (!used || q->events.n < BUFFERED)) {
			q->n_tail = size - q->at;
			memcpy(q->tail, bytes + q->at, q->n_tail);
			q->at = size;
		}
	}
	if (!q->is_part)
		queue_give_back(q, bytes, size);
	if (q->at < size)
		return;
	q->at = q->given_back = 0;
	q->piece++;
	if (q->piece == q->pieces.n && !q->is_part)
		pt_flow_end(q->flow);
}

void queue_add_stats(struct pt_flow_stats *to, const struct pt_flow_stats *s)
{
	to->insns += s->insns;
	to->branches += s->branches;
	to->bytes += s->bytes;
	to->skipped_bytes += s->skipped_bytes;
	to->psbs += s->psbs;
	to->doubtful_insns += s->doubtful_insns;
	to->backwards += s->backwards;
	for (int i = 0; i < N_PT_ERRORS; i++)
		to->errors[i] += s->errors[i];
}

void queue_end(struct queue *q)
{
	if (q->flow)
		queue_add_stats(&q->trace->stats, pt_flow_stats(q->flow));
	pt_flow_free(q->flow);
	q->flow = NULL;
	queue_leave_view(q);
	q->is_done = true;
}

void queue_fini(struct queue *q)
{
	pt_flow_free(q->flow);
	vec_fini(&q->pieces);
	vec_fini(&q->events);
	vec_fini(&q->marks);
	address_space_fini(&q->given_maps);
}
