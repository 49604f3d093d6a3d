/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/block_cache.h"

#include <string.h>

#include "base/checksum.h"
#include "base/mem.h"

#define HEADER_MAX 256

static char *path_of(const struct block_kind *kind, const char *dir, const struct build_id *id)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(id, hex);
	return xasprintf("%s/%s.%s", dir, hex, kind->suffix);
}

static uint64_t checksum_of(const struct block_kind *kind, const uint8_t *block, size_t size)
{
	uint8_t header[HEADER_MAX];

	memcpy(header, block, kind->header_bytes);
	memset(header + kind->checksum_at, 0, sizeof(uint64_t));
	return checksum(block + kind->header_bytes, size - kind->header_bytes,
			checksum(header, kind->header_bytes, 0));
}

static bool is_whole(const struct block_kind *kind, const struct build_id *id,
		     const struct file_mapping *file)
{
	struct build_id own;
	uint64_t checksum;

	if (file->size < kind->header_bytes)
		return false;
	memcpy(&own, file->base + kind->build_id_at, sizeof(own));
	memcpy(&checksum, file->base + kind->checksum_at, sizeof(checksum));
	return build_id_equal(&own, id) && checksum == checksum_of(kind, file->base, file->size);
}

bool block_cache_map(const struct block_kind *kind, const char *dir, const struct build_id *id,
		     struct file_mapping *out)
{
	cleanup(free_at_exit) char *path = path_of(kind, dir, id);
	struct file_mapping file = { 0 };

	if (file_map(path, &file, NULL) < 0)
		return false;
	if (is_whole(kind, id, &file)) {
		*out = file;
		return true;
	}
	file_unmap(&file);
	return false;
}

void block_cache_write(const struct block_kind *kind, const char *dir, const struct build_id *id,
		       void *block, size_t size)
{
	cleanup(free_at_exit) char *path = path_of(kind, dir, id);
	uint8_t *bytes = block;
	uint64_t checksum;

	memmove(bytes + kind->build_id_at, id, sizeof(*id)); /* it may be the block's own */
	checksum = checksum_of(kind, bytes, size);
	memcpy(bytes + kind->checksum_at, &checksum, sizeof(checksum));
	if (file_mkdirs(dir, 0700, NULL) == 0)
		file_replace(path, block, size, NULL);
}
