/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hashes with a secret of this process, for tables whose keys a stranger can choose: without the
 * secret, nobody can find many keys of one slot. Hashes differ in each process, so they are stored
 * nowhere, and no output may depend on them.
 */
#pragma once

#include <stdint.h>

extern uint64_t hash_secrets[2]; /* of getrandom(2), before main(); the second is odd */

/* As hash_u64() of base/intmap.h; the secrets come before, and in place of, its first factor. */
static inline uint64_t hash_secret_u64(uint64_t x)
{
	x ^= hash_secrets[0];
	x ^= x >> 33;
	x *= hash_secrets[1];
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ (x >> 33);
}
