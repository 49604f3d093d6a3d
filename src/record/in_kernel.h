/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the in-kernel sampler to the pipeline: its counts become samples.
 *
 *   sampler (counts of packed frames) ─┐
 *   rings   (mmap, comm, fork, exit)  ─┴─► file numbers get paths ─► pipeline_add()
 *                                              └──► unwind tables, for the sampler
 */
#pragma once

#include <stdbool.h>

#include "event/event.h"

struct blocked_thread;
struct error;
struct in_kernel;
struct machine;
struct pipeline;
struct sampler;

/*
 * The side band goes on to `next`, which gives it to the pipeline. `with_tables`: the sampler walks
 * by unwind tables (sampler_can_unwind()) and needs them.
 */
struct in_kernel *in_kernel_new(struct sampler *sampler, struct pipeline *pipeline,
				struct machine *machine, struct event_sink *next, bool with_tables);
void in_kernel_free(struct in_kernel *k); /* NULL is fine; the sampler stays the caller's */

/*
 * Prepares for a program that is about to start, before sampler_start(). It reads the program's
 * files now. So the kernel walks the program's first stacks, with the frames of its language. `pid`
 * is to execute it.
 */
void in_kernel_expect_program(struct in_kernel *k, int32_t pid, const char *path);

/* The same for the interpreters that these processes run; n 0: that the machine is likely to run.
 */
void in_kernel_expect_interpreters(struct in_kernel *k, const int32_t *pids, size_t n);

/* The sink of the side band: it learns the paths of files, and passes all events on. */
struct event_sink *in_kernel_sink(struct in_kernel *k);

/*
 * Reads the sampler's messages (files and raw stacks), at most one ring's size and about
 * `most_bytes` of them: call it when sampler_fd() is readable.
 */
int in_kernel_poll(struct in_kernel *k, size_t most_bytes, struct error *err);

/*
 * The side band was passed on up to `until_ns`: walks the raw stacks up to then, and gives the
 * kernel the unwind tables of their files.
 */
void in_kernel_catch_up(struct in_kernel *k, uint64_t until_ns);

/* Some data needs the side band, which is a few milliseconds late. */
bool in_kernel_is_behind(const struct in_kernel *k);

/*
 * Counters from this one on count waits (collect/bpf/shared.h); their samples are milliseconds
 * (pipeline/off_cpu.h). `with_thread_ids`: the owners of locks are named with their thread ids.
 */
void in_kernel_expect_waits(struct in_kernel *k, uint32_t first_counter, bool with_thread_ids);

/*
 * Samples get these labels of goroutines, at most LABELS_MAX: their names in the session and
 * in programs, which stay the caller's.
 */
void in_kernel_expect_labels(struct in_kernel *k, const char *const *names,
			     const char *const *in_program, size_t n);

/* Adds a thread that waited before the start, as if since `now_ns`. */
bool in_kernel_put_wait(struct in_kernel *k, const struct blocked_thread *t, uint64_t now_ns);

/* Adds the threads that still wait; after the last in_kernel_read(). */
int in_kernel_read_waits(struct in_kernel *k, uint64_t now_ns, struct error *err);

/* Adds the counts of the last epoch; `time_ns` is in its second. */
int in_kernel_read(struct in_kernel *k, uint64_t time_ns, struct error *err);
