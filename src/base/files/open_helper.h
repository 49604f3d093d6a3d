/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Another process that may open more than this one: the opener of a daemon (guard/opener.h).
 *
 * Where the kernel refuses an open for lack of privilege (EACCES, EPERM), the caller asks the
 * helper. A process has no helper unless it sets one, before it starts threads. Any thread may ask.
 */
#pragma once

#include <stdbool.h>

struct perf_event_attr;

struct open_helper {
	/* Each returns a descriptor, or a negative errno: -EACCES if it opens no such thing. */
	int (*file)(const char *path); /* a file of the kernel, for reading */
	int (*counter)(const struct perf_event_attr *attr, int pid, int cpu, int leader,
		       unsigned long flags);
};

/* NULL: no helper any more. */
void open_helper_set(const struct open_helper *helper);

/*
 * The result of an open that the kernel answered with `error` (a negative errno): what the helper
 * opens, or `error` again.
 */
int open_helper_file(const char *path, int error);
int open_helper_counter(const struct perf_event_attr *attr, int pid, int cpu, int leader,
			unsigned long flags, int error);

/* Whether an error is one that a helper can mend. */
bool open_helper_can_mend(int error);
