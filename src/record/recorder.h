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
#include "collect/rings.h"
#include "counter/counter.h"
#include "machine/proc.h"
#include "pipeline/ext.h"
#include "pipeline/pipeline.h"
#include "store/store.h"

struct error;
struct recorder;

/*
 * Whoever steers a recording from within its loop. All are called by the recorder's thread, and
 * may call the verbs below; a negative errno ends the recording, with the session whole.
 */
struct recorder_control {
	/* Counting has begun (with starts_disabled: could begin); may be NULL. */
	int (*started)(void *context, struct recorder *r, struct error *err);
	/* fd is readable. */
	int (*ready)(void *context, struct recorder *r, struct error *err);
	/* Each turn of the loop, once a second at the least; CLOCK_MONOTONIC. May be NULL. */
	int (*tick)(void *context, struct recorder *r, uint64_t now_ns, struct error *err);
	/* SIGHUP came; NULL: it ends the recording. */
	int (*hangup)(void *context, struct recorder *r, struct error *err);
	/* All has been counted, and the recorder is about to go. May be NULL. */
	void (*ended)(void *context, struct recorder *r);
	int fd; /* -1: none; an epoll fd may gather many. It stays the caller's */
	void *context;
};

/* How call chains are found. X(id, text): the words of reports. */
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

struct recorder_config {
	const struct store_ops *ops;
	uint32_t merged; /* enum separation: what samples are not kept apart by */
	const char *dir; /* of the session */
	const char *version;
	const struct counters *counters;
	const struct counter_sources *sources;
	const struct perf_backend *backend; /* NULL: perf_system */
	const char *note;                   /* why these counters; "" */
	bool in_kernel; /* whole machine only: sample by BPF (collect/sampler.h) */
	enum stack_source stacks;
	bool is_stacks_wish;  /* frame pointers do where the kernel can't copy stacks */
	uint32_t stack_bytes; /* STACKS_COPIED: how much of a stack; 0: default */
	uint64_t ring_bytes;  /* 0: default */
	uint64_t segment_bytes, table_bytes; /* as in struct session_info */
	bool writes_behind;                  /* likewise */
	uint64_t keep_ns, keep_bytes; /* raw: of samples only the last (record/raw.h); 0: all */
	const char *raw; /* a perf.data file to write instead of a session (record/raw.h); NULL */
	char *const *raw_argv; /* its command line */
	/* Of a counter that traces (then `raw` is needed); sizes in bytes, 0: collect/aux.h's. */
	enum aux_mode aux_mode;
	uint64_t aux_bytes, snapshot_bytes;
	bool snapshot_at_end; /* AUX_SNAPSHOTS: one more when it is over */
	bool by_thread;       /* a ring a thread, and nothing that the threads start */
	bool off_cpu;         /* blocked time as well, by BPF (pipeline/off_cpu.h); no cgroup */
	uint64_t off_cpu_min_ns;

	/* What to profile. A command may go with any target; the recording ends with it. */
	char *const *argv;           /* the command, or NULL */
	const struct pid_list *pids; /* whole processes; may be empty */
	const struct pid_list *tids; /* single threads; may be empty */
	bool whole_machine;
	const char *cgroup;          /* path below the cgroup file system, or absolute; NULL */
	const struct cpu_list *cpus; /* empty: all that are online */
	double duration_s;           /* 0: until the target ends, or a signal */
	double drain_s;              /* read what the kernel has at least so often; 0: as it fits */
	const struct recorder_control *control; /* NULL: none */
	bool starts_disabled;                   /* counting waits for recorder_enable() */
};

/* Why the recording ended. */
enum recorder_end {
	END_COMMAND,  /* the command ended */
	END_TARGET,   /* the processes to be profiled have all ended */
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
	uint64_t command_cpu_ns,
		unsampled_ns; /* CPU time of the command that samples can't account for */
	uint64_t n_unsampled; /* most that a counter's samples lack, in samples (LOSS_UNSAMPLED) */
	uint32_t unsampled_counter;
	uint64_t n_late; /* most that a clock lacks, as its interrupts came too late, in samples */
	uint32_t late_counter;
	uint32_t n_protected; /* LOSS_PROTECTED; the first is named protected_comm */
	char protected_comm[64];
	uint64_t silent;         /* bit by counter: of hardware, and its value stayed 0 */
	uint64_t size_bytes;     /* of the session on disk */
	uint64_t aux_bytes;      /* of a hardware trace, that were taken from the kernel */
	uint64_t n_truncated;    /* how often the kernel cut it off, as its area was full */
	uint64_t disk_waited_ns; /* so long the trace was not read, as the disk was too slow */
	char note[256];          /* what could not be had (rings_note) */
	char features[512];      /* statistics of extended features (pipeline/ext.h); "" */
	enum stack_source stacks;
	bool has_sampler_failed; /* the kernel refused it: without it, it may go */
};

