/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/losses.h"

#include <assert.h>

#include "base/mem.h"
#include "store/format.h"

void losses_add(struct losses *l, enum loss_reason reason, uint32_t counter, uint64_t n)
{
	vec_foreach (l, row) {
		if (row->reason == reason && row->counter == counter) {
			row->n += n;
			return;
		}
	}
	vec_push(l, (struct loss_row){ reason, counter, n });
}

_Static_assert(N_LOSS_REASONS <= BLOCK_LOSSES_MAX, "a row for each reason");

void losses_fold(struct losses *l)
{
	struct loss_row sums[N_LOSS_REASONS] = { 0 };

	if (l->n <= BLOCK_LOSSES_MAX)
		return;
	vec_foreach (l, row)
		sums[row->reason].n += row->n;
	l->n = 0;
	for (uint32_t reason = 0; reason < N_LOSS_REASONS; reason++)
		if (sums[reason].n)
			losses_add(l, reason, UINT32_MAX, sums[reason].n);
	assert(l->n <= BLOCK_LOSSES_MAX);
}
