/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash map from a 64-bit key to a 32-bit index: pid to process, key to row.
 *
 * Open addressing with linear probing, at most half full; removal shifts the
 * run back, so there are no tombstones. { 0 } is a valid empty map. The order
 * of the slots is another one in each process (base/secret.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intmap_slot {
	uint64_t key;
	uint32_t value;
	uint32_t used;
};

struct intmap {
	struct intmap_slot *slots;
	uint32_t n, n_slots;
};

void intmap_fini(struct intmap *m);

/* The value of the key, or NULL. Valid until the next intmap_put() or intmap_remove(). */
uint32_t *intmap_find(const struct intmap *m, uint64_t key);

/* The value of the key, which is added with value 0 when absent (*is_new tells; may be NULL). */
uint32_t *intmap_put(struct intmap *m, uint64_t key, bool *is_new);
bool intmap_remove(struct intmap *m, uint64_t key);

void intmap_clear(struct intmap *m);

/*
 * Murmur3's 64-bit finalizer: cheap, and every input bit reaches every output bit. Anybody can find
 * colliding keys: for those that strangers choose, see base/secret.h.
 */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ (x >> 33);
}
