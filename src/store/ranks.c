/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/ranks.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

static uint32_t low_bit(uint32_t i)
{
	return i & -i;
}

void ranks_init(struct ranks *r, size_t n)
{
	*r = (struct ranks){ .sums = xmalloc((n + 1) * sizeof(*r->sums)),
			     .n = (uint32_t)n,
			     .n_members = (uint32_t)n };
	for (uint32_t i = 1; i <= r->n; i++)
		r->sums[i] = low_bit(i);
}

void ranks_fini(struct ranks *r)
{
	free(r->sums);
}

uint32_t ranks_of(const struct ranks *r, uint32_t number)
{
	uint32_t rank = 0;

	for (uint32_t i = number; i; i -= low_bit(i))
		rank += r->sums[i];
	return rank;
}

uint32_t ranks_at(const struct ranks *r, uint32_t rank)
{
	uint32_t at = 0, step = 1;

	assert(rank < r->n_members);
	while (step <= r->n / 2)
		step *= 2;
	for (; step; step /= 2)
		if (at + step <= r->n && r->sums[at + step] <= rank) {
			at += step;
			rank -= r->sums[at];
		}
	return at;
}

void ranks_remove(struct ranks *r, uint32_t number)
{
	for (uint32_t i = number + 1; i <= r->n; i += low_bit(i))
		r->sums[i]--;
	r->n_members--;
}
