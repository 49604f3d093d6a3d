/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nodes of a profile by parent and function (with places: and place): where a chain that is
 * loaded finds the nodes that it shares with those before.
 *
 * Open addressing, at most half full, as in base/intmap.h, but what a slot holds is the node's
 * number alone and its key stands in the profile: a tree of 30,000 nodes has slots of 256 KiB, not
 * of a MiB, each page of which would be new to the process.
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
 * The node below `parent` of `what`: a function, or with places a place. 0: there is none, and
 * the next one that is pushed to p->nodes (and p->node_places) must be it: it is known from now on.
 */
uint32_t node_set_get(struct node_set *s, const struct profile *p, uint32_t parent, uint32_t what);
