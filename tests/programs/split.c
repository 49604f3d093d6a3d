/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Four functions that take 40, 30, 20 and 10 percent of the time. A round is
 * ten units of work in an order shuffled anew each time, so that no sampling
 * period can fall into step with it.
 */
#include "work.h"

#define PART(name)                              \
	NOINLINE uint64_t name(uint64_t x);     \
	NOINLINE uint64_t name(uint64_t x)      \
	{                                       \
		return work_unit(x) ^ __LINE__; \
	}
PART(forty)
PART(thirty)
PART(twenty)
PART(ten)

typedef uint64_t part(uint64_t x);

int main(int argc, char **argv)
{
	part *order[10] = {
		forty, forty, forty, forty, thirty, thirty, thirty, twenty, twenty, ten
	};
	struct until until = until_argument(argc, argv);
	uint64_t random = 1, x = 1;

	while (until_next(&until)) {
		for (unsigned int i = 9; i > 0; i--) {
			unsigned int j;
			part *swap = order[i];

			random = random * 6364136223846793005u + 1442695040888963407u;
			j = (unsigned int)(random >> 33) % (i + 1);
			order[i] = order[j];
			order[j] = swap;
		}
		for (int i = 0; i < 10; i++)
			x = order[i](x);
	}
	printf("%llu rounds, %llx\n", (unsigned long long)until.done - 1, (unsigned long long)x);
	return 0;
}
