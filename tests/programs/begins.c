/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * begins N: begins a thread every tenth of a second, N in all. Each works a little, over and over.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "work.h"

static void *work(void *unused)
{
	uint64_t x = 1;

	for (;;) {
		x = work_unit(x);
		usleep(1000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread;

	while (n-- && !pthread_create(&thread, NULL, work, NULL))
		usleep(100000);
	pause();
	return 0;
}
