/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython's perf trampolines in copied stacks (unwind/trampoline.h).
 *
 * A walk asks here about addresses in memory without a file. The code around such an address
 * is read in the process once, and the answer is kept. If a process has other code in such memory,
 * as of a JIT compiler, nothing more is read after some addresses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rule.h"

struct memory_reads;
struct trampolines;

/* The bytes of a process's memory. False: they can't be read. */
typedef bool trampoline_read_fn(void *context, int32_t pid, uint64_t addr, void *out, size_t size);

/* Of processes of this machine. */
struct trampolines *trampolines_new(trampoline_read_fn *read, void *context);
void trampolines_free(struct trampolines *t); /* NULL is fine */

/* A walk of a process begins. `space`: the number of its mappings (machine_space()). */
void trampolines_begin(struct trampolines *t, int32_t pid, uint64_t space);

/*
 * The rule of an address, as the walk looks it up. UNWIND_CFA_NONE: there is no trampoline, or that
 * is not known. Then it is wanted. A walk that runs by memory_reads_run() reads it at once.
 */
struct unwind_rule trampolines_rule(struct trampolines *t, uint64_t lookup_pc);

/*
 * Reads the code around the address that the walk wanted. True: it is known now, and the walk is
 * made once more. False: there is none, or it can't be read. `reads` NULL: nothing is read.
 */
bool trampolines_learn(struct trampolines *t, struct memory_reads *reads);

/* A process ended. */
void trampolines_forget(struct trampolines *t, int32_t pid);
