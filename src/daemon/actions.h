/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The actions of a running daemon. Requests come by its socket, its file system or a signal; each
 * action is here once.
 *
 * Call them only in the daemon's thread, from the callbacks of sources (daemon_add_source()). They
 * return 0, or a negative errno with a sentence in *err.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"
#include "daemon/helpers.h"
#include "event/loss.h"
#include "pipeline/ext.h"

struct daemon;
struct error;

/* Switches counting on and off. While it is off, the daemon still follows the running processes. */
int daemon_start(struct daemon *d, struct error *err);
int daemon_stop(struct daemon *d, struct error *err);

/* When it returns, readers see all samples that were counted before the call. */
int daemon_dump(struct daemon *d, struct error *err);

/* Drops the current samples: the current history is then one new part. */
int daemon_reset(struct daemon *d, struct error *err);

/*
 * Keeps the current samples as the history samples/NAME and begins the current one anew. A name is
 * a file name that does not begin with a dot, other than "current", and without parts "earlier".
 * -EEXIST: the name is taken.
 */
int daemon_save(struct daemon *d, const char *name, struct error *err);

/* Below samples/: a session that is to be removed. */
#define DROPPED_NAME ".dropped"

/* Of one session that goes on: samples/current becomes samples/earlier, whose old content goes. */
int daemon_turn_over(struct daemon *d, struct error *err);

/* Lists the histories on disk, sorted, "current" first. daemon_histories_fini() frees the names. */
struct daemon_history {
	char *name;
	const char *store; /* which keeps it, by its name */
	uint32_t n_parts;
	uint64_t size_bytes;
};
struct daemon_histories {
	struct daemon_history *data;
	size_t n, cap;
};
int daemon_list(struct daemon *d, struct daemon_histories *out, struct error *err);
void daemon_histories_fini(struct daemon_histories *l);

/*
 * Sets the samples a second of each counter on each CPU and begins a new part. Counters with a
 * count keep it.
 */
int daemon_set_rate(struct daemon *d, uint64_t freq_hz, struct error *err);

/*
 * Sets the events, as texts of `assay record -e`; n = 0: the default. Counting begins anew. If the
 * new events can't be opened, the old ones continue.
 */
int daemon_set_events(struct daemon *d, const char *const *events, size_t n, struct error *err);

/* Ends the daemon cleanly, soon after the callback returns. */
void daemon_shutdown(struct daemon *d);

/* The state of the daemon. Texts and arrays are valid until the callback returns. */
struct daemon_status {
	const char *version, *session_dir;
	const char *part;               /* the directory of the part that is being written */
	const char *collector, *stacks; /* as in struct session_info */
	const char *note;               /* about the events; "" */
	const char *write_error;        /* why nothing can be written at present; "" */
	pid_t pid;
	uid_t user;
	const char *user_name;  /* "" if it has none */
	bool is_filtered;       /* system calls (seccomp) */
	uint32_t fence_version; /* of Landlock; 0: no fence */
	struct daemon_helpers helpers;
	bool is_counting;
	uint64_t start_wall_ns, uptime_ns;
	/* Wanted, and permitted by the budget at present; 0: by counts. */
	uint64_t wanted_hz, rate_hz;
	const char *const *events; /* names of the counters */
	size_t n_events;
	uint64_t samples, lost, unattributed; /* these and all below: since the daemon started */
	uint64_t losses[N_LOSS_REASONS];
	const uint64_t *cpu_samples; /* by CPU */
	const uint64_t *cpu_losses;  /* likewise */
	size_t n_cpus;
	/* Of the daemon: user and system time; resident memory. */
	uint64_t own_cpu_ns, own_bytes;
	double cpu_percent, max_cpu_percent; /* recent use of one CPU; the budget */
	uint64_t max_bytes;
	uint64_t written_bytes;
	double keep_age_s;             /* age of stored samples; 0: for ever */
	uint64_t keep_bytes;           /* 0: no limit */
	uint32_t n_processes, n_parts; /* processes at present; parts begun */
	uint32_t n_rate_changes;       /* because of the budget or the fleet */
};
void daemon_status(struct daemon *d, struct daemon_status *out);

/* Ends the opener; then our file system is unmounted. The daemon names no more then. */
void daemon_end_keeper(struct daemon *d);

/* The directory of the parts, for the daemon's own use. */
const char *daemon_history_dir(const struct daemon *d);

/* Visits the statistics of the extended features that are on (pipeline/ext.h). */
void daemon_features(struct daemon *d, ext_visitor visit, void *context);
