/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The continuous profiler: one recording (record/recorder.h) without an end, kept as a history of
 * parts below one directory, by a process that watches its own budget.
 *
 *   DIR/lock               its process id, flock'ed while it lives
 *   DIR/log                what it says, when detached
 *   DIR/samples/current/   the history: a directory of parts (daemon/parts.h)
 *   DIR/samples/NAME/      a saved one
 *
 * The daemon has one thread and one loop, the recorder's; all else hangs on its callbacks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct daemon;
struct error;

#define DAEMON_DIR "/var/lib/assay"

enum daemon_collector { COLLECT_BEST, COLLECT_PERF, COLLECT_BPF };

/* What a reload may change. */
struct daemon_settings {
	uint64_t freq_hz; /* of each counter without a count of its own */
	struct {
		char **data; /* as in `record -e`; none: the default */
		size_t n, cap;
	} events;
	double max_cpu_percent; /* of one CPU; 0: no limit */
	uint64_t max_bytes;     /* resident; 0: no limit */
	double keep_age_s;      /* of what is stored; 0: for ever */
	uint64_t keep_bytes;    /* 0: no limit */
};
void daemon_settings_fini(struct daemon_settings *s);

struct daemon_config {
	const char *dir; /* absolute */
	const char *version;
	enum daemon_collector collector;
	bool with_stacks;
	uint32_t merged;            /* enum separation: what samples are not kept apart by */
	bool detach;                /* into the background, with the log in DIR/log */
	bool starts_disabled;       /* counting waits for daemon_start() */
	const char *log_path;       /* set by the daemon when detached; NULL: stderr */
	const char *oprofilefs;     /* where oprofilefs is to be mounted; NULL: nowhere */
	const char *metrics_listen; /* where metrics are to be had by HTTP (metrics_http.h); NULL */
	/*
	 * Reads the settings: at the start and at SIGHUP. On failure *out is untouched, and at
	 * SIGHUP those of before stay.
	 */
	int (*load)(void *context, struct daemon_settings *out, struct error *err);
	void *context;
};

/*
 * Runs until SIGTERM, SIGINT or daemon_shutdown(). Detached: returns in the process that called
 * it when the daemon collects, or has failed, and tells which. Prints to the log.
 */
int daemon_run(const struct daemon_config *config, struct error *err);

/*
 * Calls `ready` whenever fd is readable, while the daemon runs. The descriptor stays the caller's;
 * daemon_drop_source() before it is closed. -ENOSPC: too many.
 */
int daemon_add_source(struct daemon *d, int fd, int (*ready)(void *context, struct error *err),
		      void *context, struct error *err);
void daemon_drop_source(struct daemon *d, int fd);
