/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collecting with perf_event_open(2): counters on every CPU, one ring a CPU.
 *
 * All counters of a CPU write into the ring of its first event, a dummy that carries the side band
 * (mmap, comm, fork, exit, ksymbol). So the losses of a counter are samples only, and those of the
 * dummy are side band. Records of all CPUs are merged by time in place: a record stays in its ring
 * while another CPU may still have an earlier one.
 *
 * The thread that owns the rings reads the side band; nothing here allocates once rings_open() is
 * done.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/cpu_list.h"
#include "collect/perf_system.h"
#include "counter/counter.h"
#include "event/event.h"
#include "event/loss.h"
#include "machine/proc.h"

struct error;
struct rings;

struct rings_config {
	const struct perf_backend *backend;    /* NULL: perf_system */
	const struct counters *counters;       /* none: only the side band */
	const struct counter_sources *sources; /* for the texts of errors */
	const struct cpu_list *cpus; /* offline ones are left out until they come online */
	/* Threads to be profiled; none: every thread of the machine (or of the cgroup). */
	const int32_t *tids;
	size_t n_tids;
	int cgroup_fd;       /* >= 0: only this cgroup's threads */
	bool inherit;        /* and threads that these start */
	bool enable_on_exec; /* counting begins when the thread calls execve(2) */
	bool starts_paused;  /* counters wait for rings_pause(false); the side band does not */
	bool with_callchain;
	bool by_thread;       /* a ring for each thread instead of each CPU */
	bool with_task_times; /* the side band counts the threads' time (rings_task_time()) */
	/*
	 * For a hardware trace. Times are the kernel's own, not CLOCK_MONOTONIC, because the
	 * trace's times are converted to them. Context switches of threads are recorded.
	 */
	bool for_trace;
	bool for_file;        /* records stay unchanged: each has its event and CPU */
	bool with_inodes;     /* mappings have device and inode instead of build ids */
	bool with_cgroup;     /* samples have their cgroup, and records give its path */
	uint32_t stack_bytes; /* of the user stack to copy with each sample, with its registers; 0:
				 none */
	uint32_t rare_stack_bytes; /* the same of counters of rare events (counter_is_rare()) */
	uint64_t ring_bytes; /* for each CPU; 0: the largest for this user, at most 1 MiB (512 KiB
				unprivileged), with copied stacks 16 MiB */
};

/* The requests that were not possible, in whole sentences; "": none. */
const char *rings_note(const struct rings *r);

int rings_open(const struct rings_config *config, struct rings **out, struct error *err);

/*
 * A thread that began while the events of the others were opened has those alone that its parent
 * had by then. Nothing tells which, and a second event beside an inherited one would count twice.
 * So this closes all events of the threads, which ends the inherited ones, too, and opens those of
 * `tids` (at least one). The rings stay mapped. Not `by_thread`, and before anything counts.
 */
int rings_open_again(struct rings *r, const int32_t *tids, size_t n_tids, struct error *err);

void rings_close(struct rings *r); /* NULL is fine */
DEFINE_AT_EXIT(rings_close, struct rings)

/* The open events, the side band's last, with attributes as the kernel accepted them, and ids. */
void rings_each_event(const struct rings *r,
		      void (*visit)(void *context, const char *name,
				    const struct perf_event_attr *attr, const uint64_t *ids,
				    size_t n_ids),
		      void *context);

/*
 * Calls back for every unchanged record, in the order of events, before its event; NULL: no more.
 */
void rings_on_record(struct rings *r, void (*take)(void *context, const void *record, size_t size),
		     void *context);

/* Takes each fork, exit and throttled counter, in the order of events. */
struct rings_watch {
	void (*event)(void *context, const struct event *event);
	void *context;
};
void rings_set_watch(struct rings *r, const struct rings_watch *watch);

/* with_task_times: the present CPU time of the target threads and all that they started. */
uint64_t rings_task_time(const struct rings *r);

int rings_enable(struct rings *r, struct error *err);

/* The records of processes and mappings alone, before the processes that run are read. */
int rings_enable_side_band(struct rings *r, struct error *err);

/* Switches counters off, or on again, all or one; the side band goes on. */
int rings_pause(struct rings *r, bool is_paused, struct error *err);
int rings_pause_counter(struct rings *r, uint32_t counter, bool is_paused, struct error *err);

/* The present sum of a counter's descriptors. */
uint64_t rings_counted(const struct rings *r, uint32_t counter);

