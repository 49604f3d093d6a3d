/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two functions that take turns of 5 ms. Prints a line "NS NAME" at the end of each turn, with the
 * time of CLOCK_MONOTONIC. `work.h` has the argument: how much work there is.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "work.h"

#define TURN_NS 5000000

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#define TURN(name)                                       \
	NOINLINE uint64_t name(uint64_t x, uint64_t to); \
	NOINLINE uint64_t name(uint64_t x, uint64_t to)  \
	{                                                \
		while (now_ns() < to)                    \
			x = x * 3 + __LINE__ % 7;        \
		return x;                                \
	}
TURN(tick)
TURN(tock)

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	uint64_t x = 1, to = now_ns();

	for (int i = 0; i < n; i++) {
		to = now_ns() + TURN_NS;
		x = i % 2 ? tock(x, to) : tick(x, to);
		printf("%" PRIu64 " %s\n", now_ns(), i % 2 ? "tock" : "tick");
	}
	return x == 0;
}
