/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two functions that take 75 and 25 percent of the instructions, always in the same order. */
#include "work.h"

NOINLINE uint64_t three_quarters(uint64_t x);
NOINLINE uint64_t one_quarter(uint64_t x);

#define PART(name, units)                                                    \
	uint64_t name(uint64_t x)                                            \
	{                                                                    \
		for (int i = 0; i < 50000 * (units); i++)                    \
			x = x * 6364136223846793005u + 1442695040888963407u; \
		return x;                                                    \
	}
PART(three_quarters, 3)
PART(one_quarter, 1)

int main(int argc, char **argv)
{
	struct until until = until_argument(argc, argv);
	uint64_t x = 1;

	while (until_next(&until))
		x = one_quarter(three_quarters(x));
	printf("%llx\n", (unsigned long long)x);
	return 0;
}
