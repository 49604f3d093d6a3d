/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions inlined two deep, calls through the C library, and calls in a loop. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sum;

static inline __attribute__((always_inline)) void innermost(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sum += i * 3 + (sum >> 7);
}

static inline __attribute__((always_inline)) void middle(unsigned long n)
{
	sum ^= 5;
	innermost(n);
	if (sum & 1)
		innermost(n / 2);
}

__attribute__((noinline)) static void outer(unsigned long n)
{
	char local[64];

	snprintf(local, sizeof(local), "%lu", n);
	middle(n);
	sum += (unsigned long)local[0];
}

static int compare(const void *a, const void *b)
{
	outer(100);
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

__attribute__((noinline)) static unsigned long recurse(int depth)
{
	if (!depth) {
		outer(20000);
		return sum;
	}
	return recurse(depth - 1) + 1;
}

int main(int argc, char **argv)
{
	double end = (double)clock() / CLOCKS_PER_SEC + (argc > 1 ? atof(argv[1]) : 0.5);
	int numbers[100];

	while ((double)clock() / CLOCKS_PER_SEC < end) {
		for (int i = 0; i < 100; i++)
			numbers[i] = i * 7919 % 101;
		qsort(numbers, 100, sizeof(*numbers), compare);
		sum += recurse(10);
	}
	printf("%lu\n", sum);
	return 0;
}
