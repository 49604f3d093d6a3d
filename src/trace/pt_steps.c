/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_steps.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "pt/packet.h"
#include "trace/pt_trace_state.h"

enum {
	COARSE = 1 << 20,
	MAX_STEPS = 4096,
	MAX_PEAKS = 1 << 20,
	PAGE = 4096,
	AROUND = 64 << 10,
	STEP = 1 << 20, /* ticks: time that stands still for less is ahead again before long */
};

struct step_place {
	size_t piece;
	uint64_t at;
};

/* A PSB of the host that has a TSC. 0: the end of the trace, behind the last piece. */
struct step_psb {
	struct step_place place;
	uint64_t tsc;
};

struct step {
	struct step_place place;
	uint64_t shift;
};

struct step_list {
	VEC(struct step) all;
};

/* In order: PSBs that have no equal or later TSC behind them. The last PSB is one. */
struct step_peaks {
	VEC(struct step_psb) all;
};

/* From one TSC to another, which have 56 bits. */
static int64_t ticks_between(uint64_t from, uint64_t to)
{
	return (int64_t)((to - from) << 8) >> 8;
}

/* Gives back the memory of bytes that were read, and of those around, which the kernel maps too. */
static void step_give_back(const uint8_t *bytes, uint64_t size, uint64_t from, uint64_t to)
{
	uintptr_t first = (uintptr_t)bytes + (from > AROUND ? from - AROUND : 0);
	uintptr_t last = (uintptr_t)bytes + (size - to > AROUND ? to + AROUND : size);

	first = (first + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	last &= ~(uintptr_t)(PAGE - 1);
	if (last > first)
		madvise((void *)first, last - first, MADV_DONTNEED); /* NOLINT: an address */
}

/* The first one at or behind a place. `is_any`: also one of a guest, or without a TSC, as 0. */
static struct step_psb step_find_psb(const struct queue *q, struct step_place from, bool is_any)
{
	for (; from.piece < q->pieces.n; from.piece++, from.at = 0) {
		uint64_t size;
		const uint8_t *bytes = queue_piece(q, from.piece, &size), *end = bytes + size, *at;

		if (!bytes || from.at >= size)
			continue;
		for (at = pt_find_psb(bytes + from.at, end); at < end;
		     at = pt_find_psb(at + PT_PSB_SIZE, end)) {
			uint64_t tsc = pt_time_psb_is_of_guest(at, end, false)
					       ? 0
					       : pt_time_of_psb(at, end);

			if (!tsc && !is_any)
				continue;
			if ((from.at ^ (uint64_t)(at - bytes)) >= COARSE || is_any)
				step_give_back(bytes, size, from.at & ~(uint64_t)(COARSE - 1),
					       (uint64_t)(at - bytes));
			return (struct step_psb){ { from.piece, (uint64_t)(at - bytes) }, tsc };
		}
		step_give_back(bytes, size, from.at & ~(uint64_t)(COARSE - 1), size);
	}
	return (struct step_psb){ { q->pieces.n, 0 }, 0 };
}

static struct step_psb step_first_psb(const struct queue *q)
{
	return step_find_psb(q, (struct step_place){ 0, 0 }, false);
}

static struct step_psb step_next_psb(const struct queue *q, const struct step_psb *psb)
{
	return step_find_psb(q,
			     (struct step_place){ psb->place.piece, psb->place.at + PT_PSB_SIZE },
			     false);
}

/* Stops at the first PSB behind each megabyte: a guest's trace may have none of the host. */
static bool may_have_steps(const struct queue *q)
{
	struct step_place from = { 0, 0 };
	uint64_t size = 0, last = 0;

	for (size_t i = 0; i < q->pieces.n; i++)
		size += q->pieces.data[i].size;
	if (size <= COARSE)
		return true;
	while (from.piece < q->pieces.n) {
		struct step_psb at = step_find_psb(q, from, true);

		if (at.tsc && last && ticks_between(last, at.tsc) < 0)
			return true;
		last = at.tsc ? at.tsc : last;
		from = (struct step_place){ at.place.piece, at.place.at + COARSE };
	}
	return false;
}

/* Whether the TSC at `at` leads so far ahead of the next one that it is damaged. */
static bool step_is_damaged(const struct step_psb *at, const struct step_psb *next)
{
	return next->tsc && ticks_between(at->tsc, next->tsc) < -STEP;
}

/* False: there are too many, as in no trace of a processor. */
static bool step_find_peaks(const struct queue *q, struct step_peaks *peaks)
{
	struct step_psb at = step_first_psb(q);

	for (; at.tsc; at = step_next_psb(q, &at)) {
		size_t n = peaks->all.n;

		while (n && ticks_between(peaks->all.data[n - 1].tsc, at.tsc) >= 0)
			n--;
		if (n == MAX_PEAKS)
			return false;
		peaks->all.n = n;
		vec_push(&peaks->all, at);
	}
	return true;
}

static bool step_is_before(struct step_place a, struct step_place b)
{
	return a.piece != b.piece ? a.piece < b.piece : a.at < b.at;
}

/* The latest TSC of a PSB and of all behind it. `n`: the peaks before. PSBs are asked in order. */
static uint64_t step_latest_from(const struct step_peaks *peaks, size_t *n,
				 const struct step_psb *psb)
{
	while (*n + 1 < peaks->all.n && step_is_before(peaks->all.data[*n].place, psb->place))
		++*n;
	return peaks->all.data[*n].tsc;
}

static void step_find_all(const struct queue *q, const struct step_peaks *peaks,
			  struct step_list *steps)
{
	uint64_t shift = 0, last = 0; /* last: a time, with the shift; 0: none yet */
	struct step_psb at = step_first_psb(q), next;
	size_t n_peaks = 0;

	for (; at.tsc && steps->all.n < MAX_STEPS; at = next) {
		int64_t ahead = ticks_between(last, at.tsc + shift);

		next = step_next_psb(q, &at);
		if (!last || ahead > STEP) {
			if (!step_is_damaged(&at, &next))
				last = at.tsc + shift;
		} else if (ahead >= -STEP) {
			last = ahead > 0 ? at.tsc + shift : last;
		} else if (next.tsc &&
			   ticks_between(last, step_latest_from(peaks, &n_peaks, &at) + shift) <
				   -STEP &&
			   !step_is_damaged(&at, &next)) {
			shift = last - at.tsc;
			vec_push(&steps->all, ((struct step){ at.place, shift }));
		}
	}
}

static void queue_cut_at(struct queue *q, const struct step_list *steps)
{
	VEC(struct piece) pieces = { 0 };
	uint64_t shift = 0;
	size_t n = 0;

	for (size_t i = 0; i < q->pieces.n; i++) {
		struct piece rest = q->pieces.data[i];
		uint64_t cut = 0;

		for (; n < steps->all.n && steps->all.data[n].place.piece == i; n++) {
			uint64_t size = steps->all.data[n].place.at - cut;
			struct piece before = rest;

			before.size = size;
			before.tsc_shift = shift;
			shift = steps->all.data[n].shift;
			if (!size)
				continue;
			vec_push(&pieces, before);
			rest.bytes += size;
			rest.size -= size;
			rest.offset += size;
			rest.is_apart = false;
			cut += size;
		}
		rest.tsc_shift = shift;
		vec_push(&pieces, rest);
	}
	free(q->pieces.data);
	q->pieces.data = pieces.data;
	q->pieces.n = pieces.n;
	q->pieces.cap = pieces.cap;
}

void pt_steps_find(struct queue *q)
{
	struct step_list steps = { 0 };
	struct step_peaks peaks = { 0 };

	assert(!q->flow && !q->first_part);
	if (q->trace->info.is_timeless || q->trace->info.is_snapshot || !may_have_steps(q))
		return;
	if (step_find_peaks(q, &peaks) && peaks.all.n)
		step_find_all(q, &peaks, &steps);
	vec_fini(&peaks.all);
	q->trace->n_steps += steps.all.n;
	if (steps.all.n)
		queue_cut_at(q, &steps);
	vec_fini(&steps.all);
}
