/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that programs can make assay use, by the user who owns them.
 *
 * Each thing that grows with the bytes of a program's file has a share. A share that would exceed
 * the limit of its user or of all users is refused: the caller frees the thing, sets the share to
 * zero and reports the loss. So one user's programs cost one user's limit, however many they are.
 *
 *	struct guard_budget budget = { .user_bytes = 48 << 20, .total_bytes = 96 << 20 };
 *	struct guard_share share = { .budget = &budget, .user = st.st_uid };
 *
 *	if (!guard_share_set(&share, bytes_now))
 *		...
 *
 * A pool is a budget that threads share. Otherwise, all functions are for one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/intmap.h"

struct guard_budget {
	uint64_t user_bytes, total_bytes; /* the limits */
	uint64_t used;                    /* in KiB */
	struct intmap by_user;            /* in KiB */
};

struct guard_share {
	struct guard_budget *budget; /* NULL: no limit */
	uint32_t user;
	uint32_t held; /* in KiB */
};

/* All shares must be zero. */
void guard_budget_fini(struct guard_budget *budget);

/* The new size of a share, rounded up to KiB. False: over a limit, and the share is unchanged. A
 * smaller size is never refused. */
bool guard_share_set(struct guard_share *share, uint64_t bytes);

/* Each user of a pool has a reference. Pools of NULL have no limit. */
struct guard_pool;
struct guard_pool *guard_pool_new(uint64_t user_bytes, uint64_t total_bytes);
struct guard_pool *guard_pool_ref(struct guard_pool *pool);
void guard_pool_unref(struct guard_pool *pool); /* the last one: all shares must be zero */

/* As guard_share_set(), from any thread. `share` has the user alone at first, and one thread. */
bool guard_pool_set(struct guard_pool *pool, struct guard_share *share, uint64_t bytes);

uint64_t guard_pool_used(struct guard_pool *pool); /* in KiB */
