/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copied user stacks, walked while recording: what --call-graph dwarf does.
 *
 * The kernel copies a sample's user registers and the top of its stack; here
 * they become a chain of addresses by the unwind tables of the images that
 * the process has mapped (unwind/). Tables are built, or found in the cache, at the
 * first address in an image, by a thread of their own: a walk waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/loss.h"
#include "machine/machine.h"

struct unwind_table;
struct user_stacks;

/*
 * `proc`: where living processes' files are reached; NULL: images are files of their path.
 * `arch`: uname -m of the machine whose stacks they are; NULL or "": this one's.
 */
struct user_stacks *user_stacks_new(struct machine *machine, const char *proc, const char *arch);
void user_stacks_free(struct user_stacks *s); /* NULL is fine */

/* Innermost first; the first is the user's pc, the others are return addresses. */
struct user_chain {
	const uint64_t *pcs; /* hold until the next walk */
	uint32_t n;          /* 0: the sample has no user registers */
	int cut;             /* enum loss_reason why it ends before the outermost frame, or -1 */
	bool is_pending;     /* it came to a table that is being built, and might not wait */
};

struct user_chain user_stacks_walk(struct user_stacks *s, int32_t pid,
				   const struct thread_view *thread,
				   const struct sample_event *sample);

/* A sample that will be walked soon: fetches what its walk will read, as far as it is known. */
void user_stacks_expect(struct user_stacks *s, const struct event *sample);

/* Registers of this machine by DWARF number (perfdata/regs.h has how many), and the stack from sp
 * on. */
struct user_copy {
	const uint64_t *regs;
	const void *stack;
	size_t stack_size;
	bool is_whole; /* no more could be copied */
};

struct user_chain user_stacks_walk_copy(struct user_stacks *s, int32_t pid,
					const struct thread_view *thread,
					const struct user_copy *copy, bool may_wait);

/*
 * The unwind table of an image of the machine, which a process `pid` has mapped. False:
 * it is being built; ask again. *table stays NULL where there is none; a table stays
 * until user_stacks_free().
 */
bool user_stacks_table(struct user_stacks *s, int32_t pid, image_id image,
		       const struct unwind_table **table);
bool user_stacks_vdso_table(struct user_stacks *s, const struct unwind_table **table);

/* unwind_library_rest() of all tables that stacks were walked with since the last call. */
void user_stacks_rest_walked(struct user_stacks *s);

/* Grows with each table that was being built and now is there. */
uint64_t user_stacks_generation(const struct user_stacks *s);
