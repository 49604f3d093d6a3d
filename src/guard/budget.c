/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/budget.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/thread.h"

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

/* ---- pools ---- */

struct guard_pool {
	atomic_uint n_refs;
	pthread_mutex_t lock;
	struct guard_budget budget;
};

struct guard_pool *guard_pool_new(uint64_t user_bytes, uint64_t total_bytes)
{
	struct guard_pool *pool = xcalloc(1, sizeof(*pool));

	atomic_init(&pool->n_refs, 1);
	thread_init_lock(&pool->lock);
	pool->budget =
		(struct guard_budget){ .user_bytes = user_bytes, .total_bytes = total_bytes };
	return pool;
}

struct guard_pool *guard_pool_ref(struct guard_pool *pool)
{
	if (pool)
		atomic_fetch_add(&pool->n_refs, 1);
	return pool;
}

void guard_pool_unref(struct guard_pool *pool)
{
	if (!pool || atomic_fetch_sub(&pool->n_refs, 1) > 1)
		return;
	guard_budget_fini(&pool->budget);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

bool guard_pool_set(struct guard_pool *pool, struct guard_share *share, uint64_t bytes)
{
	bool is_set;

	if (!pool)
		return true;
	pthread_mutex_lock(&pool->lock);
	share->budget = &pool->budget;
	is_set = guard_share_set(share, bytes);
	pthread_mutex_unlock(&pool->lock);
	return is_set;
}

uint64_t guard_pool_used(struct guard_pool *pool)
{
	uint64_t used;

	pthread_mutex_lock(&pool->lock);
	used = pool->budget.used;
	pthread_mutex_unlock(&pool->lock);
	return used;
}
