/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All time is spent 60 calls below main(), in bottom(). A second argument is the
 * number of calls instead; with thousands of them level() takes its part.
 */
#include "work.h"

#define DEPTH 58

static NOINLINE uint64_t bottom(uint64_t x)
{
	return work_unit(x);
}

static NOINLINE uint64_t level(int depth, uint64_t x)
{
	x = depth > 0 ? level(depth - 1, x) : bottom(x);
	__asm__ volatile("" : "+r"(x)); /* keeps the call from becoming a jump */
	return x + 1;
}

int main(int argc, char **argv)
{
	struct until until = until_argument(argc, argv);
	int depth = argc > 2 ? atoi(argv[2]) - 2 : DEPTH;
	uint64_t x = 1;

	while (until_next(&until))
		x = level(depth, x);
	printf("%llx\n", (unsigned long long)x);
	return 0;
}
