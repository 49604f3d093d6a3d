/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine made of files: sysfs, proc and tracefs below a temporary directory,
 * and a perf_event_open() that answers as the test wants. For tests of counter/ and doctor.
 */
#pragma once

#include "folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "counter/counter.h"

struct machine {
	char root[64], sysfs[96], proc[96], tracefs[96];
	struct counter_sources sources;
	struct counters counters;
	struct error err;
};

static inline void put(const struct machine *m, const char *path, const char *text)
{
	char full[PATH_MAX], *slash;

	snprintf(full, sizeof(full), "%s/%s", m->root, path);
	slash = strrchr(full, '/');
	*slash = '\0';
	assert_int_equal(file_mkdirs(full, 0755, NULL), 0);
	*slash = '/';
	assert_int_equal(file_replace(full, text, strlen(text), NULL), 0);
}

/* What the fake perf_event_open() answers: an errno for each thing asked for, 0 to succeed. */
static struct {
	int hardware, software, kernel_mode, all_cpus, precise;
	int filter; /* a seccomp filter's, whatever is asked; 0: there is none */
	int n_calls;
} answers;

static inline int fake_open(struct perf_event_attr *attr, int pid, int cpu, int group_fd,
			    unsigned long flags)
{
	(void)cpu, (void)group_fd;
	answers.n_calls++;
	if (answers.filter || flags & ~(unsigned long)PERF_FLAG_FD_CLOEXEC) {
		errno = answers.filter ? answers.filter : EINVAL;
		return -1;
	}
	errno = attr->type == PERF_TYPE_SOFTWARE ? answers.software : answers.hardware;
	if (!errno && !attr->exclude_kernel)
		errno = answers.kernel_mode;
	if (!errno && pid < 0)
		errno = answers.all_cpus;
	if (!errno && attr->precise_ip)
		errno = answers.precise;
	return errno ? -1 : dup(STDERR_FILENO);
}

#define ROOT_STATUS      "Name:\tassay\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n"
#define FILTERED_STATUS  "Name:\tassay\nCapEff:\t0000000000000000\nSeccomp:\t2\n"
#define NOBODY_STATUS    "Name:\tassay\nCapEff:\t0000000000000000\nSeccomp:\t0\n"
#define BARE_ROOT_STATUS "Name:\tassay\nUid:\t0\t0\t0\t0\nCapEff:\t0000000000000000\nSeccomp:\t0\n"

static inline int machine_setup(void **state)
{
	struct machine *m = xcalloc(1, sizeof(*m));

	memset(&answers, 0, sizeof(answers));
	snprintf(m->root, sizeof(m->root), "%s", "machine-XXXXXX");
	if (!mkdtemp(m->root))
		return -1;
	snprintf(m->sysfs, sizeof(m->sysfs), "%s/sys", m->root);
	snprintf(m->proc, sizeof(m->proc), "%s/proc", m->root);
	snprintf(m->tracefs, sizeof(m->tracefs), "%s/tracing", m->root);
	m->sources = (struct counter_sources){ m->sysfs, m->tracefs, m->proc, fake_open };
	put(m, "proc/self/status", ROOT_STATUS);
	put(m, "proc/sys/kernel/perf_event_paranoid", "2\n");
	put(m, "proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
	put(m, "tracing/events/sched/sched_switch/id", "316\n");
	put(m, "tracing/events/sched/sched_wakeup/id", "317\n");
	put(m, "tracing/events/sched/enable", "0\n");
	*state = m;
	return 0;
}

static inline int machine_teardown(void **state)
{
	struct machine *m = *state;

	counters_fini(&m->counters);
	file_remove_tree(m->root, NULL);
	free(m);
	return 0;
}

#define ON_A_MACHINE(f) cmocka_unit_test_setup_teardown(f, machine_setup, machine_teardown)
