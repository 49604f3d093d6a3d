/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/arcs.h"

#include <string.h>

void arcs_fini(struct arcs *a)
{
	vec_fini(&a->codes);
	vec_fini(&a->arcs);
	free(a->slots.data);
	a->slots = (struct slots){ 0 };
}

void arcs_clear(struct arcs *a)
{
	a->codes.n = 0;
	a->arcs.n = 0;
	slots_clear(&a->slots);
}

void arcs_end(struct arcs *a)
{
	free(a->slots.data);
	a->slots = (struct slots){ 0 };
}

void arcs_forget_calls(struct arcs *a)
{
	a->arcs.n = 0;
	vec_foreach (&a->codes, code)
		code->first = ARCS_NONE;
}

uint64_t arcs_memory(const struct arcs *a)
{
	return a->codes.cap * sizeof(*a->codes.data) + a->arcs.cap * sizeof(*a->arcs.data) +
	       a->slots.n * sizeof(*a->slots.data);
}

static uint64_t code_hash(const struct code_addr *code)
{
	return hash_step(0, code->image.n, code->offset);
}

uint32_t arcs_intern(struct arcs *a, const struct code_addr *code)
{
	uint64_t hash = code_hash(code);
	uint32_t found, mask = a->slots.n - 1;

	for (uint32_t i = (uint32_t)hash & mask; a->slots.n && a->slots.data[i];
	     i = (i + 1) & mask) {
		const struct code_addr *have;

		if (!slot_is(a->slots.data[i], slot_tag(hash), &found))
			continue;
		have = &a->codes.data[found].code;
		if (have->image.n == code->image.n && have->offset == code->offset)
			return found;
	}
	found = (uint32_t)a->codes.n;
	if (slots_reserve(&a->slots, found))
		for (uint32_t i = 0; i < found; i++)
			slots_put(&a->slots, code_hash(&a->codes.data[i].code), i);
	vec_push(&a->codes, (struct arcs_code){ *code, ARCS_NONE });
	slots_put(&a->slots, hash, found);
	return found;
}

uint32_t arcs_last(const struct arcs *a, uint32_t x)
{
	uint32_t first = a->codes.data[x].first;

	return first == ARCS_NONE ? ARCS_NONE : a->arcs.data[first].code;
}

/* Moves an arc from its place behind `before` to the front. */
static void move_to_front(struct arcs *a, uint32_t x, uint32_t before, uint32_t arc)
{
	if (before == ARCS_NONE)
		return;
	a->arcs.data[before].next = a->arcs.data[arc].next;
	a->arcs.data[arc].next = a->codes.data[x].first;
	a->codes.data[x].first = arc;
}

uint32_t arcs_place(struct arcs *a, uint32_t x, uint32_t code)
{
	uint32_t arc = a->codes.data[x].first, before = ARCS_NONE;

	for (uint32_t place = 0; arc != ARCS_NONE && place < ARCS_DEPTH; place++) {
		if (a->arcs.data[arc].code == code) {
			move_to_front(a, x, before, arc);
			return place;
		}
		before = arc;
		arc = a->arcs.data[arc].next;
	}
	arcs_put(a, x, code);
	return ARCS_NONE;
}

void arcs_put(struct arcs *a, uint32_t x, uint32_t code)
{
	vec_push(&a->arcs, (struct arcs_arc){ code, a->codes.data[x].first });
	a->codes.data[x].first = (uint32_t)a->arcs.n - 1;
}

uint32_t arcs_at(struct arcs *a, uint32_t x, uint32_t place)
{
	uint32_t arc = a->codes.data[x].first, before = ARCS_NONE;

	if (place >= ARCS_DEPTH)
		return ARCS_NONE;
	for (; arc != ARCS_NONE && place; place--) {
		before = arc;
		arc = a->arcs.data[arc].next;
	}
	if (arc == ARCS_NONE)
		return ARCS_NONE;
	move_to_front(a, x, before, arc);
	return a->arcs.data[arc].code;
}
