/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/cache.h"

#include <xxhash.h>

#include "base/mem.h"

static char *path_of(const char *dir, const struct build_id *id)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(id, hex);
	return xasprintf("%s/%s.unw", dir, hex);
}

static uint64_t checksum_of(const struct unwind_header *block)
{
	struct unwind_header header = *block;

	header.checksum = 0;
	return XXH3_64bits_withSeed(block + 1, (size_t)block->size - sizeof(header),
				    XXH3_64bits(&header, sizeof(header)));
}

bool unwind_cache_open(const char *dir, const struct build_id *id, struct file_mapping *mapping,
		       struct unwind_table *table)
{
	cleanup(free_at_exit) char *path = path_of(dir, id);
	struct file_mapping file = { 0 };
	struct unwind_table t;

	if (file_map(path, &file, NULL) < 0)
		return false;
	if (unwind_table_open(&t, file.base, file.size) &&
	    build_id_equal(&t.header->build_id, id) &&
	    t.header->checksum == checksum_of(t.header)) {
		*mapping = file;
		*table = t;
		return true;
	}
	file_unmap(&file);
	return false;
}

void unwind_cache_write(const char *dir, struct unwind_header *block)
{
	cleanup(free_at_exit) char *path = path_of(dir, &block->build_id);

	block->checksum = checksum_of(block);
	if (file_mkdirs(dir, 0700, NULL) == 0)
		file_replace(path, block, (size_t)block->size, NULL);
}
