/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the in-kernel sampler to the pipeline: its counts become samples.
 *
 *   sampler (counts of packed frames) ─┐
 *   rings   (mmap, comm, fork, exit)  ─┴─► file numbers get paths ─► pipeline_add()
 */
#pragma once

#include "event/event.h"

struct error;
struct in_kernel;
struct machine;
struct pipeline;
struct sampler;

struct in_kernel *in_kernel_new(struct sampler *sampler, struct pipeline *pipeline,
				struct machine *machine);
void in_kernel_free(struct in_kernel *k); /* NULL is fine; the sampler stays the caller's */

/* Where the side band goes: it learns which path a file has, and passes all on. */
struct event_sink *in_kernel_sink(struct in_kernel *k);

/* Adds what the last epoch counted; `time_ns` is in the second that it was. */
int in_kernel_read(struct in_kernel *k, uint64_t time_ns, struct error *err);
