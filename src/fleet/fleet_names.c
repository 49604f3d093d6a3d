/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "fleet/fleet_store.h"
#include "symbol/cache.h"

/* Of the names that a build has, a better index may give so few another name. */
#define RENAMED_ONE_IN 16

static const struct {
	enum symbol_status status;
	unsigned int quality;
} qualities[] = {
	{ SYMBOL_DYNSYM, 1 },
	{ SYMBOL_KALLSYMS, 2 },
	{ SYMBOL_SYMTAB, 3 },
	{ SYMBOL_DEBUG_FILE, 4 },
};

unsigned int names_quality(enum symbol_status status)
{
	for (size_t i = 0; i < ARRAY_SIZE(qualities); i++)
		if (qualities[i].status == status)
			return qualities[i].quality;
	return 0;
}

enum symbol_status names_status_of(const char *word)
{
	unsigned int status = 0;

	while (status < N_SYMBOL_STATUSES && strcmp(symbol_status_keys[status], word) != 0)
		status++;
	return (enum symbol_status)status;
}

static char *names_dir(const char *fleet)
{
	return xasprintf("%s/" HISTORY_NAMES_DIR, fleet);
}

static unsigned int quality_here(const char *dir, const struct build_id *id)
{
	int status = cache_status(dir, id);

	return status < 0 ? 0 : names_quality((enum symbol_status)status);
}

bool fleet_names_want(const char *fleet, const struct build_id *id, enum symbol_status status)
{
	cleanup(free_at_exit) char *dir = names_dir(fleet);

	return names_quality(status) > quality_here(dir, id);
}

static char *path_of(const char *dir, const struct build_id *id, const char *suffix)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(id, hex);
	return xasprintf("%s/%s.%s", dir, hex, suffix);
}

static void read_sender(const char *path, char *host, size_t size)
{
	cleanup(free_at_exit) char *text = NULL;
	size_t n;

	*host = '\0';
	if (file_read_all(path, FLEET_HOST_MAX + 1, &text, &n) == 0)
		snprintf(host, size, "%.*s", (int)strcspn(text, "\n"), text);
}

void fleet_names_sender(const char *fleet, const struct build_id *id, char *host, size_t size)
{
	cleanup(free_at_exit) char *dir = names_dir(fleet);
	cleanup(free_at_exit) char *path = path_of(dir, id, "from");

	read_sender(path, host, size);
}

/* Hosts share the room of the folder as users do (base/files/block_cache.h). 0 is root. */
static uint32_t owner_of(const char *host)
{
	return 1 + (uint32_t)(XXH3_64bits(host, strlen(host)) % UINT32_C(0x7ffffffe));
}

/* Removes the senders of indexes that cache_write() removed to make room. The folder is locked. */
static void drop_lone_senders(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char sym[BUILD_ID_HEX_SIZE + 4];
		size_t n = strcspn(entry->d_name, ".");

		if (!n || n >= BUILD_ID_HEX_SIZE || strcmp(entry->d_name + n, ".from") != 0)
			continue;
		snprintf(sym, sizeof(sym), "%.*s.sym", (int)n, entry->d_name);
		if (faccessat(dirfd(d), sym, F_OK, 0) < 0 && errno == ENOENT)
			unlinkat(dirfd(d), entry->d_name, 0);
	}
	if (d)
		closedir(d);
}

/*
 * The folder is locked. The sender comes first: without it, others could replace the index.
 * `before_host`: the sender of the index that is there, which stays if it can't be replaced.
 */
