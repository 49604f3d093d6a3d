/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration of a daemon, and its settings, which a reload may change. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct store_ops;

#define DAEMON_DIR "/var/lib/assay"

enum daemon_collector { COLLECT_BEST, COLLECT_PERF, COLLECT_BPF };

/* The settings that a reload may change. */
struct daemon_settings {
	uint64_t freq_hz; /* of each counter without a count */
	struct {
		char **data; /* as in `record -e`; none: the default */
		size_t n, cap;
	} events;
	double max_cpu_percent; /* of one CPU; 0: no limit */
	uint64_t max_bytes;     /* resident memory; 0: no limit */
	double keep_age_s;      /* age of stored samples; 0: for ever */
	uint64_t keep_bytes;    /* of stored samples; 0: no limit */
	bool has_exact_times;   /* samples keep their times, not only their second … */
	bool allows_record;     /* by closely_begin() */
	bool follows_fleet;     /* fleet_rate.h */
	double exact_age_s;     /* … in parts of this age; 0: until retention merges seconds */
};
void daemon_settings_fini(struct daemon_settings *s);

struct daemon_config {
	const char *dir; /* absolute */
	const char *version;
	enum daemon_collector collector;
	/* Parts of a history, or with leave() one session, in samples/current. */
	const struct store_ops *store;
	bool with_stacks;
	bool off_cpu; /* waits as well, by BPF: without it, the daemon does not begin */
	uint64_t off_cpu_min_ns;
	uint32_t merged;        /* enum separation bits that do not keep samples apart */
	bool detach;            /* run in the background, with the log in DIR/log */
	bool starts_disabled;   /* daemon_start() starts the counting */
	const char *oprofilefs; /* mount point of oprofilefs; NULL: none */
	/* Address of the metrics over HTTP (metrics_http.h); NULL: none. */
	const char *metrics_listen;
	/*
	 * Reads the settings, at the start and at SIGHUP. On failure *out is untouched, and at
	 * SIGHUP the daemon keeps its settings.
	 */
	int (*load)(void *context, struct daemon_settings *out, struct error *err);
	void *context;
};
