/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/returns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "machine/proc.h"

#define STATUS_MOST 65536

static bool has_call_of_returns(const char *proc)
{
#if defined(__x86_64__)
	cleanup(free_at_exit) char *path = xasprintf("%s/sys/kernel/osrelease", proc);
	unsigned int major = 0, minor = 0;
	char release[72];

	return file_read_line(path, release, sizeof(release)) &&
	       sscanf(release, "%u.%u", &major, &minor) == 2 && major == 6 && minor >= 11 &&
	       minor <= 13;
#else
	(void)proc;
	return false;
#endif
}

/* "Seccomp: 0": no filter. A thread that has ended has no status. */
static bool thread_has_filter(const char *proc, int32_t pid, int32_t tid)
{
	static const char field[] = "\nSeccomp:";
	cleanup(free_at_exit) char *path = xasprintf("%s/%d/task/%d/status", proc, pid, tid);
	cleanup(free_at_exit) char *text = NULL;
	const char *at;
	size_t size;

	if (file_read_all(path, STATUS_MOST, &text, &size) < 0)
		return false;
	at = strstr(text, field);
	return at && strtol(at + strlen(field), NULL, 10) != 0;
}

int returns_check(const char *proc, int32_t pid, struct error *err)
{
	struct pid_list tids = { 0 };
	bool has_filter = false;

	if (has_call_of_returns(proc) && proc_list_threads(proc, pid, &tids) == 0)
		vec_foreach (&tids, tid)
			has_filter |= thread_has_filter(proc, pid, *tid);
	vec_fini(&tids);
	return has_filter
		       ? error_set(err, -EPERM,
				   "--alloc: process %d has a filter of system calls (seccomp), "
				   "and probes on returns could end it: on x86-64, Linux 6.11 to "
				   "6.13 return from a probe by a system call that the filter "
				   "may refuse",
				   pid)
		       : 0;
}
