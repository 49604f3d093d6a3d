/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collecting with perf_event_open(2): counters on every CPU, one ring a CPU.
 *
 * All counters of a CPU write into the ring of its first event, a dummy that
 * carries the side band (mmap, comm, fork, exit, ksymbol). So what the kernel
 * counts as lost on a counter is samples alone, and what it counts on the
 * dummy is side band. Records of all CPUs are merged by time in place: what
 * may still be overtaken by a record of another CPU stays in its ring.
 *
 * The side band is read by the thread that owns the rings; nothing here
 * allocates once rings_open() is done.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/counter.h"
#include "event/event.h"
#include "event/loss.h"
#include "machine/proc.h"

struct error;
struct rings;

/* The kernel's side, replaceable so that tests can fill real ring buffers. */
struct perf_backend {
	int (*open)(void *context, struct perf_event_attr *attr, int pid, int cpu, int group_fd,
		    unsigned long flags); /* a descriptor or a negative errno */
	int (*control)(void *context, int fd, unsigned long request, void *arg); /* ioctl(2) */
	void *(*map)(void *context, int fd, size_t size); /* NULL and errno */
	void (*unmap)(void *context, void *base, size_t size);
	/* read(2) of an event with PERF_FORMAT_LOST | PERF_FORMAT_ID: value, id, lost. 0 or
	 * negative. */
	int (*read)(void *context, int fd, uint64_t values[3]);
	void (*close)(void *context, int fd);
	void *context;
	/* An AUX area, of the size and at the offset that are in the ring's page; NULL and errno.
	 * The kernel writes over what was not read where it is not writable. */
	void *(*map_aux)(void *context, int fd, size_t size, uint64_t offset, bool is_writable);
};
extern const struct perf_backend perf_system;

struct cpu_list {
	uint32_t *data;
	size_t n, cap;
};

/* "0-3,8": as in sysfs and --cpu. -EINVAL for anything else. */
int cpu_list_parse(const char *text, struct cpu_list *out, struct error *err);
/* The CPUs that are online; `sys` NULL: "/sys". */
int cpu_list_online(const char *sys, struct cpu_list *out, struct error *err);
/* Those that there are, online or not. */
int cpu_list_present(const char *sys, struct cpu_list *out, struct error *err);
/* Can the counter be opened on this CPU? The PMU of a hybrid machine's event is that of some. */
bool counter_is_on_cpu(const struct counter *counter, uint32_t cpu);

struct rings_config {
	const struct perf_backend *backend;    /* NULL: perf_system */
	const struct counters *counters;       /* none: the side band alone */
	const struct counter_sources *sources; /* for the words of errors */
	const struct cpu_list *cpus; /* those that are offline are left out until they come */
	/* Threads to be profiled; none: every thread of the machine (or of the cgroup). */
	const int32_t *tids;
	size_t n_tids;
	int cgroup_fd;       /* >= 0: only this cgroup's threads */
	bool inherit;        /* and what the threads start */
	bool enable_on_exec; /* counting begins when the thread calls execve(2) */
	bool starts_paused;  /* counters wait for rings_pause(false); the side band does not */
	bool with_callchain;
	bool by_thread; /* a ring a thread, wherever it runs, instead of a ring a CPU */
	/* For a hardware trace: times are the kernel's own, which the trace's are converted to,
	 * and not CLOCK_MONOTONIC; threads tell when they come and go. */
	bool for_trace;
	bool for_file;        /* records are kept as they are: each tells its event and CPU */
	bool with_inodes;     /* mappings tell device and inode, not build ids */
	bool with_cgroup;     /* samples tell their cgroup, and records what has which number */
	uint32_t stack_bytes; /* of the user stack to copy with each sample, and its registers; 0:
				 none */
	uint64_t ring_bytes;  /* a CPU; 0: as large as this user may, at most 1 MiB (512 KiB
				 unprivileged), with copied stacks 16 MiB */
};

/* What was asked for and could not be had, in whole sentences; "" if all was. */
const char *rings_note(const struct rings *r);

int rings_open(const struct rings_config *config, struct rings **out, struct error *err);
void rings_close(struct rings *r); /* NULL is fine */
DEFINE_AT_EXIT(rings_close, struct rings)

/* The events that are open, the side band's last, as the kernel took them, with all their ids. */
void rings_each_event(const struct rings *r,
		      void (*visit)(void *context, const char *name,
				    const struct perf_event_attr *attr, const uint64_t *ids,
				    size_t n_ids),
		      void *context);

/* Calls back for every record as it stands, in the order of events, before its event; NULL: no
 * more. */
