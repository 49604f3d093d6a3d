/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of numbers 0 .. n that shrinks. Each member has a rank: how many members are below it. A
 * Fenwick tree finds both in logarithmic time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ranks {
	uint32_t *sums; /* by 1-based place: members in the range that ends there */
	uint32_t n, n_members;
};

void ranks_init(struct ranks *r, size_t n); /* all numbers are members */
void ranks_fini(struct ranks *r);
uint32_t ranks_of(const struct ranks *r, uint32_t number);
uint32_t ranks_at(const struct ranks *r, uint32_t rank); /* rank < n_members */
void ranks_remove(struct ranks *r, uint32_t number);     /* a member */
