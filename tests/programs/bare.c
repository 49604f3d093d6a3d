/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program to be compiled without unwind tables. Its busiest function is a leaf without a frame,
 * and a C library without tables calls it.
 *
 *	musl-gcc -static -O2 -o bare bare.c
 *	./bare SECONDS
 */
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static long leaf(long n)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n));
	return n;
}

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	return (int)leaf(2000) + *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static int outer(unsigned int seed)
{
	volatile int kept[100];
	int values[500];

	for (int i = 0; i < 500; i++)
		values[i] = (int)(seed = seed * 1103515245 + 12345) >> 8;
	qsort(values, 500, sizeof(*values), compare);
	kept[seed % 100] = values[0];
	return kept[seed % 100];
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	unsigned int sum = 1;

	while ((double)clock() / CLOCKS_PER_SEC < seconds)
		sum += (unsigned int)outer(sum);
	return sum == 42;
}
