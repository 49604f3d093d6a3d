/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/cache.h"

#include "base/files/block_cache.h"
#include "base/files/cache_dir.h"

static const struct block_kind kind = BLOCK_KIND("sym", index_header);

char *cache_default_dir(void)
{
	return cache_dir("symbols");
}

bool cache_open(const char *dir, const struct build_id *id, struct file_mapping *mapping,
		struct index *ix)
{
	struct file_mapping file = { 0 };

	if (!block_cache_map(&kind, dir, id, &file))
		return false;
	if (index_open(ix, file.base, file.size)) {
		*mapping = file;
		return true;
	}
	*ix = (struct index){ 0 };
	file_unmap(&file);
	return false;
}

void cache_write(const char *dir, const struct build_id *id, struct index_header *block,
		 size_t size)
{
	block_cache_write(&kind, dir, id, block, size);
}
