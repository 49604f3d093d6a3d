/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates and frees blocks of 64 to 191 bytes, PAIRS times. Prints the CPU time of a pair, in ns.
 *
 * Usage: malloc_pairs PAIRS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *volatile sink;

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? atol(argv[1]) : 1;
	double start = cpu_ns();

	for (long i = 0; i < pairs; i++) {
		sink = malloc(64 + (size_t)(i & 127));
		free(sink);
	}
	printf("%.2f\n", (cpu_ns() - start) / (double)pairs);
	return 0;
}
