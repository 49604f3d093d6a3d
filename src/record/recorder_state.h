/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's own state: shared by recorder.c (loop, end), recorder_open.c and
 * recorder_control.c. */
#pragma once

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/thread.h"
#include "collect/rings.h"
#include "machine/machine.h"
#include "pipeline/host.h"
#include "pipeline/pipeline.h"
#include "record/child.h"
#include "record/recorder.h"

struct cpu_account;
struct heap;
struct in_kernel;
struct raw_recording;
struct raw_trace;
struct rusage;
struct sampler;

struct recorder {
	const struct recorder_config *config;
	struct recorder_result *result;
	struct cpu_list cpus; /* profiled ones, also if they come online later */
	uint32_t n_online;
	struct pid_list tids; /* all profiled threads */
	uint64_t n_begun;     /* threads that may lack counters (recorder_settle_threads()) */
	struct child child;
	bool has_child, child_runs;
	int cgroup_fd, signal_fd;
	int cpu_fd;  /* reports CPUs that come and go; < 0: none */
	int wake_fd; /* signals, and the sampler's urgent messages */
	sigset_t old_mask;
	struct machine *machine;
	bool has_pid_namespace;              /* another one than the initial */
	struct pid_namespace *pid_namespace; /* NULL: not needed, or not yet */
	struct pipeline *pipeline;
	struct rings *rings;
	struct aux *aux; /* NULL: no hardware trace */
	struct aux_sizes aux_sizes;
	struct aux_readers *aux_readers; /* NULL: the loop reads the areas, if there are any */
	int aux_wake_fd;                 /* of the readers; -1 */
	char *trace_cpus;                /* the traced ones, if the rings have more */
	struct sampler *sampler;         /* NULL: the rings carry the samples */
	struct in_kernel *in_kernel;
	struct raw_recording *raw; /* NULL: a session is recorded */
	struct host host;
	struct cpu_account *cpu_account; /* NULL: none */
	struct ext_session *ext;         /* NULL: no counter is of an extended feature */
	struct heap *heap;               /* NULL: allocations are not sampled */
	uint64_t start_ns;
	uint64_t counting_ns; /* start of the counters, and of --duration */
	uint64_t sampling_ns; /* last attachment of the in-kernel sampler */
	uint64_t read_ns;     /* last reading of the in-kernel sampler */
	uint64_t turned_ns;   /* end of the last turn that read everything */
	bool is_ended;
	bool is_write_failing;            /* as logged */
	struct real_time_guard real_time; /* of its thread, for the time of a whole machine */
	uint64_t stop_ns;                 /* the first request to the command to stop; 0: none */

	struct counters counters; /* the config's, with the present rates */
	const struct counter
		*for_rings;     /* in_kernel: the first one of the rings all the same; NULL */
	struct pollfd control;  /* the steering descriptor; -1: none */
	char *dir;              /* of the session in progress */
	uint64_t written_bytes; /* of the sessions before it */
	bool is_paused;         /* counting is off */
	bool has_single;        /* single counters were switched since then */
	bool was_steered;       /* paused, or a rate changed: the counters' values show less */
	bool samples_by_tables; /* it walks stacks by unwind tables */
};

/* Opens everything and begins to count; on failure the session's place is unchanged. */
int recorder_start(struct recorder *r, struct error *err);

/* recorder_threads.c */
int recorder_find_threads(struct recorder *r, struct error *err);

/*
 * Behind the rings: opens them again if threads began meanwhile, until none does. If that does not
 * end, the last of these threads count as LOSS_THREADS_BEGUN.
 */
int recorder_settle_threads(struct recorder *r, struct error *err);

/* Opens a pipeline into `dir`, or turns the present one to it. */
int recorder_open_session(struct recorder *r, const char *dir, struct error *err);

/* The in-kernel sampler begins to count: threads wait since before that. */
void recorder_begin_waits(struct recorder *r);

bool is_command_target(const struct recorder_config *c);
bool has_pid_target(const struct recorder_config *c);

/* Moves the sources' data up to now into the pipeline. */
int recorder_drain(struct recorder *r, uint64_t until_ns);
int recorder_gather(struct recorder *r, struct error *err);

/*
 * Whether the recorder accounts for CPU time. Not known: that of a cgroup, of processes by user or
 * name, of single threads, and of recordings in perf's format.
 */
bool recorder_has_account(const struct recorder *r);
void recorder_begin_account(struct recorder *r); /* if it does */

/* The sink of the rings' events. */
struct event_sink *side_band_sink(struct recorder *r);

/* User and system time. */
uint64_t usage_cpu_ns(const struct rusage *u);

/* Our own data for the end of a session. */
struct session_end recorder_session_end(const struct recorder *r, uint64_t end_ns);

/* The end of the time that a drain that begins now covers. */
uint64_t recorder_safe_time(const struct recorder *r);

/*
 * recorder_trace.c: a counter that traces. In the order of the calls; without one, all do nothing.
 */
bool recorder_has_trace(const struct recorder *r);
int recorder_plan_trace(struct recorder *r, struct error *err); /* before the rings */
int recorder_open_trace(struct recorder *r, struct error *err); /* behind them */
const struct raw_trace *recorder_describe_trace(const struct recorder *r, struct raw_trace *out);
int recorder_start_trace(struct recorder *r, struct error *err); /* before counting begins */
int recorder_cpu_online(struct recorder *r, uint32_t cpu, struct error *err); /* rings, too */
int recorder_drain_trace(struct recorder *r);
void recorder_stop_trace(struct recorder *r); /* behind rings_disable() */
void recorder_close_trace(struct recorder *r);
