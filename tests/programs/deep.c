/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All time is spent 60 calls below main(), in bottom(). */
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
	uint64_t x = 1;

	while (until_next(&until))
		x = level(DEPTH, x);
	printf("%llx\n", (unsigned long long)x);
	return 0;
}
