/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening the events of threads anew, before they count. */
#include <assert.h>

#include "collect/rings_state.h"

/* The events that carry the rings stay, and never count. */
static void close_threads(struct rings *r)
{
	size_t n = 0;

	vec_foreach (&r->fds, f) {
		const struct ring *ring = &r->rings[f->ring];

		if (ring->page && ring->fd == f->fd) {
			f->has_ended = true;
			r->fds.data[n++] = *f;
		} else {
			r->backend.close(r->backend.context, f->fd);
		}
	}
	r->fds.n = n;
	for (size_t i = 0; i <= r->counters->n; i++)
		r->events[i].ids.n = 0;
}

int rings_open_again(struct rings *r, const int32_t *tids, size_t n_tids, struct error *err)
{
	int e = 0;

	assert(n_tids && !r->opening.config.by_thread);
	close_threads(r);
	r->opening.config.tids = tids;
	r->opening.config.n_tids = n_tids;
	for (size_t i = 0; i < r->n_rings && !e; i++) {
		size_t first = r->fds.n;

		e = rings_open_ring(r, &r->rings[i], err);
		if (r->fds.n > first)
			r->polls[i].fd = r->fds.data[first].fd;
	}
	return e;
}
