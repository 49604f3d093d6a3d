/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sample's frames: its pc and its call chain as (image, offset), innermost first.
 *
 *   kernel part of the chain ─┐
 *   user part of the chain   ─┼─► addresses ─► machine ─► (image, offset)
 *   or its copied stack      ─┘
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "machine/machine.h"
#include "perfdata/record.h"

#define MAX_FRAMES (RECORD_MAX_CALLERS + 1)

struct frames {
	uint32_t n, n_kernel; /* frames [0, n_kernel) are the kernel's */
	uint32_t n_unmapped;  /* callers that no mapping covers */
	int leaf_loss;        /* enum loss_reason why frame 0 is unknown, or -1 */
	int cut;              /* enum loss_reason why a copied stack ended early, or -1 */
	bool is_walked;       /* the user part is of a copied stack */
	struct code_addr code[MAX_FRAMES];
	uint64_t addr[MAX_FRAMES]; /* of a caller: its return address */
};

struct frame_resolver;
struct user_stacks;

struct frame_resolver_config {
	struct machine *machine; /* stays the caller's */
	const char *proc;        /* as for user_stacks_new() */
	const char *arch;
	/*
	 * Callers that no mapping covers are kept as frames of [unknown]. Else they are left out,
	 * and the user part ends at the first: code without frame pointers leaves any number where
	 * a return address would be, and what follows is no more trustworthy.
	 */
	bool keeps_unmapped;
	/* Frame 0's address is all that is wanted: nothing is looked up, and there are no callers.
	 */
	bool addresses_alone;
};

struct frame_resolver *frame_resolver_new(const struct frame_resolver_config *config);
void frame_resolver_free(struct frame_resolver *r); /* NULL is fine */

/* The frames of a sample, as the machine is now; they are the caller's until the next call. */
struct frames *frames_resolve(struct frame_resolver *r, const struct event *sample,
			      const struct thread_view *thread);

/* A sample that will come: fetches what its walk will read, if its stack was copied. */
void frames_expect(struct frame_resolver *r, const struct event *sample);

/* The walker of copied stacks. It stays the resolver's. */
struct user_stacks *frame_resolver_user_stacks(struct frame_resolver *r);