void rings_on_record(struct rings *r, void (*take)(void *context, const void *record, size_t size),
		     void *context);

int rings_enable(struct rings *r, struct error *err);

/* Counters off, or on again, all or one; the side band goes on. */
int rings_pause(struct rings *r, bool is_paused, struct error *err);
int rings_pause_counter(struct rings *r, uint32_t counter, bool is_paused, struct error *err);

/* What a counter counted so far, by all its descriptors. */
uint64_t rings_counted(const struct rings *r, uint32_t counter);

/*
 * Another rate or count, which attributes say from now on; `period` is what
 * PERF_EVENT_IOC_PERIOD takes for it.
 */
int rings_set_rate(struct rings *r, size_t counter, uint64_t rate, uint64_t period,
		   struct error *err);

/* A ring, for what lies beside it (collect/aux.h). */
struct ring_place {
	struct perf_event_mmap_page *page; /* NULL: this one was never opened */
	size_t data_bytes;
	int fd;       /* that is polled for it; -1 */
	uint32_t cpu; /* UINT32_MAX: any */
	int32_t tid;  /* by_thread; else -1 */
};
size_t rings_count(const struct rings *r);
struct ring_place rings_place(const struct rings *r, size_t ring);
size_t rings_data_bytes(const struct rings *r);
const struct perf_backend *rings_backend(const struct rings *r);

/* Whether context switches are records: not before Linux 4.3. */
bool rings_has_switches(const struct rings *r);

/* The descriptor of a counter that was the first to write into a ring; -1: none does. */
int rings_first_fd(const struct rings *r, size_t ring, uint32_t counter);

/* All of them. Not on while rings_pause() holds. From any thread, as long as no CPU comes online.
 */
void rings_switch_on(struct rings *r, size_t ring, uint32_t counter);
void rings_switch_off(struct rings *r, size_t ring, uint32_t counter);

/*
 * A CPU came online: what counts on all its threads ended when it went, or was never opened, and is
 * opened and enabled anew. Counters of single threads go on by themselves. 0; -ENOENT: not one of
 * the CPUs of rings_open(); else what perf_event_open(2) refused with.
 */
int rings_cpu_online(struct rings *r, uint32_t cpu, struct error *err);

/*
 * The two halves of it, for what has to be done between: a trace can't be switched on before it has
 * an area. *first: what was opened. Nobody else may read meanwhile.
 */
int rings_open_cpu(struct rings *r, uint32_t cpu, size_t *first, struct error *err);
int rings_enable_from(struct rings *r, size_t first, struct error *err); /* what is not paused */
void rings_disable(struct rings *r);

/*
 * Waits until a ring has much to read (it is half full, with copied stacks a quarter, or could be
 * so by now), `wake_fd` is readable, or the time is over.
 */
void rings_wait(struct rings *r, int wake_fd, int timeout_ms);

/*
 * Others poll the rings' descriptors and wake this by its wake_fd: what is ready is told to the one
 * who asks first.
 */
void rings_poll_elsewhere(struct rings *r, bool is_elsewhere);

/*
 * Pushes all events up to `until_ns` in the order of time (UINT64_MAX: all).
 * Returns 0 or what the sink refused with.
 */
int rings_drain(struct rings *r, uint64_t until_ns, struct event_sink *sink);

/*
 * The time up to which a drain that begins now sees everything: now, less what a
 * record needs from its time stamp to its place in the ring.
 */
uint64_t rings_safe_time(void);

/*
 * Losses since the last call: `lose` is called for each that is not zero. What the kernel
 * counts by counter is asked for after a LOST record and when `is_final`. LOST_SAMPLES and
 * THROTTLE are events of their own and not among these.
 */
void rings_collect_losses(struct rings *r, bool is_final,
			  void (*lose)(void *context, enum loss_reason reason, uint32_t counter,
				       uint64_t n),
			  void *context);

/* True where the kernel counts lost samples by counter (PERF_FORMAT_LOST, Linux 6.0). */
bool rings_has_exact_losses(const struct rings *r);

/* A counter's own value beside what came of it through the rings. */
struct rings_tally {
	uint64_t counted;         /* events, by all its descriptors */
	uint64_t samples, period; /* that were delivered, and what they stand for */
	uint64_t lost;            /* samples that found no room */
	uint32_t n_fds;
	uint64_t n_begun; /* pairs of a thread and a CPU that may have begun a period; or CPUs */
	bool was_throttled;
};

/* After the final rings_collect_losses(). NULL: it is not known whose lost records are. */
const struct rings_tally *rings_tally(const struct rings *r, uint32_t counter);
