/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/tables.h"

#include <string.h>

#include "store/format.h"

#define SLOTS_MIN 1024

_Static_assert(SEGMENT_IDS_MAX < 1u << SLOT_INDEX_BITS, "indexes fit slots");

static void slots_make(struct slots *s, uint32_t n)
{
	free(s->data);
	s->n = n;
	s->data = xcalloc(n, sizeof(*s->data));
}

void slots_clear(struct slots *s)
{
	if (s->data)
		memset(s->data, 0, s->n * sizeof(*s->data));
}

bool slots_reserve(struct slots *s, uint32_t n)
{
	if (s->n > 2 * n + 1)
		return false;
	slots_make(s, s->n ? s->n * 2 : SLOTS_MIN);
	return true;
}

bool slots_reserve_dense(struct slots *s, uint32_t n)
{
	if (s->n - s->n / 4 > n)
		return false;
	slots_make(s, s->n ? s->n * 2 : SLOTS_MIN);
	return true;
}

void slots_put(struct slots *s, uint64_t hash, uint32_t index)
{
	uint32_t i = (uint32_t)hash & (s->n - 1);

	while (s->data[i])
		i = (i + 1) & (s->n - 1);
	s->data[i] = slot_tag(hash) | (index + 1);
}

/* Makes room for one more element of the array `data`. */
#define grow(data, n, cap)                                                 \
	do {                                                               \
		if ((n) == (cap)) {                                        \
			(cap) = (cap) ? (cap)*2 : SLOTS_MIN / 2;           \
			(data) = xrealloc((data), (cap), sizeof(*(data))); \
		}                                                          \
	} while (0)

/* keeps the memory */
static void tree_clear(struct tree *t)
{
	t->nodes[0] = (struct tree_entry){ 0 };
	t->n = 1;
	slots_clear(&t->slots);
}

void tree_init(struct tree *t)
{
	grow(t->nodes, t->n, t->cap);
	slots_make(&t->slots, SLOTS_MIN);
	tree_clear(t);
}

void tree_fini(struct tree *t)
{
	free(t->nodes);
	free(t->slots.data);
	*t = (struct tree){ 0 };
}

static void tree_rehash(struct tree *t)
{
	uint64_t *hashes = xcalloc(t->n, sizeof(*hashes));

	for (uint32_t i = 1; i < t->n; i++) {
		const struct tree_entry *e = &t->nodes[i];

		hashes[i] = hash_step(hashes[e->parent], e->image, e->offset);
		slots_put(&t->slots, hashes[i], i);
	}
	free(hashes);
}

uint32_t tree_child(struct tree *t, uint32_t parent, const struct tree_step *step)
{
	uint32_t mask = t->slots.n - 1, tag = slot_tag(step->hash), found;

	for (uint32_t i = (uint32_t)step->hash & mask; t->slots.data[i]; i = (i + 1) & mask) {
		const struct tree_entry *e = t->nodes;

		if (!slot_is(t->slots.data[i], tag, &found))
			continue;
		e += found;
		if (e->offset == step->offset && e->parent == parent && e->image == step->image)
			return found;
	}
	grow(t->nodes, t->n, t->cap);
	t->nodes[t->n] = (struct tree_entry){ parent, step->image, step->offset };
	if (slots_reserve(&t->slots, t->n))
		tree_rehash(t);
	slots_put(&t->slots, step->hash, t->n);
	return t->n++;
}

void tree_hash_steps(const struct tree *t, struct tree_step *steps, uint32_t n)
{
	uint32_t mask = t->slots.n - 1;
	uint64_t hash = 0;

	for (uint32_t i = 0; i < n; i++) {
		hash = hash_step(hash, steps[i].image, steps[i].offset);
		steps[i].hash = hash;
		__builtin_prefetch(&t->slots.data[hash & mask]);
	}
}

void tree_fetch_nodes(const struct tree *t, const struct tree_step *steps, uint32_t n)
{
	uint32_t mask = t->slots.n - 1, found;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = t->slots.data[steps[i].hash & mask];

		if (slot && slot_is(slot, slot_tag(steps[i].hash), &found))
			__builtin_prefetch(&t->nodes[found]);
	}
}

