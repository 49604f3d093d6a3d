/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/budget.h"

#include <assert.h>

#define KIB 1024

void guard_budget_fini(struct guard_budget *budget)
{
	assert(budget->used == 0);
	intmap_fini(&budget->by_user);
}

bool guard_share_set(struct guard_share *share, uint64_t bytes)
{
	struct guard_budget *budget = share->budget;
	uint64_t kib = bytes / KIB + !!(bytes % KIB), of_user, of_all;
	uint32_t *held;

	if (!budget)
		return true;
	held = intmap_put(&budget->by_user, share->user, NULL);
	assert(*held >= share->held && budget->used >= *held);
	of_user = *held - share->held + kib;
	of_all = budget->used - share->held + kib;
	if (kib > share->held &&
	    (of_user > budget->user_bytes / KIB || of_all > budget->total_bytes / KIB))
		return false;
	budget->used = of_all;
	*held = (uint32_t)of_user;
	share->held = (uint32_t)kib;
	if (!of_user)
		intmap_remove(&budget->by_user, share->user);
	return true;
}
