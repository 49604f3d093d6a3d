/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that contend for a lock of the kernel: each maps and unmaps memory, for which the process
 * has one lock.
 *
 * Usage: contend THREADS ROUNDS
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

static long rounds;

static void *contend(void *unused)
{
	for (long i = 0; i < rounds; i++) {
		char *at = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (at == MAP_FAILED)
			exit(1);
		munmap(at, 1 << 16);
	}
	return unused;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	pthread_t threads[64];

	if (n < 1 || n > 64)
		return 2;
	rounds = strtol(argv[2], NULL, 10);
	for (long i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, contend, NULL))
			return 1;
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
