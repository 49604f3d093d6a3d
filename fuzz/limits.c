/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limits of every fuzz target. No input may cost more than this:
 *
 *   memory   1 MiB, and 64 bytes for each byte of the input (the most that malloc(3) has given out
 *            at once)
 *   time     0.4 s, and 10 us for each byte of the input (processor time)
 *
 * A target that needs more states it, with the reason (limits.h). An input that exceeds a limit
 * runs again, as the first run may fill tables that stay, and a busy machine may disturb a run.
 * Only the cheapest of RUNS runs counts.
 *
 * A fuzzer finds long inputs late. So one input in STRETCH_EVERY also runs stretched: a part of it
 * is repeated until it has STRETCHED_SIZE bytes. A hash of the input chooses the part, so the
 * input alone repeats the failure.
 *
 * These are the limits with FUZZ_LIMITS=1, as in `make check-long`. A run of a few seconds finds
 * different inputs on each machine, so without it an input may have twice the memory and eight
 * times the time: what passes the long run cannot fail a short one by chance. FUZZ_LIMITS=0 looks
 * at no costs. The limits of time grow with the slowness of the machine, which a loop measures.
 *
 * FUZZ_COSTS=1 prints the cost of each input.
 */
#undef LLVMFuzzerTestOneInput
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sanitizer/allocator_interface.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "limits.h"

#pragma weak fuzz_limits
#define RUNS           3
#define STRETCH_EVERY  16
#define STRETCHED_SIZE 65536
/* With sanitizers and without optimization, code is about 30 times slower than as shipped. */
static const struct fuzz_limits usual = {
	.floor_kib = 1024,
	.bytes_a_byte = 64,
	.floor_ms = 400,
	.ns_a_byte = 10000,
};

#define LIMIT(field) (&fuzz_limits && fuzz_limits.field ? fuzz_limits.field : usual.field)

int fuzz_one_input(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t live, peak;

static void on_malloc(const volatile void *ptr, size_t size)
{
	int64_t now = __atomic_add_fetch(&live, (int64_t)size, __ATOMIC_RELAXED);

	(void)ptr;
	/* A peak that two threads reach at once may be a little too small. */
	if (now > __atomic_load_n(&peak, __ATOMIC_RELAXED))
		__atomic_store_n(&peak, now, __ATOMIC_RELAXED);
}

static void on_free(const volatile void *ptr)
{
	if (ptr)
		__atomic_sub_fetch(&live,
				   (int64_t)__sanitizer_get_allocated_size((const void *)ptr),
				   __ATOMIC_RELAXED);
}

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

struct cost {
	int64_t bytes, ns;
};

/* That the loop below takes on a processor of 2024. */
#define LOOP_NS 12000000

/* 1, or more where the processor is slower. */
static int64_t slowness(void)
{
	static int64_t times;
	int64_t start = cpu_ns();

	if (times)
		return times;
	for (volatile uint64_t i = 0; i < 4000000; i++)
		;
	times = 1 + (cpu_ns() - start) / LOOP_NS / 2;
	return times;
}

static bool is_strict(void)
{
	const char *limits = getenv("FUZZ_LIMITS");

	return limits && !strcmp(limits, "1");
}

/* The most that an input of this size may cost. */
static struct cost most_of(size_t size)
{
	int64_t n = (int64_t)size, memory_times = is_strict() ? 1 : 2;
	int64_t time_times = (is_strict() ? 1 : 8) * slowness();

	return (struct cost){
		(LIMIT(floor_kib) * 1024 + n * LIMIT(bytes_a_byte)) * memory_times,
		(LIMIT(floor_ms) * 1000000 + n * LIMIT(ns_a_byte)) * time_times,
	};
}

static struct cost cost_of(const uint8_t *data, size_t size)
{
	int64_t before = live, start = cpu_ns();

	peak = live;
	fuzz_one_input(data, size);
	return (struct cost){ peak - before, cpu_ns() - start };
}

static bool is_within(const struct cost *cost, size_t size)
{
	struct cost most = most_of(size);

	return cost->bytes <= most.bytes && cost->ns <= most.ns;
}

static void run(const uint8_t *data, size_t size)
{
	struct cost least = cost_of(data, size);

	for (int i = 1; i < RUNS && !is_within(&least, size); i++) {
		struct cost cost = cost_of(data, size);

		least.bytes = cost.bytes < least.bytes ? cost.bytes : least.bytes;
		least.ns = cost.ns < least.ns ? cost.ns : least.ns;
	}
	if (is_within(&least, size) && !getenv("FUZZ_COSTS"))
		return;
	fprintf(stderr, "cost: %zu bytes of input: %lld bytes of memory, %lld us\n", size,
		(long long)least.bytes, (long long)least.ns / 1000);
	if (is_within(&least, size))
		return;
	fprintf(stderr, "the limits are %lld bytes and %lld us\n", (long long)most_of(size).bytes,
		(long long)most_of(size).ns / 1000);
	abort();
}

static void run_stretched(const uint8_t *data, size_t size, uint64_t hash)
{
	size_t from = hash % size, n = 1 + (hash >> 16) % (size - from), rest = size - from - n;
	uint8_t *bytes = malloc(STRETCHED_SIZE);
	size_t at = from;

	memcpy(bytes, data, from);
	for (; at + n + rest <= STRETCHED_SIZE; at += n)
		memcpy(bytes + at, data + from, n);
	memcpy(bytes + at, data + from + n, rest);
	run(bytes, at + rest);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t hash = XXH3_64bits(data, size);
	static bool is_hooked;

	const char *limits = getenv("FUZZ_LIMITS");

	if (limits && !strcmp(limits, "0") && !getenv("FUZZ_COSTS"))
		return fuzz_one_input(data, size);
	if (!is_hooked)
		__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
	is_hooked = true;
	run(data, size);
	if (size && size < STRETCHED_SIZE / 2 && hash % STRETCH_EVERY == 0)
		run_stretched(data, size, hash / STRETCH_EVERY);
	return 0;
}
