/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared code of the programs with known answers: a unit of work that takes the same time wherever
 * it is inlined, and the running time.
 *
 * Each program takes one argument, in one of these forms:
 *
 *   2s, 0.5s  seconds
 *   2cpu      seconds of CPU time of all its threads: the same number of samples on a busy machine
 *   1000      rounds
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline, aligned(64)))
#else
#define NOINLINE __attribute__((noinline, noclone, aligned(64)))
#endif

/*
 * About 0.1 ms of multiplications that each wait for the one before: bound by
 * latency, so that neither alignment nor the front end of the CPU matters.
 */
static inline __attribute__((always_inline)) uint64_t work_unit(uint64_t x)
{
	for (int i = 0; i < 50000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

/*
 * Half of `mean` to one and a half of it, for rounds of several functions. If all rounds were
 * equally long, the sampling clock could meet each at the same place: the samples would have other
 * shares.
 */
static inline unsigned long some_length(unsigned long mean)
{
	static uint64_t random = 1;

	random = random * 6364136223846793005u + 1442695040888963407u;
	return mean / 2 + (unsigned long)(random >> 33) % mean;
}

struct until {
	double seconds; /* 0: rounds count */
	clockid_t clock;
	uint64_t rounds, done;
	struct timespec start;
};

static inline struct until until_argument(int argc, char **argv)
{
	struct until u = {};
	const char *text = argc > 1 ? argv[1] : "1s";
	char *end;
	double v = strtod(text, &end);

	if (end == text || v <= 0 || (*end && strcmp(end, "s") != 0 && strcmp(end, "cpu") != 0)) {
		fprintf(stderr, "Usage: %s SECONDSs|SECONDScpu|ROUNDS\n", argv[0]);
		exit(2);
	}
	if (*end)
		u.seconds = v;
	else
		u.rounds = (uint64_t)v;
	u.clock = *end == 'c' ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
	clock_gettime(u.clock, &u.start);
	return u;
}

/* Counts a round; false when it is time to stop. */
static inline bool until_next(struct until *u)
{
	struct timespec now;

	u->done++;
	if (u->rounds)
		return u->done <= u->rounds;
	clock_gettime(u->clock, &now);
	return (double)(now.tv_sec - u->start.tv_sec) +
		       (double)(now.tv_nsec - u->start.tv_nsec) / 1e9 <
	       u->seconds;
}
