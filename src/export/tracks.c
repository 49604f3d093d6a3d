/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/tracks.h"

#include <assert.h>
#include <stdlib.h>

#include "base/intmap.h"

/* The state of tracks_init(). */
struct sorter {
	const struct profile *p;
	struct tracks *t;
	struct intmap by_key; /* counter << 32 | thread: the track */
	uint32_t *track_of;   /* by group */
	uint32_t *filled;     /* by track: added entries */
};

static uint64_t group_key(const struct profile *p, uint32_t group)
{
	return (uint64_t)profile_class_value(p, PROFILE_EVENT, group) << 32 |
	       profile_class_value(p, PROFILE_THREAD, group);
}

static int by_event_and_thread(const void *a, const void *b, void *profile)
{
	const struct track *x = a, *y = b;
	const struct profile *p = profile;
	const struct profile_process *s = &p->threads.data[x->thread],
				     *t = &p->threads.data[y->thread];

	if (x->counter != y->counter)
		return x->counter < y->counter ? -1 : 1;
	if (s->pid != t->pid)
		return s->pid < t->pid ? -1 : 1;
	return (s->tid > t->tid) - (s->tid < t->tid);
}

static void find_tracks(struct sorter *s)
{
	for (uint32_t g = 0; g < s->p->n_groups; g++) {
		uint64_t key = group_key(s->p, g);
		bool is_new;

		intmap_put(&s->by_key, key, &is_new);
		if (is_new)
			vec_push(&s->t->list, (struct track){ .counter = (uint32_t)(key >> 32),
							      .thread = (uint32_t)key });
	}
	if (s->t->list.n)
		qsort_r(s->t->list.data, s->t->list.n, sizeof(struct track), by_event_and_thread,
			(void *)s->p);
	for (uint32_t i = 0; i < s->t->list.n; i++) {
		const struct track *track = &s->t->list.data[i];

		*intmap_put(&s->by_key, (uint64_t)track->counter << 32 | track->thread, NULL) = i;
	}
	for (uint32_t g = 0; g < s->p->n_groups; g++)
		s->track_of[g] = *intmap_find(&s->by_key, group_key(s->p, g));
}

static uint32_t tracks_track_of(const struct sorter *s, size_t entry)
{
	return s->track_of[s->p->entries.data[entry].group];
}

static void tracks_count_entries(struct sorter *s)
{
	uint32_t first = 0;

	for (size_t i = 0; i < s->p->entries.n; i++) {
		struct track *track = &s->t->list.data[tracks_track_of(s, i)];

		track->n++;
		weight_add(&track->total, profile_weights(s->p, i));
	}
	vec_foreach (&s->t->list, track) {
		track->first = first;
		first += track->n;
	}
	assert(first == s->p->entries.n);
}

static void tracks_put_slice(struct sorter *s, const struct profile_slice *slice)
{
	for (size_t i = slice->first; i < slice->first + slice->n; i++) {
		uint32_t track = tracks_track_of(s, i);

		assert(s->filled[track] < s->t->list.data[track].n);
		s->t->entries[s->t->list.data[track].first + s->filled[track]++] =
			(struct track_entry){ (uint32_t)i, slice->first_ns };
	}
}

static uint32_t *tracks_column(size_t n)
{
	return xcalloc(n + 1, sizeof(uint32_t));
}

void tracks_init(struct tracks *t, const struct profile *p)
{
	struct sorter s = { .p = p, .t = t, .track_of = tracks_column(p->n_groups) };

	*t = (struct tracks){ .entries = xcalloc(p->entries.n + 1, sizeof(*t->entries)) };
	find_tracks(&s);
	s.filled = tracks_column(t->list.n);
	tracks_count_entries(&s);
	vec_foreach (&p->slices, slice)
		tracks_put_slice(&s, slice);
	free(s.track_of);
	free(s.filled);
	intmap_fini(&s.by_key);
}

void tracks_fini(struct tracks *t)
{
	vec_fini(&t->list);
	free(t->entries);
}
