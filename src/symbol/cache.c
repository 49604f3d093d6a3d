/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/cache.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/files/block_cache.h"
#include "base/files/cache_dir.h"
#include "guard/limits.h"
#include "guard/open.h"

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

void cache_write(const char *dir, const struct build_id *id, uint32_t uid,
		 struct index_header *block, size_t size)
{
	block_cache_write(&kind, dir, id, uid, block, size);
}

/* ---- folders of others ---- */

/* The caller frees the bytes; NULL: there is no such file. */
static char *read_foreign(const char *dir, const char *name, size_t *size)
{
	static const struct guard_rules rules = { .max_bytes = KEPT_NAME_MAX_BYTES,
						  .owner = GUARD_ANY_OWNER,
						  .is_link_refused = true };
	cleanup(close_at_exit) int folder = guard_folder(GUARD_HERE, dir, NULL);
	cleanup(close_at_exit) int fd = folder < 0 ? -1 : guard_open(folder, name, &rules, NULL);
	char *bytes;

	return fd >= 0 && file_read_fd(fd, KEPT_NAME_MAX_BYTES, &bytes, size) == 0 ? bytes : NULL;
}

bool cache_read_foreign(const char *dir, const struct build_id *id, struct index_header **block,
			struct index *ix)
{
	char hex[BUILD_ID_HEX_SIZE], name[BUILD_ID_HEX_SIZE + 8];
	size_t size;
	char *bytes;

	build_id_hex(id, hex);
	snprintf(name, sizeof(name), "%s.%s", hex, kind.suffix);
	bytes = read_foreign(dir, name, &size);
	if (bytes && block_cache_is_whole(&kind, id, bytes, size) && index_open(ix, bytes, size) &&
	    index_is_sound(ix)) {
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
