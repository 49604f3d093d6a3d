/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting without sampling: counters that are only read.
 *
 * If there are more events than hardware counters, the kernel lets them take turns
 * (perf_event_open(2), PERF_FORMAT_TOTAL_TIME_RUNNING). A count is then scaled up for the time
 * without the counter. Each counter has its wanted time and its running time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/rings.h"
#include "counter/counter.h"

struct error;
struct counts;

struct counts_config {
	const struct counters *counters;
	const struct counter_sources *sources;
	/* Threads to count; none: all code on the CPUs. Must outlive the counts. */
	const int32_t *tids;
	size_t n_tids;
	const struct cpu_list *cpus;
	bool inherit;        /* and threads that these start */
	bool enable_on_exec; /* counting begins when the thread calls execve(2) */
	bool is_separate;    /* a lane for each thread, or CPU; else one for all */
	bool skips_missing;  /* events that can't be opened are left out; if none can, it is a
				failure */
};

struct count {
	uint64_t value; /* scaled */
	uint64_t wanted_ns, ran_ns;
};

int counts_open(const struct counts_config *config, struct counts **out, struct error *err);
void counts_close(struct counts *c); /* NULL is fine */
DEFINE_AT_EXIT(counts_close, struct counts)

/* Whether the counter is open. False only with skips_missing. */
bool counts_has(const struct counts *c, size_t counter);

size_t counts_n_lanes(const struct counts *c);
/* The thread or CPU of a lane; -1 if all are one. */
int32_t counts_lane(const struct counts *c, size_t lane);

int counts_enable(struct counts *c, struct error *err);
void counts_disable(struct counts *c);

/*
 * A CPU came online: its counters ended when it went, and stay in the sums. They are opened and
 * enabled anew, and former ones are disabled: they may still count (cpu_watch.h). If the kernel
 * refuses the new ones, the former ones go on. 0; -ENOENT: not one of the CPUs of counts_open();
 * else the refusal.
 */
int counts_cpu_online(struct counts *c, uint32_t cpu, struct error *err);

/* Sums since the beginning: out[lane * counters + counter]. 0 or a negative errno. */
int counts_read(struct counts *c, struct count *out);
