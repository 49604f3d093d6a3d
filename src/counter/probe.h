/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters that this machine permits to this user, found by trying.
 *
 * Each probe tests one thing. Its result is ok, limited or missing; the finding in one line; the
 * meaning for profiling; and the command that would change it. Probes open counters but keep none,
 * and change nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "counter/counter.h"
#include "counter/reason.h"

/* The machine and the user, as far as files do not tell; tests make up their own. */
struct probe_machine {
	const struct counter_sources *sources; /* NULL: this machine */
	bool is_root;                          /* commands need no sudo */
	uint32_t n_cpus;                       /* online */
	uint64_t memlock_bytes;                /* RLIMIT_MEMLOCK; UINT64_MAX: no limit */
	uint64_t n_files, max_files;           /* RLIMIT_NOFILE, soft and hard */
	const char *debug_dir;                 /* NULL: "/usr/lib/debug" */
	const char *cache_dir;                 /* NULL: by XDG_CACHE_HOME, else HOME */
	const char *map_dir;                   /* where perf-PID.map files are; NULL: "/tmp" */
	const char *debuginfod_urls;           /* NULL: not set */
	const char *daemon_dir;                /* NULL: the daemon's default */
};

/* Fills in the limits and the user of this process. `sources` may be NULL. */
void probe_machine_init(struct probe_machine *m, const struct counter_sources *sources);

/* X(id, key) */
#define PROBE_STATES(X)       \
	X(OK, "ok")           \
	X(LIMITED, "limited") \
	X(MISSING, "missing")

enum probe_state {
#define X(id, key) PROBE_##id,
	PROBE_STATES(X)
#undef X
};
extern const char *const probe_state_keys[];

struct finding {
	enum probe_state state;
	char text[256];     /* what was found, one line, no full stop */
	char meaning[1024]; /* whole sentences; may be "" */
	char command[160];  /* to be pasted into a shell as it is; "" when there is none */
};

/* The widest target that can be profiled, widest first. */
enum probe_reach {
	REACH_MACHINE,
	REACH_NAMESPACE, /* of other pid namespaces only how much they ran */
	REACH_OWN_KERNEL,
	REACH_OWN,
	REACH_NOTHING,
};
struct probe_scope {
	enum probe_reach reach;
	bool has_hardware; /* by cycles; else by cpu-clock */
};
struct probe_scope probe_scope(const struct probe_machine *m);

typedef void (*probe_function)(const struct probe_machine *m, struct finding *f);

void probe_hardware(const struct probe_machine *m, struct finding *f);
void probe_clock(const struct probe_machine *m, struct finding *f);
void probe_precise(const struct probe_machine *m, struct finding *f);
void probe_permission(const struct probe_machine *m, struct finding *f);
void probe_seccomp(const struct probe_machine *m, struct finding *f);
void probe_rate(const struct probe_machine *m, struct finding *f);
void probe_ring(const struct probe_machine *m, struct finding *f);
void probe_files(const struct probe_machine *m, struct finding *f);
void probe_tracepoints(const struct probe_machine *m, struct finding *f);
void probe_intel_pt(const struct probe_machine *m, struct finding *f);
void probe_pid_namespace(const struct probe_machine *m, struct finding *f);
void probe_system_files(const struct probe_machine *m, struct finding *f);

/* For probes elsewhere: sets state and text; the meaning; the command, with sudo if need be. */
void finding_set(struct finding *f, enum probe_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void finding_means(struct finding *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The remedy of a reason of counter/reason.h, behind the meaning, and its command. */
void finding_remedy(struct finding *f, const struct probe_machine *m, enum reason reason);
void finding_command(struct finding *f, const struct probe_machine *m, bool needs_root,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));
