/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/cache.h"

#include <xxhash.h>

#include "base/cache_dir.h"
#include "base/mem.h"

char *cache_default_dir(void)
{
	return cache_dir("symbols");
}

static char *path_of(const char *dir, const struct build_id *id)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(id, hex);
	return xasprintf("%s/%s.sym", dir, hex);
}

static uint64_t checksum_of(const struct index_header *block, size_t size)
{
	struct index_header header = *block;

	header.checksum = 0;
	return XXH3_64bits_withSeed(block + 1, size - sizeof(header),
				    XXH3_64bits(&header, sizeof(header)));
}

bool cache_open(const char *dir, const struct build_id *id, struct file_mapping *mapping,
		struct index *ix)
{
	cleanup(free_at_exit) char *path = path_of(dir, id);
	struct file_mapping file = { 0 };

	if (file_map(path, &file, NULL) < 0)
		return false;
	if (index_open(ix, file.base, file.size) && build_id_equal(&ix->header->build_id, id) &&
	    ix->header->checksum == checksum_of(ix->header, ix->size)) {
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
	cleanup(free_at_exit) char *path = path_of(dir, id);

	block->build_id = *id;
	block->checksum = checksum_of(block, size);
	if (file_mkdirs(dir, 0700, NULL) == 0)
		file_replace(path, block, size, NULL);
}
