/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions inlined two deep, in two places and in a cold part, for tests of lines and inline
 * frames. `inlines SECONDS` spends its time in mix(), inlined into stir(), inlined into work(). One
 * line of mix() has almost all instructions, and each depends on the one before. So that line is
 * hot, wherever in it (or behind it) a CPU places its samples.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define ALWAYS static inline __attribute__((always_inline))

#define STEP   x = (x ^ 1442695040888963407u) * 6364136223846793005u
#define STEPS4 STEP, STEP, STEP, STEP

ALWAYS uint64_t mix(uint64_t x)
{
	for (int i = 0; i < 125; i++)
		STEPS4, STEPS4, STEPS4, STEPS4; /* the line that is hot */
	return x;
}

ALWAYS uint64_t stir(uint64_t x)
{
	if (x & 1)
		return mix(x) ^ mix(x + 2);
	return mix(x);
}

__attribute__((noinline)) static uint64_t work(uint64_t x)
{
	return stir(x) + 1;
}

__attribute__((cold, noinline)) static uint64_t rare(uint64_t x)
{
	return stir(x) - 1;
}

int main(int argc, char **argv)
{
	clock_t end = clock() + (clock_t)((argc > 1 ? atof(argv[1]) : 0.1) * CLOCKS_PER_SEC);
	uint64_t x = (uint64_t)argc;

	while (clock() < end)
		for (int i = 0; i < 100; i++)
			x = work(x);
	return x == 0 ? (int)rare(x) : 0;
}
