/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of the in-kernel sampler: loads the BPF program (collect/bpf/), attaches it to
 * counters on every CPU, and delivers the counts.
 *
 * Only counts, and stacks that are new, come from the kernel. A stack names files by number; the
 * side band gives the path of a number, by device and inode. User stacks are walked in the kernel
 * by unwind tables, which the caller gives for each file; stacks before that arrive raw. Needs
 * CAP_BPF and CAP_PERFMON, and BTF in the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "collect/bpf/shared.h"
#include "collect/process_filter.h"
#include "collect/rings.h"
#include "counter/counter.h"
#include "event/loss.h"

struct error;
struct pid_list;
struct sampler;
struct unwind_table;

/* Off-CPU time: how long threads were away from their CPU, or waited for the kernel's locks. */
struct sampler_waits {
	bool off_cpu, kernel_locks; /* at least one of them */
	uint64_t min_ns;            /* shorter ones don't count */
	uint32_t first_counter;     /* counts of WAIT_SLEEP have this counter, and so on */
	double most_percent;        /* of one CPU's time, for the stacks of all CPUs; 0: no limit */
	const int32_t *targets; /* processes, and those that they start; none: the whole machine */
	size_t n_targets;
	bool targets_are_threads; /* only these threads */
};

struct sampler_config {
	const struct counters *counters; /* those with `in_kernel`; may be none */
	const struct counter_sources *sources;
	const struct cpu_list *cpus;
	bool with_stacks;
	bool by_frame_pointer; /* stacks; else by unwind tables (sampler_can_unwind()) */
	const struct sampler_waits *waits; /* NULL: none */
	bool with_times;                   /* each sample comes alone, while there is room */
	/* Labels of goroutines (collect/bpf/labels.h) that samples get, by their names in the
	 * program; at most LABELS_MAX. */
	const char *const *labels;
	size_t n_labels;
	/*
	 * The inode of our pid namespace, in whose numbers pids are given. A process without a
	 * number there gets PID_OTHER_NAMESPACE and no user frames. 0: the initial namespace. Not
	 * with waits.
	 */
	uint32_t pid_namespace;
	/*
	 * These threads instead of all that the CPUs run; none: the whole machine. Then there are
	 * at most SAMPLER_EVENTS_MAX counters.
	 */
	const int32_t *tids;
	size_t n_tids;
	const struct pid_list *processes; /* with tids: if there are some, all their threads */
	bool tids_on_cpus; /* the threads count on `cpus` alone; else wherever they run */
	const struct process_filter *filter; /* of the whole machine, only these; NULL: all */
	bool is_of_cgroup;                   /* only the threads of a control group: … */
	int cgroup_fd;                       /* … this directory; with waits, of cgroup2 */
	bool inherit;                        /* and all threads that they start later */
	bool enable_on_exec;                 /* counting begins when a thread executes a program */
	bool starts_paused;                  /* counting waits for sampler_pause(false) */
};

/* collect/sampler_support.h in short: true, or false with the reason in *why. */
bool sampler_is_available(const struct counter_sources *sources, char *why, size_t size);

/* Whether it walks stacks by unwind tables here; else by frame pointer, with the reason in *why. */
bool sampler_can_unwind(char *why, size_t size);

/* Loads the program. The targets of the config's pointers stay the caller's, and unchanged. */
int sampler_open(const struct sampler_config *config, struct sampler **out, struct error *err);

/* Opens the counters, and counting begins. */
int sampler_start(struct sampler *s, struct error *err);
/* A CPU came online: its counters are opened anew (as rings_cpu_online()). */
int sampler_cpu_online(struct sampler *s, uint32_t cpu, struct error *err);
void sampler_close(struct sampler *s); /* NULL is fine; no program and no map stays behind */
DEFINE_AT_EXIT(sampler_close, struct sampler)

/* The end: no more counting, and the given tables are not used any more. */
void sampler_disable(struct sampler *s);

/* Switches counting off, or on again, after sampler_start(); or one counter, without the waits. */
int sampler_pause(struct sampler *s, bool is_paused, struct error *err);
void sampler_pause_counter(struct sampler *s, uint32_t counter, bool is_paused);

