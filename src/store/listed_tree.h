/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call tree whose nodes name their codes by number: half of the memory of struct tree
 * (store/tables.h), and slower. For segments that list their codes (store/listed_nodes.h).
 */
#pragma once

#include "store/arcs.h"

struct listed_node {
	uint32_t parent; /* the number of a node; 0: the root */
	uint32_t code;   /* the number of a code in `codes` */
};

/* nodes.data[i] is the node of number i + 1. { 0 } is a tree of the root alone. */
struct listed_tree {
	VEC(struct listed_node) nodes;
	struct slots slots;
	struct arcs codes; /* its lists of calls are the encoder's */
};

void listed_tree_fini(struct listed_tree *t);
uint64_t listed_tree_memory(const struct listed_tree *t);

/* The child of `parent` with this code. A new node has the next number. */
uint32_t listed_tree_child(struct listed_tree *t, uint32_t parent, const struct code_addr *code);

/* Frees what finds nodes: none is added any more. Then the nodes can go, too: their number stays.
 */
void listed_tree_end(struct listed_tree *t);
void listed_tree_drop_nodes(struct listed_tree *t);
