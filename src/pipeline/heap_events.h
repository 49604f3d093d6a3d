/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of `record --alloc`: allocated and still held at the end, each in bytes and blocks.
 * A sample of them is one sampled block. Its events are an estimate: all blocks that it stands for.
 */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* X(id, name, unit) */
#define HEAP_EVENTS(X)                            \
	X(ALLOC_BYTES, "alloc-bytes", "bytes")    \
	X(ALLOC_BLOCKS, "alloc-blocks", "blocks") \
	X(HELD_BYTES, "held-bytes", "bytes")      \
	X(HELD_BLOCKS, "held-blocks", "blocks")

enum heap_event {
#define X(id, name, unit) HEAP_EVENT_##id,
	HEAP_EVENTS(X)
#undef X
		N_HEAP_EVENTS
};

/* Describes the events. The texts are static. */
void heap_events_describe(struct counter_info out[N_HEAP_EVENTS], uint64_t mean_bytes);

/*
 * The bytes and blocks that a sampled block stands for: it was sampled with probability
 * 1 - exp(-bytes / mean). Sums of them have no bias.
 */
struct heap_estimate {
	double bytes, blocks;
};
struct heap_estimate heap_estimate(uint64_t bytes, uint64_t mean_bytes);
