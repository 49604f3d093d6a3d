/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/node_set.h"

#include "base/mem.h"
#include "base/secret.h"
#include "profile/profile.h"

#define SLOTS_MIN 64u

void node_set_fini(struct node_set *s)
{
	free(s->slots);
	*s = (struct node_set){ 0 };
}

static uint32_t what_of(const struct profile *p, uint32_t node)
{
	return p->places.n ? p->node_places.data[node] : p->nodes.data[node].function;
}

static uint32_t first_slot(const struct node_set *s, uint32_t parent, uint32_t what)
{
	return (uint32_t)hash_secret_u64((uint64_t)parent << 32 | what) & (s->n_slots - 1);
}

static uint32_t empty_slot(const struct node_set *s, uint32_t slot)
{
	while (s->slots[slot])
		slot = (slot + 1) & (s->n_slots - 1);
	return slot;
}

void node_set_reserve(struct node_set *s, const struct profile *p, uint64_t n)
{
	uint32_t n_slots = MAX(s->n_slots, SLOTS_MIN), *slots;

	while (n_slots / 2 < n && n_slots < 1u << 31)
		n_slots *= 2;
	if (n_slots == s->n_slots)
		return;
	slots = mem_table(n_slots, sizeof(*slots), p->nodes.n, s->n_slots);
	if (!slots)
		return;
	free(s->slots);
	s->n_slots = n_slots;
	s->slots = slots;
	for (uint32_t i = 1; i < p->nodes.n; i++)
		s->slots[empty_slot(s, first_slot(s, p->nodes.data[i].parent, what_of(p, i)))] = i;
}

uint32_t node_set_get(struct node_set *s, const struct profile *p, uint32_t parent, uint32_t what)
{
	uint32_t slot, node;

	node_set_reserve(s, p, p->nodes.n);
	slot = first_slot(s, parent, what);
	while ((node = s->slots[slot])) {
		if (p->nodes.data[node].parent == parent && what_of(p, node) == what)
			return node;
		slot = (slot + 1) & (s->n_slots - 1);
	}
	s->slots[slot] = (uint32_t)p->nodes.n;
	return 0;
}
