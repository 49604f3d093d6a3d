/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks, and the units of time. All times are nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_MS     UINT64_C(1000000)
#define NS_PER_US     UINT64_C(1000)

/* Both ends belong to it. */
struct time_span {
	uint64_t first_ns, last_ns;
};

uint64_t clock_monotonic_ns(void);  /* CLOCK_MONOTONIC, the clock of samples */
uint64_t clock_wall_ns(void);       /* CLOCK_REALTIME: since 1970 */
uint64_t clock_thread_cpu_ns(void); /* processor time of the calling thread */

static inline uint64_t timespec_ns(struct timespec t)
{
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static inline struct timespec timespec_of_ns(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_SECOND),
				  .tv_nsec = (long)(ns % NS_PER_SECOND) };
}
