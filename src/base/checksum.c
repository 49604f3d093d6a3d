/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/checksum.h"

#include "base/mem.h"
#include "base/pieces.h"

static void state_free(XXH3_state_t *state)
{
	XXH3_freeState(state);
}
DEFINE_AT_EXIT(state_free, XXH3_state_t)

uint64_t checksum_in_pieces(const void *bytes, size_t size, uint64_t seed,
			    void (*rest)(const void *bytes, size_t size))
{
	cleanup(state_free_at_exit) XXH3_state_t *state = rest ? XXH3_createState() : NULL;
	const uint8_t *at = bytes;

	if (!state || XXH3_64bits_reset_withSeed(state, seed) != XXH_OK)
		return checksum(bytes, size, seed);
	for (size_t n; size; at += n, size -= n) {
		n = piece_size(at, size);
		XXH3_64bits_update(state, at, n);
		rest(at, n);
	}
	return XXH3_64bits_digest(state);
}
