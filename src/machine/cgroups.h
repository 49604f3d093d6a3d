/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of cgroups, as samples carry them, and their paths.
 *
 * A number is what name_to_handle_at(2) and the inode of a cgroup's directory say. Events tell
 * those of cgroups that are made (PERF_RECORD_CGROUP); others are looked up in the cgroup v2 file
 * system when they are met first, by handle where that is permitted, else by walking through it.
 * Groups of cgroup v1 have numbers of their own in each hierarchy
 * (machine/cgroup_domain.h), which the in-kernel sampler tells; else /proc/PID/cgroup tells there.
 * Offline events alone tell.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strings.h"
#include "machine/cgroup_domain.h"

struct cgroups;

/* Paths are added to `strings`, which stays the caller's. proc and sys: NULL while offline. */
struct cgroups *cgroups_new(const char *proc, const char *sys, struct strings *strings);
void cgroups_free(struct cgroups *c); /* NULL is fine */

void cgroups_tell(struct cgroups *c, uint64_t id, const char *path);

/* The path of a number, from the root of the hierarchy: "/system.slice/…"; 0: not known. */
string_id cgroups_find(struct cgroups *c, uint64_t id);

/*
 * The path of a process as /proc has it now: that of v2, else systemd's, else the first of v1
 * that is not the root. 0: it is gone, or offline.
 */
string_id cgroups_of_process(struct cgroups *c, int32_t pid);

/* Whether it is the root's path: of v2 on a machine where v1 has the groups. */
bool cgroups_is_root(const struct cgroups *c, string_id path);
