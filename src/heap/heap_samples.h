/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the library in profiled programs to the pipeline: sampled allocations become samples.
 *
 *   programs (heap/shared.h)          ─┐
 *   rings (mmap, comm, fork, exit …)  ─┴─► in the order of time ─► walk ─► pipeline_add()
 *                                                                    └──► blocks that are held
 *
 * Instead of the library, uprobes can send the records (heap/heap_probes.h).
 *
 * A stack is walked as a copied stack of the rings is. Frames of our own library, and of the
 * operator new that called it, are left out: the innermost frame is the one that asked for memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct error;
struct heap;
struct machine;
struct pipeline;

/* The ring and the library; before the command is forked. */
int heap_open(uint64_t mean_bytes, struct heap **out, struct error *err);
void heap_free(struct heap *h); /* NULL is fine */

/*
 * The same by uprobes. heap_attach() places them in each running process, or heap_attach_later() in
 * a process that will execute files[0] (heap/heap_probes.h).
 */
int heap_open_probes(uint64_t mean_bytes, struct heap **out, struct error *err);
int heap_attach(struct heap *h, int32_t pid, struct error *err);
int heap_attach_later(struct heap *h, int32_t pid, char *const *files, size_t n_files,
		      struct error *err);
bool heap_has_probes(const struct heap *h);

/* No more samples begin: probes are removed. heap_collect() has the rest. */
void heap_stop(struct heap *h);

/* "NAME=VALUE" for the command's environment; ends with NULL. NULL: by probes. Valid as long as
 * `h`. */
char *const *heap_variables(const struct heap *h);

/* The first of N_HEAP_EVENTS counters. Both pointers stay the caller's, and outlive `h`. */
void heap_begin(struct heap *h, struct pipeline *pipeline, struct machine *machine,
		uint32_t first_counter);

/* The sink of the rings' events: it passes them on, with samples in between. */
struct event_sink *heap_sink(struct heap *h);

/* Takes the records that are there. Before the rings are read. */
void heap_collect(struct heap *h);

/* All events up to `until_ns` have been passed on: so are samples. */
void heap_deliver(struct heap *h, uint64_t until_ns);

/* The end: what is held, and what was lost. After the last heap_deliver(). */
void heap_finish(struct heap *h, uint64_t end_ns);

/* The longest time up to the next heap_collect(), so that the ring does not fill. */
uint64_t heap_patience_ns(const struct heap *h);
