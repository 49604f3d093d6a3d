/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables kept between runs (base/files/block_cache.h): DIR/BUILDID.unw, a block as it is in
 * memory (unwind/table.h).
 */
#pragma once

#include <stdbool.h>

#include "base/build_id.h"
#include "base/files/file.h"
#include "unwind/table.h"

/* Maps the table of a build id; false if there is no complete one. */
bool unwind_cache_open(const char *dir, const struct build_id *id, struct file_mapping *mapping,
		       struct unwind_table *table);

/* Keeps a block under its own build id. Sets its checksum. The user `uid` owns the image's file. */
void unwind_cache_write(const char *dir, uint32_t uid, struct unwind_header *block);
