/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that read the AUX areas of a full trace.
 *
 *   area of CPU n  ──► a thread that stays on CPU n ─┬─► sink
 *   areas of threads ──► one thread                 ─┘
 *
 * An area of 4 MiB is full after 8 ms at 500 MB/s. If permitted, the thread of a CPU has real-time
 * priority. Then no traced code of that CPU runs before it. Only the kernel's own work, or a
 * hypervisor that takes the CPU away, delays it, and these stop the tracing, too. A thread on
 * another CPU would lose the trace of such a delay.
 *
 * These threads poll the rings, too, and wake the reader of the rings.
 */
#pragma once

#include "collect/aux.h"

struct aux_readers;

struct aux_readers_config {
	struct aux *aux;      /* AUX_FULL; stays the caller's, and open for longer */
	struct aux_sink sink; /* called by several threads at once, each for its own areas */
	int wake_fd;          /* an eventfd: a ring needs a reader, or its target has ended */
};

/*
 * Starts the threads. -EAGAIN: there can't be so many. Then aux_drain() reads, as it also reads the
 * rest after the stop.
 */
int aux_readers_start(const struct aux_readers_config *config, struct aux_readers **out);

/* Ends all threads, and frees. 0, or the sink's first error. NULL is fine. */
int aux_readers_stop(struct aux_readers *r);
