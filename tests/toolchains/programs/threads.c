/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that copy memory, by the C library's assembly. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

volatile int sink;
static double end;

__attribute__((noinline)) void copy(char *to, const char *from, int n)
{
	for (int i = 0; i < n; i++)
		memmove(to + i % 64, from + i % 32, 3000);
}

__attribute__((noinline)) void work(int n)
{
	char a[4096] = "", b[4096] = "";

	copy(a, b, n);
	sink += a[0];
}

static void *run(void *unused)
{
	while ((double)clock() / CLOCKS_PER_SEC < end)
		work(10000);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	end = (double)clock() / CLOCKS_PER_SEC + (argc > 1 ? atof(argv[1]) : 0.5);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
