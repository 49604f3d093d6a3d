/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The continuous profiler: an endless recording (record/recorder.h), kept as a history of parts
 * below one directory. The process keeps to a budget.
 *
 *   DIR/lock               its process id; locked (flock) while it lives
 *   DIR/log                its messages, when detached
 *   DIR/samples/current/   the history: a directory of parts (daemon/parts.h)
 *   DIR/samples/NAME/      a saved history
 *
 * The daemon has one thread and one loop, the recorder's. Everything else is a callback of that
 * loop.
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
};
void daemon_settings_fini(struct daemon_settings *s);

struct daemon_config {
	const char *dir; /* absolute */
	const char *version;
	enum daemon_collector collector;
	bool with_stacks;
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

/*
 * Runs until SIGTERM, SIGINT or daemon_shutdown(). With `detach`, it returns in the calling process
 * when the daemon counts or has failed; the result says which. Prints to the log: DIR/log when
 * detached, or stderr.
 */
int daemon_run(const struct daemon_config *config, struct error *err);

/*
 * Calls `ready` whenever fd is readable, while the daemon runs. The caller owns the descriptor, and
 * calls daemon_drop_source() before it closes it. -ENOSPC: too many sources.
 */
int daemon_add_source(struct daemon *d, int fd, int (*ready)(void *context, struct error *err),
		      void *context, struct error *err);
void daemon_drop_source(struct daemon *d, int fd);