/*
 * Sets another rate or count, also in the counter's attributes; `period` is the argument of
 * PERF_EVENT_IOC_PERIOD.
 */
int rings_set_rate(struct rings *r, size_t counter, uint64_t rate, uint64_t period,
		   struct error *err);

/* A ring, for its AUX area (collect/aux.h). */
struct ring_place {
	struct perf_event_mmap_page *page; /* NULL: never opened */
	size_t data_bytes;
	int fd;       /* the descriptor to poll; -1 */
	uint32_t cpu; /* UINT32_MAX: any */
	int32_t tid;  /* by_thread; else -1 */
};
size_t rings_count(const struct rings *r);
struct ring_place rings_place(const struct rings *r, size_t ring);
size_t rings_data_bytes(const struct rings *r);
const struct perf_backend *rings_backend(const struct rings *r);

/* Whether context switches are recorded: since Linux 4.3. */
bool rings_has_switches(const struct rings *r);

/* The present descriptor of a counter (its first one) that writes into a ring; -1: none does. */
int rings_first_fd(const struct rings *r, size_t ring, uint32_t counter);

/* Switches all on, unless rings_pause() holds. From any thread, as long as no CPU comes online. */
void rings_switch_on(struct rings *r, size_t ring, uint32_t counter);
void rings_switch_off(struct rings *r, size_t ring, uint32_t counter);

/*
 * A CPU came online. Counters of all its threads ended when it went, or were never opened; they are
 * opened and enabled anew, and former ones are disabled: they may still count (cpu_watch.h). If the
 * kernel refuses the new ones, the former ones go on. Counters of single threads continue by
 * themselves. 0; -ENOENT: not one of the CPUs of rings_open(); else the refusal of
 * perf_event_open(2).
 */
int rings_cpu_online(struct rings *r, uint32_t cpu, struct error *err);

/*
 * The two halves of rings_cpu_online(), for work in between: a trace can't be switched on before it
 * has an area. *first: the first new descriptor. No other thread may read meanwhile.
 */
int rings_open_cpu(struct rings *r, uint32_t cpu, size_t *first, struct error *err);
int rings_enable_from(struct rings *r, size_t first, struct error *err); /* unless paused */
void rings_disable(struct rings *r);

/*
 * Waits until a ring has much data, `wake_fd` is readable, or the time is over. Much is half of a
 * ring (with copied stacks a quarter), or a time in which it could have become so full.
 */
void rings_wait(struct rings *r, int wake_fd, int timeout_ms);

/*
 * Other threads poll the rings' descriptors and wake this one by its wake_fd, because the kernel
 * reports a ready ring to its first poll only.
 */
void rings_poll_elsewhere(struct rings *r, bool is_elsewhere);

/* Pushes all events up to `until_ns` by time (UINT64_MAX: all). 0, or the sink's error. */
int rings_drain(struct rings *r, uint64_t until_ns, struct event_sink *sink);

/*
 * For a sink of rings_drain() that works long: gives the room of read records back to the kernel.
 * False: a ring is more than half full all the same.
 */
bool rings_have_room(void *rings);

/*
 * The time up to which a drain that begins now is complete: now, minus the time that a record needs
 * from its time stamp to its place in the ring.
 */
uint64_t rings_safe_time(void);

/*
 * Losses since the last call: `lose` is called for each that is not zero. The kernel's counts by
 * counter are read after a LOST record and when `is_final`. LOST_SAMPLES and THROTTLE come as
 * events, not here.
 */
void rings_collect_losses(struct rings *r, bool is_final,
			  void (*lose)(void *context, enum loss_reason reason, uint32_t counter,
				       uint64_t n),
			  void *context);

/* Adds the samples that were lost on each CPU, up to the last rings_collect_losses(). */
void rings_add_losses(const struct rings *r, uint64_t *by_cpu, size_t n_cpus);

/* A counter's own value beside its samples from the rings. */
struct rings_tally {
	uint64_t counted;         /* events, by all its descriptors */
	uint64_t samples, period; /* the delivered samples, and their events */
	uint64_t lost;            /* samples without room */
	uint32_t n_fds;
	uint64_t n_begun; /* pairs of a thread and a CPU that may have begun a period; or CPUs */
	bool was_throttled;
};

/* Threads that the processes started, as far as the side band tells. */
uint64_t rings_n_started(const struct rings *r);

/* After the final rings_collect_losses(). NULL: the counter of lost records is not known. */
const struct rings_tally *rings_tally(const struct rings *r, uint32_t counter);
