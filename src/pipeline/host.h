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
 * Reads uname(2) and /proc/cpuinfo and describes the counters. With `with_off_cpu`, the counters of
 * off-CPU time follow them, and with `alloc_mean_bytes`, those of allocations. `counters` must
 * outlive `h`.
 */
void host_init(struct host *h, const struct counters *counters, bool with_off_cpu,
	       uint64_t alloc_mean_bytes);
void host_fini(struct host *h);

/* The words of a command line, quoted for a shell where needed. The caller frees the text. */
char *quote_command(char *const argv[]);
