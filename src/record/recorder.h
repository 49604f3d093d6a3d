/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording from start to end: targets, the profiled command, signals, the
 * loop between rings and pipeline. `assay record` is its command line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/aux.h"
#include "collect/bpf/shared.h"
#include "collect/rings.h"
#include "counter/counter.h"
#include "machine/proc.h"
#include "pipeline/ext.h"
#include "pipeline/pipeline.h"
#include "store/store.h"

struct error;
struct process_filter;
struct recorder;

/*
 * The steering of a recording from within its loop. The recorder's thread calls all of these, and
 * they may call the verbs below. A negative errno ends the recording, with the session complete.
 */
struct recorder_control {
	/* Counting has begun (with starts_disabled: could begin); may be NULL. */
	int (*started)(void *context, struct recorder *r, struct error *err);
	/* fd is readable. */
	int (*ready)(void *context, struct recorder *r, struct error *err);
	/* Each turn of the loop, at least once a second; CLOCK_MONOTONIC. May be NULL. */
	int (*tick)(void *context, struct recorder *r, uint64_t now_ns, struct error *err);
	/* SIGHUP came; NULL: it ends the recording. */
	int (*hangup)(void *context, struct recorder *r, struct error *err);
	/* All is counted, and the recorder is about to be freed. May be NULL. */
	void (*ended)(void *context, struct recorder *r);
	int fd; /* -1: none; an epoll fd may gather several. It stays the caller's */
	void *context;
};

/* The sources of call chains. X(id, text): the words of reports. */
#define STACK_SOURCES(X)                    \
	X(NONE, "none")                     \
	X(FRAME_POINTERS, "frame pointers") \
	X(COPIED, "copied stacks")          \
	X(IN_KERNEL, "in-kernel unwinding")

enum stack_source {
#define X(id, text) STACKS_##id,
	STACK_SOURCES(X)
#undef X
		N_STACK_SOURCES
};

extern const char *const stack_source_texts[N_STACK_SOURCES];

struct record_labels;

struct recorder_config {
	const struct store_ops *ops;
	uint32_t merged; /* enum separation: keys that samples are not split by */
	const char *dir; /* of the session */
	const char *version;
	const struct counters *counters;
	const struct counter_sources *sources;
	const struct perf_backend *backend; /* NULL: perf_system */
	const char *note;                   /* why these counters; "" */
	bool in_kernel;                     /* sample by BPF (collect/sampler.h) */
	bool logs_disk;                     /* log at once that nothing can be written */
	enum stack_source stacks;
	bool is_stacks_wish;   /* frame pointers are accepted if the kernel can't copy stacks */
	uint32_t stack_bytes;  /* STACKS_COPIED: the bytes of a stack; 0: default */
	uint64_t ring_bytes;   /* 0: default */
	const char *names_dir; /* as in struct pipeline_config */
	uint64_t segment_bytes, table_bytes; /* as in struct session_info */
	bool exact_times, writes_behind;     /* likewise */
	bool continues;      /* `dir` may be there, and the store goes on with its session */
	bool with_cpu_times; /* the kernel's own, beside the samples (record/cpu_account.h) */
	uint64_t keep_ns, keep_bytes; /* raw: only the last samples (record/raw.h); 0: all */
	/* A perf.data file to write instead of a session (record/raw.h); NULL: none. "-": into
	 * standard output; what the command writes there goes to standard error. */
	const char *raw;
	char *const *raw_argv; /* its command line */
	/* Of a counter that traces (needs `raw`); sizes in bytes, 0: as in collect/aux.h. */
	enum aux_mode aux_mode;
	uint64_t aux_bytes, snapshot_bytes;
	bool snapshot_at_end; /* AUX_SNAPSHOTS: one more at the end */
	bool by_thread;       /* a ring a thread, and no children */
	bool off_cpu;         /* blocked time as well, by BPF (pipeline/off_cpu.h) */
	uint64_t off_cpu_min_ns;
	double off_cpu_percent; /* of one CPU's time, for the stacks of waits; 0: no limit */
	bool kernel_locks;      /* waits for the kernel's own locks as well, by BPF */
	/* In the kernel: labels of goroutines, at most LABELS_MAX (record/labels.h). */
	const struct record_labels *labels; /* NULL: none */
	bool python_trampoline; /* Python of 3.12 and newer names its functions by a perf map */
	/* Of a command: allocations, sampled so far apart by a preloaded library (heap/); 0: no. */
	uint64_t alloc_mean_bytes;
	bool alloc_by_probes; /* not by the library: a process of `pids`, or a static command */

