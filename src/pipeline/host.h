/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session says of the machine it was recorded on. */
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
 * Reads uname(2) and /proc/cpuinfo, and describes the counters, and behind them off-CPU time's
 * if it is wanted. `counters` must outlive it.
 */
void host_init(struct host *h, const struct counters *counters, bool with_off_cpu);
void host_fini(struct host *h);

/* The words of a command line, quoted for a shell where needed. The caller's to free(). */
char *quote_command(char *const argv[]);
