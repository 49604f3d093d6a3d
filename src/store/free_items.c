/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/free_items.h"

#include <stdatomic.h>

#include "store/format.h"

static struct {
	uint64_t most, n_a_byte;
	_Atomic uint64_t taken;
} pools[N_FREE_POOLS] = {
	[FREE_ITEMS] = { .most = SEGMENT_ITEMS_FREE, .n_a_byte = SEGMENT_ITEMS_A_BYTE },
	[FREE_NAMES] = { .most = NAMES_FREE, .n_a_byte = NAMES_BYTES_A_BYTE },
};

bool free_hold(enum free_pool pool, uint64_t n, uint64_t n_bytes, struct free_held *session,
	       struct free_held *segment)
{
	uint64_t has = session->n[pool] + n_bytes * pools[pool].n_a_byte;
	uint64_t more = n > has ? n - has : 0;

	if (atomic_fetch_add(&pools[pool].taken, more) + more > pools[pool].most) {
		atomic_fetch_sub(&pools[pool].taken, more);
		return false;
	}
	session->n[pool] += more;
	segment->n[pool] += more;
	return true;
}

void free_release(struct free_held *segment)
{
	for (int i = 0; i < N_FREE_POOLS; i++)
		atomic_fetch_sub(&pools[i].taken, segment->n[i]);
}

void free_set(enum free_pool pool, uint64_t n)
{
	pools[pool].most = n;
}
