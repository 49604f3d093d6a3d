/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/token.h"

#include <assert.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define RANDOM_MOST 64

_Static_assert(TOKEN_HASH_SIZE == SHA256_DIGEST_SIZE, "the hash is SHA-256");

void token_print_hex(const uint8_t *bytes, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

bool token_make(char *out, size_t size)
{
	uint8_t random[RANDOM_MOST];
	size_t n = (size - 1) / 2;

	assert(size % 2 && n <= RANDOM_MOST);
	/* Without GRND_NONBLOCK, so few bytes come whole. */
	if (getrandom(random, n, 0) != (ssize_t)n)
		return false;
	token_print_hex(random, n, out);
	return true;
}

void token_hash(const char *token, uint8_t hash[static TOKEN_HASH_SIZE])
{
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, strlen(token), (const uint8_t *)token);
	sha256_digest(&sha, TOKEN_HASH_SIZE, hash);
}
