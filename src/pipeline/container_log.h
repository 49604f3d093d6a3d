/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of containers and pods, collected while recording.
 *
 * Each cgroup is looked up when it is first seen (machine/engine_files.h). The names are kept in
 * the session (store/history/containers.h). Kubernetes writes its files shortly after a container
 * has started, so cgroups without a name are looked up again at the next flushes.
 */
#pragma once

#include "base/strings.h"

struct container_log;

/* For the session at `dir`. The paths are interned in `strings`, which must outlive the log. */
struct container_log *container_log_new(const char *dir, const struct strings *strings);
void container_log_free(struct container_log *l); /* NULL is fine */

/* A sample of this cgroup came. Cheap if the cgroup is known. */
void container_log_see(struct container_log *l, string_id cgroup);
/* Looks up the cgroups that still lack a name. Call at each flush. */
void container_log_retry(struct container_log *l);
