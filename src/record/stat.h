/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting from start to end: targets, the command, signals, intervals. `assay stat` and ocount are
 * its command lines.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/counts.h"
#include "machine/proc.h"

struct error;

/* The counts of an interval, or of the whole time. */
struct stat_reading {
	const struct counters *counters;
	const struct counts *counts; /* for lanes, and for missing counters */
	const struct count *values;  /* [lane * counters->n + counter] */
	double at_s, length_s;       /* its end, since the start, and its length */
	double wall_s;               /* its end, since the epoch */
	bool is_interval;
};

struct stat_config {
	const struct counters *counters;
	const struct counter_sources *sources;
	/* The targets: a command alone, threads, or all code on some CPUs. */
	char *const *argv;
	const struct pid_list *pids; /* whole processes; may be empty */
	const struct pid_list *tids; /* single threads; may be empty */
	bool whole_machine;
	const struct cpu_list *cpus;     /* empty: all that are online */
	bool is_separate, skips_missing; /* struct counts_config */
	bool kills_command;              /* at a signal, which is otherwise passed on to it */
	double interval_s;               /* 0: one reading at the end */
	uint64_t n_intervals;            /* then it ends; 0: no limit */
	double duration_s;               /* 0: until the target ends, or a signal */
	void (*report)(void *context, const struct stat_reading *reading);
	void *context;
};

struct stat_result {
	int wait_status; /* of the command, as wait(2) gives it; -1 if none or still running */
	bool has_command_failed_to_start;
	/* By times, CPUs that came online meanwhile: those counted from then on, and the others. */
	uint32_t n_cpus_back, n_cpus_missed;
};

/* Counts and reports. A failure reports nothing. */
int stat_run(const struct stat_config *config, struct stat_result *out, struct error *err);
