/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this machine says about counting: sysctls, capabilities, the places of
 * sysfs and tracefs. All of it through struct counter_sources, so that a test
 * can put any machine underneath. A NULL `s` is this machine everywhere here.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "counter/counter.h"

const char *sources_sysfs(const struct counter_sources *s);

/* False: nothing is mounted there. */
bool sources_has_sysfs(const struct counter_sources *s);

const char *sources_proc(const struct counter_sources *s);

/* The directory that holds tracefs' events/; false (and the usual place) when there is none. */
bool sources_tracefs(const struct counter_sources *s, char path[static PATH_MAX]);

/* A whole number in a file below /proc, such as "sys/kernel/perf_event_paranoid". */
bool sources_number(const struct counter_sources *s, const char *file, int64_t *out);

/* kernel.perf_event_paranoid; 2, the kernel's own default, where it can't be read. */
int sources_paranoid(const struct counter_sources *s);

/* kernel.perf_event_max_sample_rate in Hz; 0 where it can't be read. */
uint64_t sources_max_rate(const struct counter_sources *s);

/*
 * An effective capability (linux/capability.h) of this process. One of a user namespace does not
 * count: what perf events and BPF ask for, they ask for in the initial one.
 */
bool sources_capable(const struct counter_sources *s, int capability);

/* The effective user is root, whatever capabilities are left. */
bool sources_is_root(const struct counter_sources *s);

/* The mode of the seccomp filter on this process: 0 none, 2 a filter. */
bool sources_seccomp(const struct counter_sources *s, int64_t *mode);

/* Whether the kernel itself has perf events, as far as its settings tell. */
bool sources_has_perf_events(const struct counter_sources *s);

/* Whether perf_event_open(2) does not reach the kernel: asked in a way that the kernel refuses. */
bool sources_perf_is_filtered(const struct counter_sources *s);

/* The number of our pid namespace; 0: it is the initial one, or not known. */
uint32_t sources_pid_namespace(const struct counter_sources *s);
bool sources_in_user_namespace(const struct counter_sources *s);

/*
 * Whether we are in a container, so that an engine's option is the remedy: by the engine's marks,
 * or by separate namespaces.
 */
bool sources_in_container(const struct counter_sources *s);

/* What /proc is to this process. */
enum proc_state {
	PROC_OWN,
	PROC_ABSENT,
	PROC_FOREIGN,      /* its numbers are those of another pid namespace */
	PROC_HIDES_OTHERS, /* hidepid: processes of other users are not in it */
};
enum proc_state sources_proc_state(const struct counter_sources *s);

/* CAP_PERFMON, or CAP_SYS_ADMIN, which includes it: the paranoid level does not bind. */
bool sources_perfmon(const struct counter_sources *s);

/* May this user sample the kernel? perf_event_open(2): a level below 2, or CAP_PERFMON. */
bool sources_may_kernel(const struct counter_sources *s);

/* Kernel lockdown at 'confidentiality': BPF programs may not read kernel memory. */
bool sources_confidential(const struct counter_sources *s);

/* perf_event_open(2) with PERF_FLAG_FD_CLOEXEC: a descriptor or a negative errno. */
int sources_open(const struct counter_sources *s, const struct perf_event_attr *attr, int pid,
		 int cpu);

/* The same in a group, whose members are on the processor all at once or not at all. */
int sources_open_in_group(const struct counter_sources *s, const struct perf_event_attr *attr,
			  int pid, int cpu, int leader);
