/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that the kernel could not walk: it sends them raw, and they are walked here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/user_stacks.h"
#include "record/in_kernel_state.h"

static inline size_t raw_stack_size(const struct raw_stack_message *raw)
{
	return offsetof(struct raw_stack_message, stack) + (size_t)raw->n_pages * RAW_STACK_PAGE;
}

/* The registers and the stack of a thread, for a walk here whose result is kept under a hash. */
struct to_walk {
	int32_t pid, tid;
	uint64_t time_ns, hash;
	uint64_t process; /* as in struct java_key; 0: the sampler learns no frames from the walk */
	struct user_copy copy;
	const uint64_t *kernel; /* its frames in the kernel */
	uint32_t n_kernel;
	enum table_patience patience;
};

/* Keeps the walked stack in `set`. False: it can't wait here, and has to be walked later. */
bool raw_stack_walk(struct in_kernel *k, struct walked_stacks *set, const struct to_walk *w);

/*
 * Walks the raw stacks up to a time, to which the side band must be known. While a table is not
 * ready, the ring would fill; so, unless may_wait, stacks that need it stay. They are walked
 * without it when they have waited for RAW_WAIT_NS, or take more than RAWS_WAIT_BYTES. Otherwise, a
 * machine that leaves no time to the thread that makes tables would fill the memory, and then the
 * ring. Copies of stacks with code of Java or JavaScript do not stay: their walk waits for tables,
 * and reads the memory of the process, within the limits of pipeline/user_stacks.h. If that memory
 * is a file of a file system that never answers, the read blocks the caller.
 */
void raw_stacks_walk(struct in_kernel *k, uint64_t until_ns, bool may_wait);

/* The walked stack of a hash, with its frames, or NULL. */
const struct walked_stack *walked_stacks_find(const struct in_kernel *k, uint64_t hash,
					      const struct code_addr **frames);

/*
 * Forgets the stacks of the epoch before the last. A raw stack comes just before its first count,
 * so without a count by now it has none.
 */
void walked_stacks_forget(struct in_kernel *k);
void walked_stacks_fini(struct walked_stacks *w);
