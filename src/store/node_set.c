/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/node_set.h"

#include <stdlib.h>

#include "base/mem.h"

#define WORD_BITS 64u

struct node_set {
	uint64_t *bits;
	uint32_t *before; /* by word: the members before it; NULL until the set is complete */
	uint32_t n_words;
};

struct node_set *node_set_new(uint32_t n)
{
	struct node_set *set = xcalloc(1, sizeof(*set));

	set->n_words = n / WORD_BITS + 1;
	set->bits = xcalloc(set->n_words, sizeof(*set->bits));
	return set;
}

void node_set_free(struct node_set *set)
{
	if (!set)
		return;
	free(set->bits);
	free(set->before);
	free(set);
}

bool node_set_has(const struct node_set *set, uint32_t node)
{
	return set->bits[node / WORD_BITS] >> (node % WORD_BITS) & 1;
}

void node_set_add(struct node_set *set, uint32_t node)
{
	set->bits[node / WORD_BITS] |= 1ULL << (node % WORD_BITS);
}

bool node_set_has_any(const struct node_set *set, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++)
		if (i % WORD_BITS == 0 && !set->bits[i / WORD_BITS])
			i += WORD_BITS - 1;
		else if (node_set_has(set, i))
			return true;
	return false;
}

uint32_t node_set_complete(struct node_set *set)
{
	uint32_t n = 0;

	set->before = xcalloc(set->n_words, sizeof(*set->before));
	for (uint32_t i = 0; i < set->n_words; i++) {
		set->before[i] = n;
		n += (uint32_t)__builtin_popcountll(set->bits[i]);
	}
	return n;
}

uint32_t node_set_rank(const struct node_set *set, uint32_t node)
{
	uint32_t word = node / WORD_BITS;
	uint64_t below = set->bits[word] & ((1ULL << (node % WORD_BITS)) - 1);

	return set->before[word] + (uint32_t)__builtin_popcountll(below);
}
