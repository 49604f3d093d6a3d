/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_window.h"

#include <assert.h>
#include <stdlib.h>

#include "pt/packet.h"
#include "trace/pt_trace_state.h"

enum { COARSE = 1 << 20, FINE = PT_PSB_SIZE };

struct place {
	size_t piece;
	uint64_t at;
};

/* A PSB; or the begin of the trace, or its end (tsc UINT64_MAX). */
struct psb {
	struct place place;
	uint64_t tsc;
};

struct cut {
	const struct queue *q;
	const struct time_span *spans;
	size_t n_spans;
	VEC(struct piece) pieces; /* that are kept */
	struct place kept;        /* up to here */
	/* Of the search in small steps: */
	struct psb done;     /* up to here */
	struct place before; /* the begin of the period before */
	bool was_in_span;    /* that period has events in a span */
};

static bool place_is_before(const struct place *a, const struct place *b)
{
	return a->piece < b->piece || (a->piece == b->piece && a->at < b->at);
}

/* The next PSB with a time at or behind `from`, before `to`; or `to`. */
static struct psb cut_find_psb(const struct queue *q, struct place from, const struct psb *to)
{
	for (; from.piece < q->pieces.n; from.piece++, from.at = 0) {
		uint64_t size, tsc;
		const uint8_t *bytes = queue_piece(q, from.piece, &size);

		while (from.at < size && place_is_before(&from, &to->place)) {
			from.at = (uint64_t)(pt_find_psb(bytes + from.at, bytes + size) - bytes);
			tsc = from.at < size ? pt_time_of_psb(bytes + from.at, bytes + size) : 0;
			tsc = piece_tsc(q, from.piece, tsc);
			if (tsc && place_is_before(&from, &to->place))
				return (struct psb){ from, tsc };
			from.at += PT_PSB_SIZE;
		}
		if (from.piece == to->place.piece)
			break;
	}
	return *to;
}

/* Whether events between these PSBs may be in a span. Where time goes back, it may be any. */
static bool cut_is_in_span(const struct cut *c, const struct psb *a, const struct psb *b)
{
	const struct pt_clock *clock = &c->q->trace->info.clock;

	if (b->tsc < a->tsc)
		return true;
	for (size_t i = 0; i < c->n_spans; i++) {
		uint64_t last_ns = c->spans[i].last_ns;
		uint64_t end =
			last_ns < UINT64_MAX / 2 ? pt_time_tsc(clock, last_ns + 1) : UINT64_MAX;

		if (a->tsc <= end && b->tsc >= pt_time_tsc(clock, c->spans[i].first_ns))
			return true;
	}
	return false;
}

static void cut_keep(struct cut *c, struct place from, const struct place *to)
{
	const struct place begin = { 0 };
	bool is_apart = place_is_before(&c->kept, &from);

	if (!is_apart)
		from = c->kept;
	for (; place_is_before(&from, to); from = (struct place){ from.piece + 1, 0 }) {
		struct piece piece = c->q->pieces.data[from.piece];
		uint64_t end = from.piece == to->piece ? to->at : piece.size;
		struct piece *last = c->pieces.data + c->pieces.n - 1;

		if (from.at && c->pieces.n && !is_apart) {
			last->size += end - from.at;
			continue;
		}
		piece.bytes = piece.bytes ? piece.bytes + from.at : NULL;
		piece.offset += from.at;
		piece.size = end - from.at;
		piece.is_apart = is_apart && place_is_before(&begin, &from);
		vec_push(&c->pieces, piece);
		is_apart = false;
	}
	c->kept = *to;
}

/* Between two PSBs, in small steps: keeps the periods of the spans, and one more on both sides. */
static void cut_look_closely(struct cut *c, const struct psb *from, const struct psb *to)
{
	struct psb at = *from, next;

	if (place_is_before(&at.place, &c->done.place))
		at = c->done;
	else if (place_is_before(&c->done.place, &at.place))
		c->before = at.place;
	for (; place_is_before(&at.place, &to->place); at = next) {
		bool is_in_span;

		next = cut_find_psb(c->q, (struct place){ at.place.piece, at.place.at + FINE }, to);
		is_in_span = cut_is_in_span(c, &at, &next);
		if (is_in_span)
			cut_keep(c, c->before, &next.place);
		else if (c->was_in_span)
			cut_keep(c, at.place, &next.place);
		c->was_in_span = is_in_span;
		c->before = at.place;
	}
	c->done = *to;
}

static void cut_look(struct cut *c)
{
	const struct psb end = { { c->q->pieces.n, 0 }, UINT64_MAX };
	struct psb before = { 0 }, at, next;

	/* The bytes before the first PSB are of its time. */
	before.tsc = cut_find_psb(c->q, before.place, &end).tsc;
	at = before;
	for (; place_is_before(&at.place, &end.place); before = at, at = next) {
		next = cut_find_psb(c->q, (struct place){ at.place.piece, at.place.at + COARSE },
				    &end);
		if (cut_is_in_span(c, &at, &next) || c->was_in_span)
			cut_look_closely(c, &before, &next);
	}
}

void pt_window_cut(struct queue *q, const struct time_span *spans, size_t n)
{
	struct cut c = { .q = q, .spans = spans, .n_spans = n };

	assert(!q->flow && !q->first_part);
	if (q->trace->info.is_timeless || q->trace->info.is_snapshot)
		return;
	cut_look(&c);
	free(q->pieces.data);
	q->pieces.data = c.pieces.data;
	q->pieces.n = c.pieces.n;
	q->pieces.cap = c.pieces.cap;
}
