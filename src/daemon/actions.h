/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What may be asked of the running daemon: by its socket, its file system, or a signal. They only
 * translate; what is done stands here once.
 *
 * All are called by the daemon's own thread, from the callbacks of sources (daemon_add_source()).
 * They return 0, or a negative errno with a sentence in *err.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"
#include "event/loss.h"
#include "pipeline/ext.h"

struct daemon;
struct error;

/* Counting on and off; the daemon stays, and knows what runs meanwhile. */
int daemon_start(struct daemon *d, struct error *err);
int daemon_stop(struct daemon *d, struct error *err);

/* All that was counted up to now is visible to readers when it returns. */
int daemon_dump(struct daemon *d, struct error *err);

/* Forgets what was counted so far: the current history has nothing but a new part. */
int daemon_reset(struct daemon *d, struct error *err);

/*
 * What was counted so far becomes the history samples/NAME, and the current one begins anew. A
 * name is a file name without a dot in front, other than "current"; -EEXIST where there is one.
 */
int daemon_save(struct daemon *d, const char *name, struct error *err);

/* The histories on disk, sorted, "current" first. */
struct daemon_history {
	char *name;
	uint32_t n_parts;
	uint64_t size_bytes;
};
struct daemon_histories {
	struct daemon_history *data;
	size_t n, cap;
};
int daemon_list(struct daemon *d, struct daemon_histories *out, struct error *err);
void daemon_histories_fini(struct daemon_histories *l);

/* Samples a second of each counter on each CPU; a new part begins. Counters with a count keep it.
 */
int daemon_set_rate(struct daemon *d, uint64_t freq_hz, struct error *err);

/*
 * What is counted, as the texts of `assay record -e`; none: the default. Counting begins anew, and
 * where the new events can't be counted, the old ones go on.
 */
int daemon_set_events(struct daemon *d, const char *const *events, size_t n, struct error *err);

/* Ends the daemon cleanly, soon after the callback has returned. */
void daemon_shutdown(struct daemon *d);

/* How it is. Texts and arrays hold until the callback returns. */
struct daemon_status {
	const char *version, *session_dir;
	const char *part;               /* the directory that is being written */
	const char *collector, *stacks; /* as in struct session_info */
	const char *note;               /* of the events; "" */
	const char *write_error;        /* why nothing is written just now; "" */
	pid_t pid;
	bool is_counting;
	uint64_t start_wall_ns, uptime_ns;
	uint64_t wanted_hz, rate_hz; /* asked for, and as the budget permits now; 0: by counts */
	const char *const *events;   /* names of the counters */
	size_t n_events;
	uint64_t samples, lost, unattributed; /* since the daemon started, as all that follows */
	uint64_t losses[N_LOSS_REASONS];
	const uint64_t *cpu_samples; /* by CPU */
	size_t n_cpus;
	uint64_t own_cpu_ns, own_bytes;      /* of the daemon: user and system time; resident */
	double cpu_percent, max_cpu_percent; /* of one CPU, of late; and the budget */
	uint64_t max_bytes;
	uint64_t written_bytes;
	double keep_age_s;             /* of what is stored; 0: for ever */
	uint64_t keep_bytes;           /* 0: no limit */
	uint32_t n_processes, n_parts; /* known now; begun */
	uint32_t n_rate_changes;       /* for the budget's sake */
};
void daemon_status(struct daemon *d, struct daemon_status *out);

/* Statistics of the extended features that are counted now (pipeline/ext.h). */
void daemon_features(struct daemon *d, ext_visitor visit, void *context);
