/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of bytes kept between runs, by the build id of what they were made of: DIR/BUILDID.SUFFIX,
 * as they are in memory. Symbols, lines and unwind tables are such.
 *
 * A file is mapped, its checksum verified, and used in place. It appears at once or not at all
 * (rename), and is never changed after. Verifying reads it all: 0.2 ms for 2 MB. So a large one is
 * verified once a boot: an extended attribute says which file (inode, size, time) was found whole,
 * and in which boot. That a cache can't be read or written is no error: it is slower, no more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/build_id.h"
#include "base/files/file.h"

/* Where a block's header has what is checked. */
struct block_kind {
	const char *suffix;
	size_t header_bytes; /* at most 256 */
	size_t checksum_at;  /* u64: XXH3 of the block, seeded with that of the header, itself as 0
			      */
	size_t build_id_at;  /* struct build_id */
};

#define BLOCK_KIND(suffix, header)                                                \
	{                                                                         \
		suffix, sizeof(struct header), offsetof(struct header, checksum), \
			offsetof(struct header, build_id)                         \
	}

/* Maps the block of a build id; false if there is none that is whole. What it says is unchecked. */
bool block_cache_map(const struct block_kind *kind, const char *dir, const struct build_id *id,
		     struct file_mapping *out);

/* Keeps a block under a build id. Sets its checksum and build id. */
void block_cache_write(const struct block_kind *kind, const char *dir, const struct build_id *id,
		       void *block, size_t size);
