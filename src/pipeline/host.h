/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session's description of the machine that recorded it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "counter/counter.h"
#include "store/store.h"

struct host {
	char hostname[65], os_release[200], arch[65], cpu_model[128];
	struct counter_info *counters;
	uint32_t n_counters;
};

/*
 * Reads uname(2) and /proc/cpuinfo and describes the counters. The first `n_waits` events of waits
 * (pipeline/off_cpu.h) follow them, and with `alloc_mean_bytes`, those of allocations. `counters`
 * must outlive `h`.
 */
void host_init(struct host *h, const struct counters *counters, uint32_t n_waits,
	       uint64_t alloc_mean_bytes);
void host_fini(struct host *h);

/* The words of a command line, quoted for a shell where needed. The caller frees the text. */
char *quote_command(char *const argv[]);
