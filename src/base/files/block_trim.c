/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/block_cache.h"
#include "base/mem.h"

#define N_OWNERS 65536
#define NO_OWNER (N_OWNERS - 1) /* of a file that a killed writer left behind */

uint16_t block_owner(uint32_t uid)
{
	return uid == 0 || uid == geteuid() ? 0 : (uint16_t)(1 + uid % (NO_OWNER - 1));
}

struct kept_file {
	char *name;
	uint64_t size, mtime_ns;
	uint16_t owner;
};

struct kept {
	int dir;
	VEC(struct kept_file) files;
	uint64_t bytes;
};

static bool is_of_kind(const struct block_kind *kind, const char *name)
{
	const char *end = strrchr(name, '.');

	return end && (!strcmp(end + 1, kind->suffix) || !strcmp(end, ".tmp"));
}

static void find_kept(const struct block_kind *kind, DIR *d, struct kept *kept)
{
	struct stat st;

	for (const struct dirent *e; (e = readdir(d));) {
		uint64_t size;

		if (!is_of_kind(kind, e->d_name) ||
		    fstatat(kept->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		size = MAX((uint64_t)st.st_blocks * 512, 4096u); /* a small file takes a block */
		vec_push(&kept->files, (struct kept_file){ .name = xstrdup(e->d_name),
							   .size = size,
							   .mtime_ns = timespec_ns(st.st_mtim) });
		kept->bytes += size;
	}
}

static uint16_t owner_of(const struct block_kind *kind, int dir, const char *name)
{
	cleanup(close_at_exit) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint16_t owner;
	bool is_block = !strcmp(strrchr(name, '.') + 1, kind->suffix) && fd >= 0 &&
			pread(fd, &owner, sizeof(owner), (off_t)kind->owner_at) == sizeof(owner);

	return is_block ? owner : NO_OWNER;
}

/* ---- shares ---- */

struct owner_bytes {
	uint64_t bytes;
	uint16_t owner;
};

static int owner_by_bytes(const void *a, const void *b)
{
	const struct owner_bytes *x = a, *y = b;

	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/*
 * Turns the bytes of each owner into those that he keeps. Who has less than an equal share leaves
 * the rest of it to the others.
 */
static void share_out(uint64_t *of_owner, uint64_t room)
{
	VEC(struct owner_bytes) others = { 0 };
	uint64_t bytes = 0;

	of_owner[NO_OWNER] = 0;
	for (uint32_t i = 1; i < NO_OWNER; i++) {
		if (of_owner[i])
			vec_push(&others, (struct owner_bytes){ of_owner[i], (uint16_t)i });
		bytes += of_owner[i];
	}
	of_owner[0] = MIN(of_owner[0], MAX(room / 2, room - MIN(room, bytes)));
	room -= of_owner[0];
	if (others.n)
		qsort(others.data, others.n, sizeof(*others.data), owner_by_bytes);
	for (size_t i = 0; i < others.n; i++) {
		uint64_t share = MIN(others.data[i].bytes, room / (others.n - i));

		of_owner[others.data[i].owner] = share;
		room -= share;
	}
	vec_fini(&others);
}

static int kept_by_age(const void *a, const void *b)
{
	const struct kept_file *x = a, *y = b;

	return (x->mtime_ns > y->mtime_ns) - (x->mtime_ns < y->mtime_ns);
}

static void remove_beyond_shares(const struct block_kind *kind, struct kept *kept, uint64_t room)
{
	uint64_t *has = xcalloc(N_OWNERS, sizeof(*has)), *keeps = xcalloc(N_OWNERS, sizeof(*keeps));

	vec_foreach (&kept->files, file) {
		file->owner = owner_of(kind, kept->dir, file->name);
		has[file->owner] += file->size;
	}
	memcpy(keeps, has, N_OWNERS * sizeof(*keeps));
	share_out(keeps, room);
	qsort(kept->files.data, kept->files.n, sizeof(*kept->files.data), kept_by_age);
	vec_foreach (&kept->files, file)
		if (has[file->owner] > keeps[file->owner] &&
		    unlinkat(kept->dir, file->name, 0) == 0)
			has[file->owner] -= file->size;
	free(has);
	free(keeps);
}

void block_cache_trim(const struct block_kind *kind, const char *dir, uint64_t max_bytes)
{
	struct kept kept = { 0 };
	DIR *d = opendir(dir);

	if (!d)
		return;
	kept.dir = dirfd(d);
	find_kept(kind, d, &kept);
	if (kept.bytes > max_bytes)
		remove_beyond_shares(kind, &kept, max_bytes - max_bytes / 8);
	closedir(d);
	vec_foreach (&kept.files, file)
		free(file->name);
	vec_fini(&kept.files);
}
