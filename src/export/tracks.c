/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/tracks.h"

#include <stdlib.h>

#include "base/intmap.h"

/* The state of tracks_init(). */
struct sorter {
	const struct profile *p;
	struct tracks *t;
	struct intmap by_key; /* counter << 32 | thread: the track */
	uint32_t *track_of;   /* by group */
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

static uint32_t choose_track(void *context, const struct profile_sample *sample)
{
	const struct sorter *s = context;
	uint32_t track = s->track_of[sample->group];

	weight_add(&s->t->list.data[track].total, &sample->weight);
	return track;
}

int tracks_init(struct tracks *t, struct profile *p, struct error *err)
{
	struct sorter s = { .p = p, .t = t };
	int r;

	*t = (struct tracks){ 0 };
	s.track_of = xcalloc((size_t)p->n_groups + 1, sizeof(*s.track_of));
	find_tracks(&s);
	r = piles_init(&t->piles, (uint32_t)t->list.n, p, choose_track, &s, err);
	free(s.track_of);
	intmap_fini(&s.by_key);
	return r;
}

void tracks_fini(struct tracks *t)
{
	vec_fini(&t->list);
	piles_fini(&t->piles);
}