/*
 * Records. On failure the session directory is as it was before, unless data
 * was written: then what is there is whole, *out is filled, and err says what went wrong.
 */
int recorder_run(const struct recorder_config *config, struct recorder_result *out,
		 struct error *err);

/* Verbs for a recording that runs, from the callbacks of its struct recorder_control. */

/* Ends it after this turn: END_REQUEST. */
void recorder_stop(struct recorder *r);

/*
 * Counting on and off. While it is off, processes are still followed. Pairs do not nest: enabling
 * what is enabled does nothing.
 */
int recorder_enable(struct recorder *r, struct error *err);
void recorder_disable(struct recorder *r);
bool recorder_is_enabled(const struct recorder *r); /* one counter at the least */

/* One counter alone, by its name. -ENOENT: none has it; the message has those that there are. */
int recorder_switch_event(struct recorder *r, const char *name, bool is_on, struct error *err);

/* The counters, and the events as the kernel took them (rings_each_event()). */
const struct counters *recorder_counters(const struct recorder *r);
void recorder_each_event(const struct recorder *r,
			 void (*visit)(void *context, const char *name,
				       const struct perf_event_attr *attr, const uint64_t *ids,
				       size_t n_ids),
			 void *context);

/*
 * All that was counted up to now is visible to readers when it returns, also where its second is
 * not over: the rest of that second becomes a block of its own. Takes about 10 ms (the kernel's
 * last records settle). A negative errno when it could not be written.
 */
int recorder_flush(struct recorder *r, struct error *err);

/* What a counter counted so far: read from the kernel, so that it is true at once. */
uint64_t recorder_counted(const struct recorder *r, uint32_t counter);

/*
 * What a trace that overwrites itself holds now becomes part of the recording, and tracing goes on.
 * -EOPNOTSUPP: nothing of the kind is recorded.
 */
int recorder_snapshot(struct recorder *r, struct error *err);

/*
 * Ends the session so far, whole, and goes on in a new one in `dir`, which must not exist; what
 * the machine knows stays. When the new one can't be made, the old one goes on. Not for `raw`.
 */
int recorder_switch(struct recorder *r, const char *dir, struct error *err);

/* Whether it would be refused now, without touching the disk. -EAGAIN: the disk is behind. */
int recorder_can_switch(const struct recorder *r, struct error *err);

/*
 * Takes what the kernel has in its rings. Who does something in a callback that may take longer
 * than a tenth of a second calls it in between, or the rings run over.
 */
void recorder_keep_up(struct recorder *r);

/*
 * From now on another rate: samples a second, or, for a counter with a count, events between two
 * samples. The session says the rate that it began with, so the caller switches to a new one.
 * -E2BIG: the in-kernel sampler was made for less; such a rate needs a new recording.
 */
int recorder_set_rate(struct recorder *r, uint32_t counter, uint64_t rate, struct error *err);

/* Counts in the session as a loss or note of the caller's. counter: UINT32_MAX for none. */
void recorder_note(struct recorder *r, enum loss_reason reason, uint32_t counter, uint64_t n);

/* The session that is being written. */
const char *recorder_dir(const struct recorder *r);

/* Another pair of eyes, over all sessions from now on, or none (pipeline_set_tap()). */
void recorder_set_tap(struct recorder *r, const struct sample_tap *tap);

/* Who knows the images that samples are in. It stays the recorder's. */
struct machine *recorder_machine(const struct recorder *r);

/* Statistics of the extended features (pipeline/ext.h) that are counted. */
void recorder_features(const struct recorder *r, ext_visitor visit, void *context);

/* Since the recording began, over all its sessions. Pointers hold until the next callback. */
struct recorder_stats {
	struct pipeline_counts counts;
	uint64_t losses[N_LOSS_REASONS];
	const uint64_t *cpu_samples; /* by CPU */
	size_t n_cpus;
	uint64_t own_cpu_ns;             /* user and system time of this process since it started */
	uint64_t own_bytes;              /* resident */
	uint32_t n_processes;            /* that the machine keeps */
	uint64_t start_ns;               /* CLOCK_MONOTONIC */
	const struct error *write_error; /* of the last attempt to write; NULL: it went well */
};
void recorder_stats(const struct recorder *r, struct recorder_stats *out);

/* Of all its sessions, as they are on disk now. */
uint64_t recorder_written_bytes(const struct recorder *r);
