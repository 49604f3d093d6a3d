/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes: the CPU time of each process, by context (profile/context.h). The process report and
 *the live view show one row for each.
 *
 *	profile by (process, context) --processes_make()--> rows, heaviest first
 *
 * The contexts of all rows add up to `total`, which has all samples of the lane. The idle task (pid
 * 0) is a row, too. It has the idle time, and the interrupts that came while idle.
 *
 *	struct profile_request request = { .session = s, .symbols = symbols, .query = &q };
 *
 *	processes_request(&request);
 *	p = profile_load(&request);
 *	processes_make(&list, p, processes_first_lane(p));
 */
#pragma once

#include "profile/context.h"
#include "profile/profile.h"

struct process_row {
	uint32_t process; /* of the profile's `processes` */
	bool is_idle_task;
	struct weight by[N_CONTEXTS];
	struct weight all;     /* the sum of them */
	struct weight unknown; /* of `all`: at addresses that no image has */
};

/* How weights become seconds of CPU time. */
enum time_basis {
	TIME_PERIOD, /* a clock: its period is in nanoseconds */
	TIME_RATE,   /* a counter at a frequency: a sample stands for 1 / freq_hz s where it runs */
	TIME_NONE,   /* a sample every so many events: they are no time */
};

struct processes {
	const struct profile *profile;
	uint32_t lane;
	enum time_basis basis;
	double freq_hz; /* TIME_RATE */
	VEC(struct process_row) rows;
	struct process_row total; /* `process` is NO_INDEX */
};

/* Adds the needed things to the caller's request: the keys, functions, and idle samples. */
void processes_request(struct profile_request *request);

/* The first lane with samples of code that ran (not of off-CPU time); 0 if there is none. */
uint32_t processes_first_lane(const struct profile *p);

/* The profile has the keys process and context; it outlives the list. */
void processes_make(struct processes *out, const struct profile *p, uint32_t lane);
void processes_fini(struct processes *list);

/* Seconds that a weight stands for; 0 with TIME_NONE. */
double processes_seconds(const struct processes *list, const struct weight *w);

/*
 * Its most sampled name, not made safe; "[idle]" of the idle task, and "all" where samples were not
 * kept apart.
 */
const char *process_name(const struct processes *list, const struct process_row *row);

/* -1 where samples were not kept apart by process. */
int32_t process_pid(const struct processes *list, const struct process_row *row);
