/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * XXH3 of whole blocks: the checksums of sessions and caches.
 *
 * Where libxxhash chooses by the processor at run time (x86), its widest vectors hash a block
 * that is in memory about twice as fast as the plain function. It has the same values.
 */
#pragma once

#include <xxhash.h>

#include "config.h"

#ifdef HAVE_XXH_DISPATCH
#include <xxh_x86dispatch.h> /* gives the functions' names to the choosing ones */
#endif

static inline uint64_t checksum(const void *bytes, size_t size, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, size, seed);
}

/* The same. `rest` gets each piece (base/pieces.h) that was read; NULL: it is the plain function.
 */
uint64_t checksum_in_pieces(const void *bytes, size_t size, uint64_t seed,
			    void (*rest)(const void *bytes, size_t size));
