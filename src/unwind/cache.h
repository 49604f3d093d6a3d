/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables kept between runs: DIR/BUILDID.unw, a block as it is in memory
 * (unwind/table.h).
 *
 * A file is mapped, its checksum verified, and used in place. It appears at
 * once or not at all (rename), and is never changed after. That a cache can't
 * be read or written is no error: it is slower, no more.
 */
#pragma once

#include <stdbool.h>

#include "base/build_id.h"
#include "base/file.h"
#include "unwind/table.h"

/* Maps the table of a build id; false if there is none that is whole. */
bool unwind_cache_open(const char *dir, const struct build_id *id, struct file_mapping *mapping,
		       struct unwind_table *table);

/* Keeps a block under the build id that it has. Sets its checksum. */
void unwind_cache_write(const char *dir, struct unwind_header *block);
