/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbol indexes kept between runs (base/files/block_cache.h): DIR/BUILDID.sym, an index block as
 * it is in memory (symbol/index.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/build_id.h"
#include "base/files/file.h"
#include "symbol/index.h"

/* cache_dir("symbols"). The caller frees. */
char *cache_default_dir(void);

/* Maps the index of a build id; false if there is no complete one of this version. */
bool cache_open(const char *dir, const struct build_id *id, struct file_mapping *mapping,
		struct index *ix);

/* The same of a block that cache_write() has just written, without reading it. */
bool cache_open_written(const char *dir, const struct build_id *id,
			const struct index_header *block, size_t size, struct file_mapping *mapping,
			struct index *ix);

/*
 * Reads the index of a build id from a folder that somebody else may have written, such as that of
 * a history (symbols.h). It copies and checks all of it. False: there is no sound one. The caller
 * frees *block.
 */
bool cache_read_foreign(const char *dir, const struct build_id *id, struct index_header **block,
			struct index *ix);

/*
 * Whether bytes that somebody else made are the sound index of a build id. They must be 8-byte
 * aligned.
 */
bool cache_is_sound(const void *bytes, size_t size, const struct build_id *id, struct index *ix);

/*
 * What a file in a folder says of itself, by its header alone: enum symbol_status. -ENOENT: there
 * is no file of a build id with an index that index_open() reads.
 */
int cache_status(const char *dir, const struct build_id *id);

/* Of the indexes of a folder: block_cache_trim(). */
void cache_trim(const char *dir, uint64_t max_bytes);

/* Keeps a block under a build id, as block_cache_write() and block_cache_write_mapped(). */
void cache_write(const char *dir, const struct build_id *id, uint32_t uid,
		 struct index_header *block, size_t size);
void cache_write_mapped(const char *dir, const struct build_id *id, uint32_t uid,
			struct index_header *block, size_t size);
