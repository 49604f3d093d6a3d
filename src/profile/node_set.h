/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nodes of a profile by parent and function (with places: and place). Here, loading finds the
 * nodes that a chain shares with earlier chains.
 *
 * It uses open addressing and is at most half full, as base/intmap.h. But a slot holds only the
 * number of the node, and the profile has the key. So the slots of 30,000 nodes take 256 KiB
 * instead of a MiB of fresh pages.
 */
#pragma once

#include <stdint.h>

struct profile;

struct node_set {
	uint32_t *slots; /* numbers of nodes; 0, the root's: empty */
	uint32_t n_slots;
};

void node_set_fini(struct node_set *s);

/* Room for n nodes in all, those of the profile included. */
void node_set_reserve(struct node_set *s, const struct profile *p, uint64_t n);

/*
 * The node of `what` below `parent`. `what` is a function, or a place in a profile with places. 0:
 * there was none. It is known from now on, and must be the next one that the caller pushes to
 * p->nodes (and p->node_places).
 */
uint32_t node_set_get(struct node_set *s, const struct profile *p, uint32_t parent, uint32_t what);
