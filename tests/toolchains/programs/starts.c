/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts threads that end at once: much of its time is in clone(2), on both sides. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define N_THREADS 8

static void *nothing(void *unused)
{
	return unused;
}

int main(int argc, char **argv)
{
	double end = (double)clock() / CLOCKS_PER_SEC + (argc > 1 ? atof(argv[1]) : 0.5);
	pthread_t threads[N_THREADS];

	while ((double)clock() / CLOCKS_PER_SEC < end) {
		for (int i = 0; i < N_THREADS; i++)
			pthread_create(&threads[i], NULL, nothing, NULL);
		for (int i = 0; i < N_THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}
