/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/cache.h"

#include "base/files/block_cache.h"

static const struct block_kind kind = BLOCK_KIND("unw", unwind_header);

bool unwind_cache_open(const char *dir, const struct build_id *id, struct file_mapping *mapping,
		       struct unwind_table *table)
{
	struct file_mapping file = { 0 };

	if (!block_cache_map(&kind, dir, id, &file))
		return false;
	if (unwind_table_open(table, file.base, file.size)) {
		*mapping = file;
		return true;
	}
	file_unmap(&file);
	return false;
}

void unwind_cache_write(const char *dir, uint32_t uid, struct unwind_header *block)
{
	block_cache_write(&kind, dir, &block->build_id, uid, block, (size_t)block->size);
}
