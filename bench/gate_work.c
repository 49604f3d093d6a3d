/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The work of bench/gate: gate_work ROUNDS EXTRA. Two functions take the same time. With EXTRA, one
 * of them does so many percent more. Both are chains of multiplications that each wait for the one
 * before, so their time is proportional to their steps.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS 20000 /* of a call: some 20 µs */

__attribute__((noinline)) uint64_t changed(uint64_t x, uint64_t steps);
__attribute__((noinline)) uint64_t steady(uint64_t x, uint64_t steps);

uint64_t changed(uint64_t x, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

uint64_t steady(uint64_t x, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++)
		x = x * 3202034522624059733u + 1442695040888963407u;
	return x;
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t steps = STEPS * (100 + (argc > 2 ? strtoull(argv[2], NULL, 10) : 0)) / 100;
	uint64_t x = 1;

	for (uint64_t i = 0; i < rounds; i++)
		x = steady(changed(x, steps), STEPS);
	return printf("%llx\n", (unsigned long long)x) < 0;
}
