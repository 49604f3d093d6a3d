/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/cache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
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

void cache_write(const char *dir, const struct build_id *id, struct index_header *block,
		 size_t size)
{
	block_cache_write(&kind, dir, id, block, size);
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

struct kept_file {
	char *path;
	uint64_t size, mtime_ns;
};

static int kept_by_age(const void *a, const void *b)
{
	const struct kept_file *x = a, *y = b;

	return (x->mtime_ns > y->mtime_ns) - (x->mtime_ns < y->mtime_ns);
}

void cache_trim(const char *dir, uint64_t max_bytes)
{
	VEC(struct kept_file) files = { 0 };
	uint64_t bytes = 0;
	DIR *d = opendir(dir);
	struct stat st;

	for (const struct dirent *e; d && (e = readdir(d));) {
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		/* a small file takes a block, too */
		vec_push(&files, (struct kept_file){ xasprintf("%s/%s", dir, e->d_name),
						     MAX((uint64_t)st.st_blocks * 512, 4096u),
						     timespec_ns(st.st_mtim) });
		bytes += files.data[files.n - 1].size;
	}
	if (d)
		closedir(d);
	if (bytes > max_bytes)
		qsort(files.data, files.n, sizeof(*files.data), kept_by_age);
	vec_foreach (&files, file) {
		if (bytes > max_bytes && unlink(file->path) == 0)
			bytes -= file->size;
		free(file->path);
	}
	vec_fini(&files);
}
