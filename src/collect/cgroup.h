/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control groups as targets: perf_event_open(2), PERF_FLAG_PID_CGROUP. */
#pragma once

#include <stdbool.h>

struct error;

/*
 * Opens the directory of a control group, which the kernel needs. `name` is a path below the mount
 * point of the hierarchy of perf events (cgroup v1's perf_event, else cgroup v2), or an absolute
 * path. Returns a descriptor or a negative errno.
 */
int cgroup_open(const char *name, struct error *err);

/* The mount point of that hierarchy, the caller's to free. -ENOENT. */
int cgroup_mount(char **out, struct error *err);

/* Whether a controller is in a hierarchy of cgroup v1. */
bool cgroup_has_v1(void);

/* Explains why the kernel has no events in the control group (-ENOENT); sets err, returns code. */
int cgroup_explain(int fd, int code, struct error *err);
