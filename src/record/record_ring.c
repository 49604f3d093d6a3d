/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/record_ring.h"

#include <assert.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PIECE_BYTES ((size_t)256 << 10)

/* Records one behind the other; a piece is dropped as a whole. */
struct ring_piece {
	struct ring_piece *next; /* the newer one */
	size_t used, size;
	uint64_t last_ns;
	uint8_t bytes[];
};

struct record_ring {
	struct ring_piece *oldest, *newest, *spare;
	size_t bytes, max_bytes;
	uint64_t keep_ns;
};

struct record_ring *record_ring_new(uint64_t keep_ns, size_t max_bytes)
{
	struct record_ring *r = xcalloc(1, sizeof(*r));

	r->keep_ns = keep_ns;
	r->max_bytes = max_bytes;
	return r;
}

static void drop_oldest(struct record_ring *r)
{
	struct ring_piece *p = r->oldest;

	r->oldest = p->next;
	if (!r->oldest)
		r->newest = NULL;
	r->bytes -= p->size;
	free(r->spare);
	r->spare = p;
}

void record_ring_free(struct record_ring *r)
{
	if (!r)
		return;
	while (r->oldest)
		drop_oldest(r);
	free(r->spare);
	free(r);
}

/* Reuses the last dropped piece, so that a steady ring allocates nothing. */
static struct ring_piece *new_piece(struct record_ring *r, size_t least)
{
	size_t size = MAX(PIECE_BYTES, least);
	struct ring_piece *p = r->spare && r->spare->size >= size ? take_ptr(r->spare) : NULL;

	if (p)
		size = p->size;
	else
		p = xmalloc(sizeof(*p) + size);
	*p = (struct ring_piece){ .size = size };
	if (r->newest)
		r->newest->next = p;
	else
		r->oldest = p;
	r->newest = p;
	r->bytes += p->size;
	return p;
}

void record_ring_push(struct record_ring *r, const void *record, size_t size, uint64_t time_ns)
{
	struct ring_piece *p = r->newest;

	/* record_ring_take() finds the next record by the size in the header. */
	assert(((const struct perf_event_header *)record)->size == size);
	if (!p || p->size - p->used < size) {
		p = new_piece(r, size);
		while (r->oldest != p &&
		       (r->bytes > r->max_bytes ||
			(time_ns > r->keep_ns && r->oldest->last_ns < time_ns - r->keep_ns)))
			drop_oldest(r);
	}
	memcpy(p->bytes + p->used, record, size);
	p->used += size;
	p->last_ns = MAX(p->last_ns, time_ns);
}

void record_ring_take(struct record_ring *r,
		      void (*visit)(void *context, const void *record, size_t size), void *context)
{
	while (r->oldest) {
		const struct ring_piece *p = r->oldest;

		for (size_t at = 0; at < p->used;) {
			const struct perf_event_header *h =
				(const struct perf_event_header *)(p->bytes + at);

			visit(context, h, h->size);
			at += h->size;
		}
		drop_oldest(r);
	}
}
