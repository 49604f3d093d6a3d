/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/listed_tree.h"

void listed_tree_fini(struct listed_tree *t)
{
	vec_fini(&t->nodes);
	free(t->slots.data);
	arcs_fini(&t->codes);
	*t = (struct listed_tree){ 0 };
}

uint64_t listed_tree_memory(const struct listed_tree *t)
{
	return t->nodes.cap * sizeof(*t->nodes.data) + t->slots.n * sizeof(uint32_t) +
	       arcs_memory(&t->codes);
}

static uint64_t node_hash(uint32_t parent, uint32_t code)
{
	return hash_mix(parent, code);
}

static uint32_t add_node(struct listed_tree *t, uint32_t parent, uint32_t code)
{
	uint32_t n = (uint32_t)t->nodes.n;

	vec_push(&t->nodes, (struct listed_node){ parent, code });
	if (slots_reserve_dense(&t->slots, n))
		for (uint32_t i = 0; i < n; i++)
			slots_put(&t->slots,
				  node_hash(t->nodes.data[i].parent, t->nodes.data[i].code), i);
	slots_put(&t->slots, node_hash(parent, code), n);
	return n + 1;
}

uint32_t listed_tree_child(struct listed_tree *t, uint32_t parent, const struct code_addr *code)
{
	uint32_t number = arcs_intern(&t->codes, code), mask = t->slots.n - 1, found;
	uint64_t hash = node_hash(parent, number);

	for (uint32_t i = (uint32_t)hash & mask; t->slots.n && t->slots.data[i];
	     i = (i + 1) & mask) {
		const struct listed_node *node = t->nodes.data;

		if (!slot_is(t->slots.data[i], slot_tag(hash), &found))
			continue;
		if (node[found].parent == parent && node[found].code == number)
			return found + 1;
	}
	return add_node(t, parent, number);
}

void listed_tree_end(struct listed_tree *t)
{
	free(t->slots.data);
	t->slots = (struct slots){ 0 };
	arcs_end(&t->codes);
}

void listed_tree_drop_nodes(struct listed_tree *t)
{
	free(t->nodes.data);
	t->nodes.data = NULL;
	t->nodes.cap = 0;
	arcs_fini(&t->codes);
}
