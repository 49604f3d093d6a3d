/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of the calls that a block has had so far. It makes call tree nodes small.
 *
 * Deep stacks differ mostly in the order of calls that the tree already has elsewhere. So the block
 * names a node below X by the place of its code in the list of codes that X called last. Only a new
 * call needs its address. Writer and reader keep the same lists. The lists begin empty in every
 * block, so a damaged block does not make others unreadable.
 *
 * A code is a (image, offset) pair; it has a number in the block. Not safe for threads: each
 * encoder and decoder has its own.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "machine/image.h"
#include "store/tables.h"

#define ARCS_NONE  UINT32_MAX
#define ARCS_DEPTH 32 /* most calls that a list can find; older calls count as new */

struct arcs_code {
	struct code_addr code;
	uint32_t first; /* the arc to the code called last, or ARCS_NONE */
};

struct arcs_arc {
	uint32_t code, next;
};

struct arcs {
	VEC(struct arcs_code) codes;
	VEC(struct arcs_arc) arcs;
	struct slots slots; /* of codes */
};

void arcs_fini(struct arcs *a);
void arcs_clear(struct arcs *a);
void arcs_end(struct arcs *a);          /* frees what finds codes: none is interned any more */
void arcs_forget_calls(struct arcs *a); /* the codes stay */
uint64_t arcs_memory(const struct arcs *a);

/* Returns the number of a code in this block. The first use of a code gives it a number. */
uint32_t arcs_intern(struct arcs *a, const struct code_addr *code);

/* The newest arc of x, to the code that x called last, or ARCS_NONE. */
uint32_t arcs_last(const struct arcs *a, uint32_t x);

/*
 * Returns the place of `code` in the list of x (0: called last), or ARCS_NONE. Either way, `code`
 * is at the front afterwards.
 */
uint32_t arcs_place(struct arcs *a, uint32_t x, uint32_t code);

/*
 * For a reader, when the block says that the code is new: puts the code at the front of the list of
 * x.
 */
void arcs_put(struct arcs *a, uint32_t x, uint32_t code);

/*
 * The reverse of arcs_place(): returns the code at a place and moves it to the front. ARCS_NONE:
 * there is no such place.
 */
uint32_t arcs_at(struct arcs *a, uint32_t x, uint32_t place);
