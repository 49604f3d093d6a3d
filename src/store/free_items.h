/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sessions of a process may hold beyond their bytes (store/format.h). Older writers did
 * not fill blocks up, so deep recursion of theirs has few bytes for many nodes. All open sessions
 * share one pool: many small parts cost no more memory than one. Any thread may call these.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum free_pool { FREE_ITEMS, FREE_NAMES, N_FREE_POOLS };

/* That a session holds of the pools, and that one of its segments does. */
struct free_held {
	uint64_t n[N_FREE_POOLS];
};

/*
 * A session has `n` ids and rows, or bytes of names, in all, and so many bytes in files. A segment
 * of it takes from the pool those that the bytes do not stand for. False: the pool has not enough.
 */
bool free_hold(enum free_pool pool, uint64_t n, uint64_t n_bytes, struct free_held *session,
	       struct free_held *segment);

/* Gives back all of a segment. */
void free_release(struct free_held *segment);

/* The size of a pool, for tests; SEGMENT_ITEMS_FREE and NAMES_FREE at first. */
void free_set(enum free_pool pool, uint64_t n);
