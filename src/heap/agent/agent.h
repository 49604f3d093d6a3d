/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libassay-heap.so, which `assay record --alloc` preloads: it samples allocations by their bytes.
 *
 * Each thread counts down an exponentially distributed number of bytes. The allocation that
 * reaches 0 is sampled, so a block of n bytes is sampled with probability 1 - exp(-n / mean). All
 * that happens at other allocations is a subtraction, and at other releases one load.
 *
 * It runs inside any program, at any place of it. So it allocates nothing, takes no lock that a
 * program can hold, keeps errno, and links nothing but the C library. It makes system calls by
 * their numbers where the C library's functions would be points at which threads are cancelled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIDDEN   __attribute__((visibility("hidden")))
#define EXPORTED __attribute__((visibility("default")))

/* Of the running thread. `left` is below 0 when an allocation is to be looked at. */
struct agent_thread {
	int64_t left;
	uint64_t seed;      /* of its random numbers; 0: not begun */
	uint32_t is_within; /* how often: a signal's handler, say, must not come in again */
	int32_t tid;        /* of gettid(2); 0: not asked for yet */
};
extern HIDDEN __thread struct agent_thread agent_thread __attribute__((tls_model("initial-exec")));

/* By the hash of an address: the number of sampled blocks there. */
#define AGENT_FILTER_BITS 14
extern HIDDEN uint8_t agent_filter[1 << AGENT_FILTER_BITS];

static inline size_t agent_filter_at(const void *block)
{
	return ((uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - AGENT_FILTER_BITS);
}

enum agent_origin { AGENT_BLOCK, AGENT_MAPPING };

/* The counter of the thread is below 0: samples the allocation, or begins to count. */
HIDDEN void agent_look(const void *block, uint64_t bytes, enum agent_origin origin);

static inline void agent_allocated(const void *block, uint64_t bytes)
{
	if (block && __builtin_expect((agent_thread.left -= (int64_t)bytes) < 0, 0))
		agent_look(block, bytes, AGENT_BLOCK);
}

/* Forgets a block that may have been sampled, before it is freed. Returns its id, or 0. */
HIDDEN uint64_t agent_take(const void *block);
/* It is not freed after all. */
HIDDEN void agent_put_back(const void *block, uint64_t id);
/* It is freed. */
HIDDEN void agent_released(uint64_t id);

static inline bool agent_may_be_sampled(const void *block)
{
	return __builtin_expect(agent_filter[agent_filter_at(block)], 0);
}

/*
 * A range may be no mapping any more after a call: the moment before it. Another thread may have a
 * new mapping there as soon as the old one is gone.
 */
struct agent_moment {
	uint64_t last_id;  /* of the samples so far */
	uint64_t n_mapped; /* sampled mappings so far; 0: none can end */
};
HIDDEN struct agent_moment agent_before_unmapping(void);
/* The range is none any more: parts of sampled mappings of before end. */
HIDDEN void agent_unmapped(const void *start, size_t bytes, const struct agent_moment *before);

/* Whether an address is in the object that has the next malloc (calls.c). */
HIDDEN bool agent_is_in_allocator(const void *address);
