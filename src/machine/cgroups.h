/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of cgroups, as samples carry them, and their paths.
 *
 * A number is the inode of a cgroup's directory; name_to_handle_at(2) gives the same. New cgroups
 * come as events (PERF_RECORD_CGROUP). Others are looked up in the cgroup v2 file system at first
 * use: by handle where that is permitted, else by a walk through the file system. Each hierarchy of
 * cgroup v1 has its own numbers (machine/cgroup_domain.h), which the in-kernel sampler writes;
 * without it, the path comes from /proc/PID/cgroup. Offline, only events give paths.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strings.h"
#include "machine/cgroup_domain.h"

struct cgroups;

/* Adds paths to `strings`, which stays the caller's. proc and sys: NULL while offline. */
struct cgroups *cgroups_new(const char *proc, const char *sys, struct strings *strings);
void cgroups_free(struct cgroups *c); /* NULL is fine */

void cgroups_add(struct cgroups *c, uint64_t id, const char *path);

/* The path of a number, from the root of the hierarchy: "/system.slice/…"; 0: not known. */
string_id cgroups_find(struct cgroups *c, uint64_t id);

/*
 * The present path of a process in /proc: in v2, else in systemd's hierarchy, else the first v1
 * path that is not the root. 0: the process has gone, or the map is offline.
 */
string_id cgroups_of_process(struct cgroups *c, int32_t pid);

/* Whether this is v2's root path, on a machine that keeps its groups in v1. */
bool cgroups_is_root(const struct cgroups *c, string_id path);