static int put_index(const char *dir, const char *host, const char *before_host,
		     const struct build_id *id, void *index, size_t size, struct error *err)
{
	cleanup(free_at_exit) char *from = path_of(dir, id, "from"), *sym = path_of(dir, id, "sym");
	cleanup(free_at_exit) char *line = xasprintf("%s\n", host);
	cleanup(close_at_exit) int fd = -1;
	struct stat before = { 0 }, after;
	int r = file_replace_mode(from, 0640, line, strlen(line), err);

	if (r < 0)
		return r;
	stat(sym, &before);
	cache_write(dir, id, owner_of(host), index, size);
	drop_lone_senders(dir);
	fd = open(sym, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && fstat(fd, &after) == 0 && fsync(fd) == 0 && after.st_ino != before.st_ino)
		return 1;
	if (*before_host) {
		cleanup(free_at_exit) char *old = xasprintf("%s\n", before_host);

		file_replace_mode(from, 0640, old, strlen(old), NULL);
	}
	return error_set(err, -ENOSPC, "cannot write %s", sym);
}

static bool has_name(const struct index *ix, uint32_t i)
{
	return (!ix->ends || ix->ends[i] == NO_SYMBOL) && *index_text(ix, ix->names[i]);
}

/*
 * Whether a better index has the functions of the one that is there, under their names. Few may
 * differ, as aliases do.
 */
static bool keeps_names(const struct index *is, const struct index *was)
{
	uint32_t n_named = 0, n_other = 0;

	for (uint32_t i = 0, k = 0; i < was->n; i++) {
		if (!has_name(was, i))
			continue;
		while (k < is->n && is->starts[k] < was->starts[i])
			k++;
		n_named++;
		n_other +=
			k == is->n || is->starts[k] != was->starts[i] || !has_name(is, k) ||
			strcmp(index_text(is, is->names[k]), index_text(was, was->names[i])) != 0;
	}
	return n_other <= n_named / RENAMED_ONE_IN;
}

/* Whether the index may replace the one of another host. */
static bool may_replace(const char *dir, const struct build_id *id, const void *index, size_t size)
{
	struct index_header *block = NULL;
	struct index is, was;
	bool may = !cache_read_foreign(dir, id, &block, &was) ||
		   (index_open(&is, index, size) && keeps_names(&is, &was));

	free(block);
	return may;
}

int fleet_names_take(const char *fleet, const char *host, const struct build_id *id, void *index,
		     size_t size, struct error *err)
{
	cleanup(free_at_exit) char *dir = names_dir(fleet), *from = path_of(dir, id, "from");
	cleanup(close_at_exit) int lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct index_header *header = index;
	unsigned int has, is = names_quality(header->status);
	char sender[FLEET_HOST_MAX + 1];

	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return error_errno(err, -errno, "cannot lock %s", dir);
	has = quality_here(dir, id);
	read_sender(from, sender, sizeof(sender));
	if (is < has || !is || (is == has && strcmp(sender, host) != 0))
		return 0;
	if (has && strcmp(sender, host) != 0 && !may_replace(dir, id, index, size))
		return 0;
	return put_index(dir, host, sender, id, index, size, err);
}

int fleet_names_forget(const char *fleet, const char *host, struct error *err)
{
	cleanup(free_at_exit) char *dir = names_dir(fleet);
	DIR *d = opendir(dir);
	const struct dirent *entry;
	int r = 0;

	if (!d)
		return error_errno(err, -errno, "cannot read %s", dir);
	while (!r && (entry = readdir(d))) {
		size_t n = strlen(entry->d_name);
		cleanup(free_at_exit) char *from = xasprintf("%s/%s", dir, entry->d_name);
		cleanup(free_at_exit) char *sym = NULL;
		char sender[FLEET_HOST_MAX + 1];

		if (n < 6 || strcmp(entry->d_name + n - 5, ".from") != 0)
			continue;
		read_sender(from, sender, sizeof(sender));
		if (strcmp(sender, host) != 0)
			continue;
		sym = xasprintf("%s/%.*s.sym", dir, (int)(n - 5), entry->d_name);
		if ((unlink(sym) < 0 && errno != ENOENT) || (unlink(from) < 0 && errno != ENOENT))
			r = error_errno(err, -errno, "cannot remove %s", sym);
	}
	closedir(d);
	return r;
}
