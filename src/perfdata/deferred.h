/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deferred call chains (`perf record --call-graph fp,defer`, Linux 6.19): a sample has the kernel's
 * part of its chain and a cookie. The user's part comes in a record of its own, when the thread
 * returns to user mode; all samples with the cookie have it. Until then, samples wait here. Inside
 * perfdata/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intmap.h"
#include "base/mem.h"

/* Samples of threads that never return would fill the memory. */
#define DEFERRED_MAX_BYTES (16u << 20)

struct held_sample {
	struct held_sample *newer;       /* of the thread */
	struct held_sample *prev, *next; /* of all, in the order of their arrival */
	uint64_t cookie;
	int32_t tid;
	uint32_t size;
	uint8_t record[]; /* in our byte order */
};

struct held_thread {
	struct held_sample *oldest, *newest;
};

struct deferred {
	struct held_sample *first, *last;
	struct intmap by_tid; /* index in threads */
	VEC(struct held_thread) threads;
	size_t n_bytes;
};

void deferred_fini(struct deferred *d);

/* Copies a sample's record. */
void deferred_hold(struct deferred *d, int32_t tid, uint64_t cookie, const void *record,
		   size_t size);

/* The oldest sample of a thread, which is the caller's to free; NULL: none. */
struct held_sample *deferred_take(struct deferred *d, int32_t tid);

/*
 * The oldest of all, whose user part does not come: if more wait than may, or at the end. NULL:
 * none. The caller frees it.
 */
struct held_sample *deferred_give_up(struct deferred *d, bool is_end);
