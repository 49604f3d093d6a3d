/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata/deferred.h"

#include <string.h>

void deferred_fini(struct deferred *d)
{
	while (d->first) {
		struct held_sample *s = d->first;

		d->first = s->next;
		free(s);
	}
	intmap_fini(&d->by_tid);
	vec_fini(&d->threads);
	*d = (struct deferred){ 0 };
}

static struct held_thread *held_thread_of(struct deferred *d, int32_t tid)
{
	bool is_new;
	uint32_t *index = intmap_put(&d->by_tid, (uint32_t)tid, &is_new);

	if (is_new) {
		*index = (uint32_t)d->threads.n;
		vec_push(&d->threads, (struct held_thread){ 0 });
	}
	return &d->threads.data[*index];
}

void deferred_hold(struct deferred *d, int32_t tid, uint64_t cookie, const void *record,
		   size_t size)
{
	struct held_thread *thread = held_thread_of(d, tid);
	struct held_sample *s = xmalloc(sizeof(*s) + size);

	*s = (struct held_sample){
		.prev = d->last, .cookie = cookie, .tid = tid, .size = (uint32_t)size
	};
	memcpy(s->record, record, size);
	*(d->last ? &d->last->next : &d->first) = s;
	d->last = s;
	*(thread->newest ? &thread->newest->newer : &thread->oldest) = s;
	thread->newest = s;
	d->n_bytes += sizeof(*s) + size;
}

struct held_sample *deferred_take(struct deferred *d, int32_t tid)
{
	struct held_thread *thread = held_thread_of(d, tid);
	struct held_sample *s = thread->oldest;

	if (!s)
		return NULL;
	thread->oldest = s->newer;
	if (!s->newer)
		thread->newest = NULL;
	*(s->prev ? &s->prev->next : &d->first) = s->next;
	*(s->next ? &s->next->prev : &d->last) = s->prev;
	d->n_bytes -= sizeof(*s) + s->size;
	return s;
}

struct held_sample *deferred_give_up(struct deferred *d, bool is_end)
{
	return d->first && (is_end || d->n_bytes > DEFERRED_MAX_BYTES)
		       ? deferred_take(d, d->first->tid)
		       : NULL;
}