/* The counters, as rings_each_event(); they have no ids. */
void sampler_each_event(const struct sampler *s,
			void (*visit)(void *context, const char *name,
				      const struct perf_event_attr *attr, const uint64_t *ids,
				      size_t n_ids),
			void *context);

/*
 * Sets another rate or count; `period` is the argument of PERF_EVENT_IOC_PERIOD. The caller also
 * changes the counters of the config, for CPUs that come online later. -E2BIG: the maps were made
 * for less.
 */
int sampler_set_rate(struct sampler *s, size_t counter, uint64_t rate, uint64_t period,
		     struct error *err);

/* The thread that ended a wait, with its stack as in struct sampler_count. */
struct sampler_waker {
	int32_t pid, tid;
	char comm[16];
	uint64_t stack;
	const uint64_t *frames;
	uint32_t n_kernel, n_user;
	enum language_fit fit;
};

/* A sum of equal samples since the last time. Pointers are valid until the visit returns. */
struct sampler_count {
	int32_t pid, tid;
	uint32_t cpu, counter;
	uint32_t app; /* file number of the process's executable; FILE_NONE: a kernel thread */
	const char *comm;
	uint64_t cgroup;        /* machine/cgroup_domain.h */
	uint64_t stack;         /* its hash */
	const uint64_t *frames; /* packed (collect/bpf/shared.h), innermost first; NULL: only the
				   hash came, as for raw stacks */
	uint32_t n_kernel, n_user;
	enum language_fit fit;    /* of its frames of languages */
	uint64_t samples, period; /* for waits: their number, and the sum of ns */
	uint64_t time_ns;         /* of one sample, or of a wait's end; 0: of a sum */
	uint64_t waker;           /* of a wait: for sampler_find_waker(); of a sample: for
				     sampler_find_labels(); 0: none, or not known */
	uint64_t detail;          /* of a wait: WAIT_DETAIL() */
};

/* False: it is not known any more. */
bool sampler_find_waker(const struct sampler *s, uint64_t waker, struct sampler_waker *out);

/*
 * The labels of a sample, in the order of the config. NULL: they are not known (LABELS_UNKNOWN, or
 * forgotten). Valid until the next sampler_turn().
 */
const struct label_value *sampler_find_labels(const struct sampler *s, uint64_t labels);

/* Sets the frames of a count that the caller has kept, or leaves them NULL. */
void sampler_find_frames(const struct sampler *s, struct sampler_count *count);

/* A file, by the kernel's mapping: on overlayfs, the layer's file. */
struct sampler_file {
	uint32_t number;
	int32_t pid; /* a process that has it mapped … */
	struct file_place place;
	uint64_t time_ns; /* … at this time */
	uint64_t dev, ino;
};

struct sampler_visitor {
	/* A file got a number; called before any count that uses it. */
	void (*file)(struct sampler_visitor *self, const struct sampler_file *file);
	/* A function of a language; before any count with a frame of it. */
	void (*code)(struct sampler_visitor *self, int32_t pid, const struct lang_code *code);
	/* A stack for the caller to walk; called before any count with its hash. */
	void (*raw)(struct sampler_visitor *self, const struct raw_stack_message *raw);
	/* False: the stack is not known; its samples are lost. */
	bool (*count)(struct sampler_visitor *self, const struct sampler_count *count);
};

/* Readable when sampler_poll() has work. */
int sampler_fd(const struct sampler *s);

/* Visits the files and raw stacks so far, at most `most_bytes` and one ring's size of them. */
int sampler_poll(struct sampler *s, struct sampler_visitor *visitor, size_t most_bytes,
		 struct error *err);

/*
 * From soon on, stacks through a file are walked by this table; NULL: by frame pointer. The table
 * must stay until sampler_next_table() returns it, or sampler_disable(). Without room for it, walks
 * are by frame pointer, too, and counted. Later, all tables are forgotten to make room, and raw
 * stacks come again. File TABLE_OF_VDSO is the vdso.
 */
void sampler_set_table(struct sampler *s, uint32_t file, const struct unwind_table *table);

/* Whether a file that it has not seen yet gets a number. It forgets none. */
bool sampler_has_room_for_files(const struct sampler *s);

