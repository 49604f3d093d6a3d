/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of containers and pods while they are recorded: each cgroup is looked up when it is first
 * seen (machine/engine_files.h), and what is found is kept with the session (store/containers.h).
 * Kubernetes makes its files just after a container has started, so what is not found is looked up
 * again at the next flushes.
 */
#pragma once

#include "base/strings.h"

struct container_log;

/* Of the session at `dir`; the paths are of `strings`, which outlives it. */
struct container_log *container_log_new(const char *dir, const struct strings *strings);
void container_log_free(struct container_log *l); /* NULL is fine */

void container_log_see(struct container_log *l, string_id cgroup);
void container_log_retry(struct container_log *l);
