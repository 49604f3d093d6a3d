/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that read the AUX areas of a full trace.
 *
 *   area of CPU n  ──► a thread that stays on CPU n ─┬─► sink
 *   areas of threads ──► one thread                 ─┘
 *
 * An area of 4 MiB is full after 8 ms at 500 MB/s. The thread of a CPU is a real-time one where
 * that is permitted: then nothing that the CPU traces runs before it, whatever else there is to do,
 * and what keeps it waiting (the kernel's own work, a hypervisor that took the CPU away) keeps the
 * CPU from tracing. A thread on another CPU would lose there what is traced meanwhile.
 *
 * They poll the rings, too, and wake the one who reads these.
 */
#pragma once

#include "collect/aux.h"

struct aux_readers;

struct aux_readers_config {
	struct aux *aux;      /* AUX_FULL; stays the caller's, and open for longer */
	struct aux_sink sink; /* is called by several threads at once, each for areas of its own */
	int wake_fd;          /* an eventfd: a ring is to be read, or its target has ended */
};

/*
 * Begins to read. -EAGAIN: there can't be so many threads; then aux_drain() does, as it does for
 * what is left after the stop.
 */
int aux_readers_start(const struct aux_readers_config *config, struct aux_readers **out);

/* Ends them all, and frees. 0, or what the sink refused with first. NULL is fine. */
int aux_readers_stop(struct aux_readers *r);