/* Whether all tables that were set are in use, or had no room. */
bool sampler_has_tables(struct sampler *s);

/*
 * Gives a file its number before the program meets it. 0: it has one, or there is no room. Before
 * sampler_start() only.
 */
uint32_t sampler_know_file(struct sampler *s, const struct file_key *key);

/*
 * The file is a runtime (lang/detect.h): from now on, stacks have the frames of its language. Only
 * with unwind tables. A file too many (RUNTIMES_MAX) is left out.
 */
void sampler_set_runtime(struct sampler *s, uint32_t file, const struct lang_runtime *runtime);

/*
 * The sampler may leave such a frame of Java by itself (collect/bpf/shared.h), until it is dropped.
 * False: there is no room for it.
 */
bool sampler_set_java(struct sampler *s, const struct java_key *key,
		      const struct java_frame *frame);
void sampler_drop_java(struct sampler *s, const struct java_key *key);

/* The file is a Go program, and samples of its processes get their labels from now on. */
void sampler_set_labels(struct sampler *s, uint32_t file, const struct label_places *places);

/* Samples of this process get labels from there, or NULL: as its executable says. */
void sampler_set_process_labels(struct sampler *s, int32_t pid,
				const struct process_labels *labels);

/* All functions are sent again, because the caller has forgotten them. */
void sampler_tell_codes_again(struct sampler *s);

/* A table that has been copied, or had no room. NULL: none at present. */
const struct unwind_table *sampler_next_table(struct sampler *s);

/* A new number, from 1, each time that all tables were forgotten. */
uint32_t sampler_table_round(const struct sampler *s);

/* Ends the epoch: new counts are for the next sampler_read(). Call it at the end of a second. */
void sampler_turn(struct sampler *s, uint64_t now_ns); /* by CLOCK_MONOTONIC */

/*
 * Visits all counts of the epoch before the last sampler_turn(), and the samples with times up to
 * until_ns. The program may still write to it for the length of one run, so wait a few milliseconds
 * (see rings_safe_time()).
 */
int sampler_read(struct sampler *s, uint64_t until_ns, struct sampler_visitor *visitor,
		 struct error *err);

/*
 * Visits the threads that still wait, as if they came back at `now_ns`, after the last
 * sampler_read(). Needs sampler_disable() before, or a pause.
 */
int sampler_read_waits(struct sampler *s, uint64_t now_ns, struct sampler_visitor *visitor,
		       struct error *err);

/*
 * Adds a thread that has waited since before the program's start, unless the program knows it
 * (false). sampler_drop_wait(): it did not wait after all.
 */
bool sampler_put_wait(struct sampler *s, int32_t tid, const struct wait *wait);
void sampler_drop_wait(struct sampler *s, int32_t tid);

/* Whether waits of this thread are asked for: it is a target, or a target's child. */
bool sampler_follows_waits(const struct sampler *s, int32_t pid, int32_t tid);

/* In a pause, nobody sees which waits end: all that began before are forgotten. */
void sampler_forget_waits(struct sampler *s);

/*
 * The stack of a thread that does not run at present. With waits only. False: the thread has ended,
 * or the kernel can't show it (before Linux 6.1).
 */
bool sampler_find_stack(struct sampler *s, int32_t tid, struct blocked_stack *out);

/* Losses since the last call. */
void sampler_collect_losses(struct sampler *s,
			    void (*lose)(void *context, enum loss_reason reason, uint32_t counter,
					 uint64_t n),
			    void *context);

/* Adds the samples that were lost on each CPU since the start. */
void sampler_add_losses(const struct sampler *s, uint64_t *by_cpu, size_t n_cpus);

/*
 * The counts of the counter of threads. The caller knows the number of begun threads and of losses.
 */
struct rings_tally sampler_tally(const struct sampler *s, uint32_t counter);

/*
 * Samples that were never taken (collect/missed.h) since the last call, by the counters' own
 * values. If the rate changed meanwhile, it is an estimate.
 */
void sampler_collect_missed(struct sampler *s,
			    void (*lose)(void *context, enum loss_reason reason, uint32_t counter,
					 uint64_t n),
			    void *context);