	/* What to profile. A command may go with any target; the recording ends with it. */
	char *const *argv; /* the command, or NULL */
	/* Of the command. in_kernel: their files are read before it starts. NULL: not known. */
	const struct interpreters *interpreters;
	const struct pid_list *pids; /* whole processes; may be empty */
	const struct pid_list *tids; /* single threads; may be empty */
	bool whole_machine;
	const struct process_filter *filter; /* of whole_machine, in_kernel: only these; NULL */
	const char *cgroup;          /* path below the cgroup file system, or absolute; NULL */
	const char *target;          /* the session's words for the target; NULL: from the above */
	const struct cpu_list *cpus; /* empty: all that are online */
	double duration_s;           /* 0: until the target ends, or a signal */
	double drain_s;              /* the longest time between readings; 0: automatic */
	const struct recorder_control *control; /* NULL: none */
	bool starts_disabled;                   /* counting waits for recorder_enable() */
};

/* The number of its events of waits (enum wait_state), which follow its counters. */
static inline uint32_t recorder_n_waits(const struct recorder_config *c)
{
	return c->kernel_locks ? N_WAIT_EVENTS : c->off_cpu ? N_WAIT_STATES : 0;
}

/* The reason for the end of the recording. */
enum recorder_end {
	END_COMMAND,  /* the command ended */
	END_TARGET,   /* the profiled processes have all ended */
	END_DURATION, /* the time was over */
	END_SIGNAL,   /* Ctrl-C, SIGTERM or SIGHUP */
	END_REQUEST,  /* recorder_stop() */
};

struct recorder_result {
	enum recorder_end end;
	int wait_status;     /* of the command, as wait(2) gives it; -1 if none or still running */
	int32_t command_pid; /* 0: none */
	bool has_command_failed_to_start;
	struct pipeline_counts counts;
	uint64_t duration_ns, own_cpu_ns, own_peak_bytes;
	uint64_t command_cpu_ns, unsampled_ns; /* of the command; its part without samples */
	uint64_t n_unsampled; /* the largest gap of a counter, in samples (LOSS_UNSAMPLED) */
	uint32_t unsampled_counter;
	uint64_t n_late; /* the largest gap of a clock by late interrupts, in samples */
	uint32_t late_counter;
	uint32_t n_protected; /* LOSS_PROTECTED; the first is named protected_comm */
	char protected_comm[64];
	uint64_t silent;         /* bit by counter: a hardware counter whose value stayed 0 */
	uint64_t size_bytes;     /* of the session on disk */
	uint64_t aux_bytes;      /* bytes of a hardware trace from the kernel */
	uint64_t n_truncated;    /* how often the kernel cut it off, because its area was full */
	uint64_t disk_waited_ns; /* time without reading the trace, because the disk was too slow */
	char note[256];          /* impossible requests (rings_note) */
	char features[512];      /* statistics of extended features (pipeline/ext.h); "" */
	enum stack_source stacks;
	bool has_sampler_failed; /* the kernel refused it: without it, recording may work */
};

/*
 * Records. On failure the session directory is unchanged, unless data was written: then the session
 * is complete up to there, *out is filled, and err has the reason.
 */
int recorder_run(const struct recorder_config *config, struct recorder_result *out,
		 struct error *err);

/* Verbs for a recording that runs, from the callbacks of its struct recorder_control. */

/* Ends it after this turn: END_REQUEST. */
void recorder_stop(struct recorder *r);

/*
 * Switches counting on and off. While it is off, processes are still followed. Calls do not nest:
 * enabling twice is the same as once.
 */
int recorder_enable(struct recorder *r, struct error *err);
void recorder_disable(struct recorder *r);
bool recorder_is_enabled(const struct recorder *r); /* at least one counter */

