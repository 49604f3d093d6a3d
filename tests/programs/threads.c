/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two named threads, "busy" and "lazy", that do three units of work and one in turn. */
#include <pthread.h>

#include "work.h"

struct turn {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	int whose; /* 0 busy, 1 lazy, 2 all done */
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
		w->x = w->work(w->x);
		t->whose = until_next(&t->until) ? !w->me : 2;
		pthread_cond_broadcast(&t->moved);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

int main(int argc, char **argv)
{
	struct turn turn = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0,
			     until_argument(argc, argv) };
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
