/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/intmap.h"

#include <string.h>

#include "base/mem.h"
#include "base/secret.h"

void intmap_fini(struct intmap *m)
{
	free(m->slots);
	*m = (struct intmap){ 0 };
}

void intmap_clear(struct intmap *m)
{
	if (m->slots)
		memset(m->slots, 0, m->n_slots * sizeof(*m->slots));
	m->n = 0;
}

static uint32_t intmap_index(const struct intmap *m, uint64_t key)
{
	uint32_t i = (uint32_t)hash_secret_u64(key) & (m->n_slots - 1);

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & (m->n_slots - 1);
	return i;
}

uint32_t *intmap_find(const struct intmap *m, uint64_t key)
{
	uint32_t i;

	if (!m->n)
		return NULL;
	i = intmap_index(m, key);
	return m->slots[i].used ? &m->slots[i].value : NULL;
}

/* A table without memory for twice as many slots takes some more entries. */
static void intmap_resize(struct intmap *m, uint32_t n_slots)
{
	struct intmap old = *m;
	void *slots = mem_table(n_slots, sizeof(*m->slots), m->n, m->n_slots);

	if (!slots)
		return;
	m->n_slots = n_slots;
	m->slots = slots;
	for (uint32_t i = 0; i < old.n_slots; i++)
		if (old.slots[i].used)
			m->slots[intmap_index(m, old.slots[i].key)] = old.slots[i];
	free(old.slots);
}

uint32_t *intmap_put(struct intmap *m, uint64_t key, bool *is_new)
{
	struct intmap_slot *slot;

	if ((m->n + 1) * 2 > m->n_slots)
		intmap_resize(m, m->n_slots ? m->n_slots * 2 : 16);
	slot = &m->slots[intmap_index(m, key)];
	if (is_new)
		*is_new = !slot->used;
	if (!slot->used) {
		*slot = (struct intmap_slot){ .key = key, .used = 1 };
		m->n++;
	}
	return &slot->value;
}

bool intmap_remove(struct intmap *m, uint64_t key)
{
	uint32_t mask = m->n_slots - 1, hole, i;

	if (!m->n)
		return false;
	hole = intmap_index(m, key);
	if (!m->slots[hole].used)
		return false;
	for (i = (hole + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
		uint32_t home = (uint32_t)hash_secret_u64(m->slots[i].key) & mask;

		/* An entry may fill the hole only if its home is not between the two. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].used = 0;
	m->n--;
	return true;
}
