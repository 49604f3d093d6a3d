/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reasons why this machine keeps this user from profiling, or from a part of it, and the remedies.
 *
 * record, stat, top, events and doctor all use these texts. In a container, the remedy is the
 * engine's option; elsewhere it is a setting or a command of root.
 */
#pragma once

#include <stdbool.h>

#include "counter/counter.h"

struct error;

enum reason {
	REASON_NONE,
	REASON_NO_PERF_EVENTS,   /* the kernel is built without */
	REASON_PERF_FILTER,      /* seccomp, on perf_event_open(2) */
	REASON_LEVEL_CLOSED,     /* kernel.perf_event_paranoid, with no capability */
	REASON_LEVEL_KERNEL,     /* the same: no kernel mode */
	REASON_LEVEL_IN_KERNEL,  /* the same, for events that happen there alone */
	REASON_LEVEL_CPU,        /* the same: no whole CPUs */
	REASON_LEVEL_TRACEPOINT, /* the same: no tracepoints */
	REASON_SECURITY,         /* the kernel refuses for another cause */
	REASON_LOCKED_MEMORY,    /* no room for rings */
	REASON_NO_SYSFS,
	REASON_NO_PROC,
	REASON_FOREIGN_PROC,     /* /proc has the numbers of another pid namespace */
	REASON_HIDDEN_PROCESSES, /* hidepid */
	REASON_MASKED_SETTINGS,  /* /proc/sys/kernel */
	REASON_HIDDEN_KERNEL,    /* kptr_restrict hides the kernel's addresses from all */
	REASON_NO_SYSLOG,        /* the same, without CAP_SYSLOG */
	REASON_PID_NAMESPACE,    /* /proc shows the pids of a namespace */
	REASON_BPF_CAPABILITY,
	REASON_BPF_FILTER,
};

/* Parts of a sentence, without a full stop. */
struct reason_text {
	char reason[256];  /* what stands in the way */
	char remedy[384];  /* what to do; "" where nothing helps */
	char command[128]; /* for root's shell; "": in a container, or there is none */
};

void reason_tell(const struct counter_sources *s, enum reason reason, struct reason_text *out);

/*
 * Why perf_event_open(2) refuses with EPERM, EACCES or ENOSYS; of `attr` (NULL: of an event of
 * this process in user mode). REASON_NONE for other codes.
 */
enum reason reason_of_refusal(const struct counter_sources *s, const struct perf_event_attr *attr,
			      int code);

/*
 * The reason why /proc does not show the running processes: its options or namespace. REASON_NONE:
 * it does.
 */
enum reason reason_of_proc(const struct counter_sources *s);

/* -EINVAL with that reason and its remedy where /proc would give processes the names of others. */
int reason_refuse_proc(const struct counter_sources *s, struct error *err);

/* "kernel.NAME is 2", or that it cannot be read. */
void reason_put_setting(const struct counter_sources *s, const char *name, char *text, size_t size);

/* Why /proc/kallsyms hides addresses. */
enum reason reason_of_hidden_kernel(const struct counter_sources *s);
