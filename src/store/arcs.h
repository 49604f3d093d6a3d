/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who called what, as far as a block has told: a model that makes call tree
 * nodes small.
 *
 * Deep stacks differ mostly in the mix of calls that were seen before, elsewhere
 * in the tree. So a node below X is said by its place among the children that
 * code X had last, and only a call that is new by its address. Writer and reader
 * keep the same lists. They begin empty with every block, so that a damaged
 * block costs no other.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "machine/image.h"
#include "store/tables.h"

#define ARCS_NONE  UINT32_MAX
#define ARCS_DEPTH 32 /* of a list: calls that come again only later count as new */

struct arcs_code {
	struct code_addr code;
	uint32_t first; /* arc, or ARCS_NONE: to the code called last */
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

/* The number of a code in this block. */
uint32_t arcs_intern(struct arcs *a, const struct code_addr *code);

/* Of the codes called by x: the one called last, or ARCS_NONE. */
uint32_t arcs_last(const struct arcs *a, uint32_t x);

/*
 * The place of `code` in the list of x, 0 or more, and moves it to the front;
 * or ARCS_NONE, and puts it there.
 */
uint32_t arcs_place(struct arcs *a, uint32_t x, uint32_t code);

/* Of a reader that was told that the code is in no place: puts it in front. */
void arcs_put(struct arcs *a, uint32_t x, uint32_t code);

/* The reverse: the code at a place, moved to the front; ARCS_NONE if there is no such place. */
uint32_t arcs_at(struct arcs *a, uint32_t x, uint32_t place);
