/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of processes that have no number here.
 *
 * In a container with a pid namespace, the kernel gives pid 0 to samples of all other namespaces,
 * as to the idle task (perf_event_pid() in kernel/events/core.c). Such samples get
 * PID_OTHER_NAMESPACE, and one frame replaces their user part; records of pid 0 are dropped. A
 * sample is idle only if its stack is in the kernel's idle loop. So without call chains, or if
 * /proc/kallsyms hides addresses, none is idle.
 */
#pragma once

#include "event/event.h"

struct pid_namespace;

/* In front of `next`, which stays the caller's. */
struct pid_namespace *pid_namespace_new(const char *proc, struct event_sink *next);
void pid_namespace_free(struct pid_namespace *p); /* NULL is fine */

struct event_sink *pid_namespace_sink(struct pid_namespace *p);
