/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two named threads, "busy" and "lazy", that work in turn. In a round, the first does three units
 * of work, and the other one. A turn has 16 to 79 rounds: a timer that starts anew with each
 * turn would miss short ones, and turns of equal lengths could be in step with it.
 */
#include <pthread.h>

#include "work.h"

struct turn {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	int whose;                   /* 0 busy, 1 lazy, 2 all done */
	unsigned int rounds, random; /* of a turn of each */
	struct until until;
};

static NOINLINE uint64_t busy_work(uint64_t x)
{
	return work_unit(work_unit(work_unit(x)));
}

static NOINLINE uint64_t lazy_work(uint64_t x)
{
	return work_unit(x);
}

struct worker {
	struct turn *turn;
	int me;
	const char *name;
	uint64_t (*work)(uint64_t);
	uint64_t x;
};

static void next_rounds(struct turn *t)
{
	t->random = t->random * 1664525 + 1013904223;
	t->rounds = 16 + (t->random >> 16) % 64;
}

static void *run(void *arg)
{
	struct worker *w = arg;
	struct turn *t = w->turn;

	pthread_setname_np(pthread_self(), w->name);
	pthread_mutex_lock(&t->lock);
	while (t->whose != 2) {
		if (t->whose != w->me) {
			pthread_cond_wait(&t->moved, &t->lock);
			continue;
		}
		if (!w->me)
			next_rounds(t);
		t->whose = !w->me;
		for (unsigned int i = 0; i < t->rounds && t->whose != 2; i++) {
			w->x = w->work(w->x);
			if (!until_next(&t->until))
				t->whose = 2;
		}
		pthread_cond_broadcast(&t->moved);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

int main(int argc, char **argv)
{
	struct turn turn = { .lock = PTHREAD_MUTEX_INITIALIZER,
			     .moved = PTHREAD_COND_INITIALIZER,
			     .whose = 0,
			     .until = until_argument(argc, argv) };
	struct worker workers[2] = { { &turn, 0, "busy", busy_work, 1 },
				     { &turn, 1, "lazy", lazy_work, 2 } };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, &workers[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%llx\n", (unsigned long long)(workers[0].x ^ workers[1].x));
	return 0;
}
