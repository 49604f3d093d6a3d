/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cache of blocks of bytes on disk, by build id: DIR/BUILDID.SUFFIX. The files have the same
 * bytes as the memory. Symbols, lines and unwind tables are such blocks.
 *
 * A file is mapped, checked against its checksum, and used in place. It appears at once (by rename)
 * and never changes. The check reads the whole file, which takes 0.2 ms for 2 MB. So a large file
 * is checked once after each boot: an extended attribute has the checked file (inode, size, time)
 * and the boot. A cache that can't be read or written only makes assay slower.
 *
 * A folder has a limit of bytes. A block has the owner of the file that it was made from, so users
 * share the room: nobody's blocks push out those of another who has fewer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/build_id.h"
#include "base/files/file.h"

/* Of a kind in a folder. */
#define BLOCK_CACHE_BYTES (UINT64_C(2) << 30)

/* The places of the checked fields in a block's header, and the limit of a folder. */
struct block_kind {
	const char *suffix;
	size_t header_bytes; /* at most 256 */
	size_t checksum_at;  /* u64: XXH3 of the block, seeded with the hash of the header, in which
			      * this member is 0
			      */
	size_t build_id_at;  /* struct build_id */
	size_t owner_at;     /* u16: block_owner() */
	uint64_t max_bytes;
	uint64_t *written; /* bytes since this process looked at the folder; UINT64_MAX: never */
};

/* clang-format off */
#define BLOCK_KIND(suffix, header)                                                         \
	{                                                                                  \
		suffix, sizeof(struct header), offsetof(struct header, checksum),          \
			offsetof(struct header, build_id), offsetof(struct header, owner), \
			BLOCK_CACHE_BYTES, &(uint64_t){ UINT64_MAX }                       \
	}
/* clang-format on */

/*
 * Maps the block of a build id. False: there is no undamaged block. The content is not validated
 * beyond the checksum.
 */
bool block_cache_map(const struct block_kind *kind, const char *dir, const struct build_id *id,
		     struct file_mapping *out);

/*
 * Maps the file of a block that block_cache_write() has just written, without reading it: its
 * header must be that of `block`. False: there is another one, or none.
 */
bool block_cache_map_written(const struct block_kind *kind, const char *dir,
			     const struct build_id *id, const void *block, size_t size,
			     struct file_mapping *out);

/* Whether bytes are the undamaged block of a build id. */
bool block_cache_is_whole(const struct block_kind *kind, const struct build_id *id,
			  const void *bytes, size_t size);

/*
 * Keeps a block under a build id. Sets its checksum, build id and owner: the user `uid` owns the
 * file that it was made from. Keeps nothing in a process that has run short of memory
 * (base/reserve.h).
 */
void block_cache_write(const struct block_kind *kind, const char *dir, const struct build_id *id,
		       uint32_t uid, void *block, size_t size);

/*
 * The same of a block in a private mapping. Nothing behind its header was changed in memory, so a
 * large one is written piece by piece (base/pieces.h).
 */
void block_cache_write_mapped(const struct block_kind *kind, const char *dir,
			      const struct build_id *id, uint32_t uid, void *block, size_t size);

/* 0: root, or the user of this process. Few other users have the same number. */
uint16_t block_owner(uint32_t uid);

/*
 * If the blocks of a kind in a folder have more bytes than this, removes blocks until an eighth is
 * free. Root and this process's user keep half of the room, if they need it. The other users have
 * equal shares of the rest, and each loses the oldest of his blocks.
 */
void block_cache_trim(const struct block_kind *kind, const char *dir, uint64_t max_bytes);
