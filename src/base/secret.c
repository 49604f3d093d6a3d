/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/secret.h"

#include <sys/random.h>

#include "base/clock.h"

uint64_t hash_secrets[2] = { 1, 0xff51afd7ed558ccdULL };

__attribute__((constructor)) static void make_hash_secrets(void)
{
	uint64_t random[2];

	/* Early in the boot of a machine, there are no random bytes yet. */
	if (getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
		random[0] = clock_monotonic_ns() ^ (uintptr_t)&random;
		random[1] = hash_secret_u64(random[0]);
	}
	hash_secrets[0] = random[0];
	hash_secrets[1] = random[1] | 1;
}