/*
 * Switches one counter, by its name. -ENOENT: no counter has the name; the message lists the names.
 */
int recorder_switch_event(struct recorder *r, const char *name, bool is_on, struct error *err);

/* The counters, and the events as the kernel accepted them (rings_each_event()). */
const struct counters *recorder_counters(const struct recorder *r);
void recorder_each_event(const struct recorder *r,
			 void (*visit)(void *context, const char *name,
				       const struct perf_event_attr *attr, const uint64_t *ids,
				       size_t n_ids),
			 void *context);

/*
 * When it returns, readers see all counts up to now, even within a second: the rest of that second
 * becomes another block. Takes about 10 ms (until the kernel's last records are complete). A
 * negative errno if the data could not be written.
 */
int recorder_flush(struct recorder *r, struct error *err);

/* recorder_flush(), after which the session's files may be moved or removed: pipeline_leave(). */
int recorder_leave(struct recorder *r, struct error *err);

/* The present value of a counter, read from the kernel. */
uint64_t recorder_counted(const struct recorder *r, uint32_t counter);

/*
 * Adds the present content of a trace that overwrites itself to the recording; tracing goes on.
 * -EOPNOTSUPP: there is no such trace.
 */
int recorder_snapshot(struct recorder *r, struct error *err);

/*
 * Ends the present session, and goes on in a new one in `dir`, which must not exist; the machine's
 * state stays. If the new one can't be made, the old one goes on. Not for `raw`.
 */
int recorder_switch(struct recorder *r, const char *dir, struct error *err);

/* Whether a switch would be refused now, without touching the disk. -EAGAIN: the disk is behind. */
int recorder_check_switch(const struct recorder *r, struct error *err);

/*
 * Reads the kernel's rings. A callback that may take longer than a tenth of a second must call it
 * in between, or the rings overflow.
 */
void recorder_keep_up(struct recorder *r);

/*
 * Sets another rate: samples a second or, for a counter by count, events between two samples. A
 * session holds its first rate, so the caller must switch to a new session. -E2BIG: the in-kernel
 * sampler was made for less; such a rate needs a new recording.
 */
int recorder_set_rate(struct recorder *r, uint32_t counter, uint64_t rate, struct error *err);

/* Adds a loss or note of the caller to the session. counter: UINT32_MAX for none. */
void recorder_note(struct recorder *r, enum loss_reason reason, uint32_t counter, uint64_t n);

/* The session in progress. */
const char *recorder_dir(const struct recorder *r);

/* A second receiver of samples over all later sessions, or none (pipeline_set_tap()). */
void recorder_set_tap(struct recorder *r, const struct sample_tap *tap);

/* The machine with the images of samples. It stays the recorder's. */
struct machine *recorder_machine(const struct recorder *r);

/* Statistics of the recorded extended features (pipeline/ext.h). */
void recorder_features(const struct recorder *r, ext_visitor visit, void *context);

/* Since the recording began, over all its sessions. Pointers are valid until the next callback. */
struct recorder_stats {
	struct pipeline_counts counts;
	uint64_t losses[N_LOSS_REASONS];
	const uint64_t *cpu_samples; /* by CPU */
	size_t n_cpus;
	uint64_t own_cpu_ns;             /* user and system time of this process since it started */
	uint64_t own_bytes;              /* resident */
	uint32_t n_processes;            /* that the machine keeps */
	uint64_t start_ns;               /* CLOCK_MONOTONIC */
	uint64_t grown_bytes;            /* pipeline_grown() */
	bool is_full_of_files;           /* the in-kernel sampler can tell no more files apart */
	const struct error *write_error; /* of the last attempt to write; NULL: it succeeded */
};
void recorder_stats(const struct recorder *r, struct recorder_stats *out);

/* Adds the samples that were lost on each CPU since the recording began. */
void recorder_add_cpu_losses(const struct recorder *r, uint64_t *by_cpu, size_t n_cpus);

/* Of all its sessions, as on disk now. */
uint64_t recorder_written_bytes(const struct recorder *r);
