/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/block_cache.h"
#include "base/files/cache_dir.h"
#include "guard/limits.h"
#include "guard/open.h"
#include "symbol/symbols.h"

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
	if (index_open(ix, file.base, file.size) && ix->header->version == INDEX_VERSION) {
		*mapping = file;
		return true;
	}
	*ix = (struct index){ 0 };
	file_unmap(&file);
	return false;
}

bool cache_open_written(const char *dir, const struct build_id *id,
			const struct index_header *block, size_t size, struct file_mapping *mapping,
			struct index *ix)
{
	return block_cache_map_written(&kind, dir, id, block, size, mapping) &&
	       index_open(ix, mapping->base, mapping->size);
}

void cache_write(const char *dir, const struct build_id *id, uint32_t uid,
		 struct index_header *block, size_t size)
{
	block_cache_write(&kind, dir, id, uid, block, size);
}

void cache_write_mapped(const char *dir, const struct build_id *id, uint32_t uid,
			struct index_header *block, size_t size)
{
	block_cache_write_mapped(&kind, dir, id, uid, block, size);
}

/* ---- folders of others ---- */

bool cache_is_sound(const void *bytes, size_t size, const struct build_id *id, struct index *ix)
{
	return block_cache_is_whole(&kind, id, bytes, size) && index_open(ix, bytes, size) &&
	       index_is_sound(ix);
}

static int open_foreign(const char *dir, const struct build_id *id)
{
	static const struct guard_rules rules = { .max_bytes = KEPT_NAME_MAX_BYTES,
						  .owner = GUARD_ANY_OWNER,
						  .is_link_refused = true };
	cleanup(close_at_exit) int folder = guard_folder(GUARD_HERE, dir, NULL);
	char hex[BUILD_ID_HEX_SIZE], name[BUILD_ID_HEX_SIZE + 8];

	build_id_hex(id, hex);
	snprintf(name, sizeof(name), "%s.%s", hex, kind.suffix);
	return folder < 0 ? -1 : guard_open(folder, name, &rules, NULL);
}

int cache_status(const char *dir, const struct build_id *id)
{
	cleanup(close_at_exit) int fd = open_foreign(dir, id);
	struct index_header h;

	if (fd < 0 || pread(fd, &h, sizeof(h), 0) != sizeof(h) ||
	    memcmp(h.magic, INDEX_MAGIC, sizeof(h.magic)) != 0 ||
	    !index_version_is_known(h.version) || h.status >= N_SYMBOL_STATUSES ||
	    !build_id_equal(&h.build_id, id))
		return -ENOENT;
	return (int)h.status;
}

bool cache_read_foreign(const char *dir, const struct build_id *id, struct index_header **block,
			struct index *ix)
{
	cleanup(close_at_exit) int fd = open_foreign(dir, id);
	char *bytes = NULL;
	size_t size;

	if (fd >= 0 && file_read_fd(fd, KEPT_NAME_MAX_BYTES, &bytes, &size) == 0 &&
	    cache_is_sound(bytes, size, id, ix)) {
		*block = (struct index_header *)(void *)bytes;
		return true;
	}
	*ix = (struct index){ 0 };
	free(bytes);
	return false;
}

void cache_trim(const char *dir, uint64_t max_bytes)
{
	block_cache_trim(&kind, dir, max_bytes);
}