uint32_t tree_descend(struct tree *t, const struct tree_step *steps, uint32_t n)
{
	uint32_t node = 0;

	for (uint32_t i = 0; i < n; i++)
		node = tree_child(t, node, &steps[i]);
	return node;
}

uint64_t tree_memory(const struct tree *t)
{
	return (uint64_t)t->cap * sizeof(*t->nodes) + (uint64_t)t->slots.n * sizeof(uint32_t);
}

static uint64_t class_hash(const struct profile_class *c)
{
	return hash_mix(hash_mix((uint64_t)c->counter << 32 | (uint32_t)c->pid,
				 (uint64_t)c->cpu << 32 | (uint32_t)c->tid),
			((uint64_t)c->app.n << 32 | c->comm.n) ^ (uint64_t)c->cgroup.n << 48);
}

static bool class_equal(const struct profile_class *a, const struct profile_class *b)
{
	return !memcmp(a, b, sizeof(*a));
}
_Static_assert(sizeof(struct profile_class) == 28, "compared as bytes: no padding");

void classes_fini(struct class_table *t)
{
	free(t->data);
	free(t->slots.data);
	*t = (struct class_table){ 0 };
}

static uint32_t classes_find(struct class_table *t, const struct profile_class *class)
{
	uint64_t hash = class_hash(class);
	uint32_t mask = t->slots.n - 1, tag = slot_tag(hash), found;

	for (uint32_t i = (uint32_t)hash & mask; t->slots.n && t->slots.data[i]; i = (i + 1) & mask)
		if (slot_is(t->slots.data[i], tag, &found) && class_equal(&t->data[found], class))
			return found;
	grow(t->data, t->n, t->cap);
	t->data[t->n] = *class;
	if (slots_reserve(&t->slots, t->n))
		for (uint32_t i = 0; i < t->n; i++)
			slots_put(&t->slots, class_hash(&t->data[i]), i);
	slots_put(&t->slots, hash, t->n);
	return t->n++;
}

uint32_t classes_intern(struct class_table *t, const struct profile_class *class)
{
	if (t->last >= t->n || !class_equal(&t->data[t->last], class))
		t->last = classes_find(t, class);
	return t->last;
}

uint64_t classes_memory(const struct class_table *t)
{
	return (uint64_t)t->cap * sizeof(*t->data) + (uint64_t)t->slots.n * sizeof(uint32_t);
}

void tally_fini(struct tally *t)
{
	free(t->rows);
	free(t->slots.data);
	*t = (struct tally){ 0 };
}

void tally_end(struct tally *t)
{
	free(t->slots.data);
	t->slots = (struct slots){ 0 };
}

void tally_clear(struct tally *t)
{
	t->n = 0;
	slots_clear(&t->slots);
}

static uint64_t row_hash(uint32_t class, uint32_t node)
{
	return hash_mix(class, node);
}

static uint32_t tally_append(struct tally *t, uint64_t hash, const struct count_row *row)
{
	grow(t->rows, t->n, t->cap);
	t->rows[t->n] = *row;
	if (slots_reserve(&t->slots, t->n))
		for (uint32_t i = 0; i < t->n; i++)
			slots_put(&t->slots, row_hash(t->rows[i].class, t->rows[i].node), i);
	slots_put(&t->slots, hash, t->n);
	return t->n++;
}

uint32_t tally_add(struct tally *t, uint32_t class, uint32_t node, uint64_t samples,
		   uint64_t period)
{
	uint64_t hash = row_hash(class, node);
	uint32_t mask = t->slots.n - 1, tag = slot_tag(hash), found;

	for (uint32_t i = (uint32_t)hash & mask; t->slots.n && t->slots.data[i];
	     i = (i + 1) & mask) {
		struct count_row *row = t->rows;

		if (!slot_is(t->slots.data[i], tag, &found))
			continue;
		row += found;
		if (row->class == class && row->node == node) {
			row->samples += samples;
			row->period += period;
			return found;
		}
	}
	return tally_append(t, hash, &(struct count_row){ class, node, samples, period });
}

uint64_t tally_memory(const struct tally *t)
{
	return (uint64_t)t->cap * sizeof(*t->rows) + (uint64_t)t->slots.n * sizeof(uint32_t);
}
