/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes whose threads publish a context of OpenTelemetry (lang/thread_context.h), for the
 * labels that the sampler reads. A library's variable has another place in each process, and each
 * process has its own names of attributes (lang/process_context.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "machine/image.h"

struct event;
struct pipeline;
struct sampler;

struct thread_contexts;

/* `names`: the labels' names in programs, in the order of the sampler's. All stay the caller's. */
struct thread_contexts *thread_contexts_new(struct pipeline *pipeline, struct sampler *sampler,
					    const char *const *names, size_t n);
void thread_contexts_free(struct thread_contexts *c); /* NULL is fine */

/* For all of these, `c` NULL is fine: labels are not recorded. */

/* Each event of processes and mappings; `image`: the one that an event of a mapping names. */
void thread_contexts_follow(struct thread_contexts *c, const struct event *e, image_id image);

/* Tells the sampler of what has been found since the last time. */
void thread_contexts_look(struct thread_contexts *c, uint64_t now_ns);
