/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocations by uprobes on the functions of the program's allocator, for programs that can't have
 * a library preloaded: running ones, static and set-uid ones (heap/bpf/heap.bpf.c).
 *
 * A probe is in the memory of one process, with all its threads. A child that begins later has
 * none. Each call of the functions traps into the kernel, twice if it returns memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_ring.h"

struct error;
struct heap_probes;

/*
 * Loads the program. -EACCES, -EOPNOTSUPP …: this user may not, or the kernel can't; the message
 * says it in plain words.
 */
int heap_probes_open(uint64_t mean_bytes, struct heap_probes **out, struct error *err);
void heap_probes_free(struct heap_probes *p); /* NULL is fine */

/*
 * Puts the probes into a running process. `tid` is one of its threads: all threads have the probes
 * until this thread ends. -ENOENT: the process has no malloc that can be found. -EPERM: its filter
 * of system calls could end it (heap/returns.h).
 */
int heap_probes_attach(struct heap_probes *p, int32_t tid, struct error *err);

/* A process that will execute a program; `files`: heap/allocators.h. */
int heap_probes_attach_later(struct heap_probes *p, int32_t pid, char *const *files, size_t n_files,
			     struct error *err);

/* As heap_ring_collect() and heap_ring_take_losses(). */
uint64_t heap_probes_collect(struct heap_probes *p, struct heap_records *out);
struct heap_ring_losses heap_probes_take_losses(struct heap_probes *p);

/* Whether probes are in this file: an allocator's own mappings do not count. */
bool heap_probes_are_in(const struct heap_probes *p, const char *image);

/* Calls that trapped, of all threads since the start. */
uint64_t heap_probes_calls(const struct heap_probes *p);

/* Removes the probes; what was sampled can still be collected. */
void heap_probes_detach(struct heap_probes *p);
