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

/* In the folder of names: the indexes of first senders that those of others replaced. */
#define FIRST_DIR ".first"

/* Of a build: the list of hosts whose better index was refused. */
#define REFUSED_BYTES_MAX (64u << 10)

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

static char *path_of(const char *dir, const struct build_id *id, const char *suffix)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(id, hex);
	return xasprintf("%s/%s.%s", dir, hex, suffix);
}

/* ---- refused indexes: BUILDID.refused, lines "HOST QUALITY\n" ---- */

/* *text: the list, "" if there is none. The caller frees. */
static size_t read_refused(const char *path, char **text)
{
	size_t size = 0;

	if (file_read_all(path, REFUSED_BYTES_MAX, text, &size) < 0) {
		*text = xstrdup("");
		size = 0;
	}
	return size;
}

static bool was_refused(const char *dir, const char *host, const struct build_id *id,
			unsigned int quality)
{
	cleanup(free_at_exit) char *path = path_of(dir, id, "refused");
	cleanup(free_at_exit) char *line = xasprintf("%s %u\n", host, quality);
	cleanup(free_at_exit) char *text = NULL;
	const char *at;

	read_refused(path, &text);
	for (at = text; (at = strstr(at, line)); at++)
		if (at == text || at[-1] == '\n')
			return true;
	return false;
}

/* The folder is locked. A host that finds no room in the list may send its index again. */
static void note_refused(const char *dir, const char *host, const struct build_id *id,
			 unsigned int quality)
{
	cleanup(free_at_exit) char *path = path_of(dir, id, "refused");
	cleanup(free_at_exit) char *text = NULL, *more = NULL;
	size_t size;

	if (was_refused(dir, host, id, quality))
		return;
	size = read_refused(path, &text);
	more = xasprintf("%.*s%s %u\n", (int)size, text, host, quality);
	if (strlen(more) <= REFUSED_BYTES_MAX)
		file_replace_mode(path, 0640, more, strlen(more), NULL);
}

bool fleet_names_want(const char *fleet, const char *host, const struct build_id *id,
		      enum symbol_status status)
{
	cleanup(free_at_exit) char *dir = names_dir(fleet);
	unsigned int quality = names_quality(status);

	return quality > quality_here(dir, id) && !was_refused(dir, host, id, quality);
}

/* ---- senders ---- */

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

/* Removes a file of the build whose id is the first `n` characters of `name`. */
static void drop_file(const char *dir, const char *name, size_t n, const char *suffix)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%.*s.%s", dir, (int)n, name, suffix);

	unlink(path);
}

/* The first index of a build, and its list of refused ones. */
static void drop_first(const char *dir, const char *name, size_t n)
{
	cleanup(free_at_exit) char *first = xasprintf("%s/" FIRST_DIR, dir);

	drop_file(dir, name, n, "refused");
	drop_file(first, name, n, "sym");
	drop_file(first, name, n, "from");
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
		if (faccessat(dirfd(d), sym, F_OK, 0) < 0 && errno == ENOENT) {
			drop_first(dir, entry->d_name, n);
			unlinkat(dirfd(d), entry->d_name, 0);
		}
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

/* Whether the index has the functions of the one in a folder, if there is one. */
static bool agrees(const char *dir, const struct build_id *id, const void *index, size_t size)
{
	struct index_header *block = NULL;
	struct index is, was;
	bool may = !cache_read_foreign(dir, id, &block, &was) ||
		   (index_open(&is, index, size) && keeps_names(&is, &was));

	free(block);
	return may;
}

/*
 * An index of another host may replace the one that is there if it agrees with it. After that, all
 * must agree with the index of the first sender, too, also those of the present sender.
 */
static int check_agrees(const char *dir, const char *host, const char *sender,
			const struct build_id *id, const void *index, size_t size,
			struct error *err)
{
	cleanup(free_at_exit) char *first = xasprintf("%s/" FIRST_DIR, dir);
	cleanup(free_at_exit) char *from = path_of(first, id, "from");
	char other[FLEET_HOST_MAX + 1];

	if (!agrees(first, id, index, size))
		read_sender(from, other, sizeof(other));
	else if (strcmp(sender, host) != 0 && !agrees(dir, id, index, size))
		snprintf(other, sizeof(other), "%s", sender);
	else
		return 0;
	return error_set(err, -EEXIST, "it names functions otherwise than host '%s' did", other);
}

/* Keeps the present index in FIRST_DIR, if that has none. 1: it had none. */
static int keep_first(const char *dir, const struct build_id *id, struct error *err)
{
	cleanup(free_at_exit) char *first = xasprintf("%s/" FIRST_DIR, dir);
	cleanup(free_at_exit) char *from = path_of(dir, id, "from"), *sym = path_of(dir, id, "sym");
	cleanup(free_at_exit) char *first_from = path_of(first, id, "from");
	cleanup(free_at_exit) char *first_sym = path_of(first, id, "sym");
	int r = file_mkdirs(first, 0750, err);

	if (r < 0 || access(first_sym, F_OK) == 0)
		return r;
	unlink(first_from); /* of a process that was killed */
	if ((link(from, first_from) < 0 && errno != ENOENT) || link(sym, first_sym) < 0)
		return error_errno(err, -errno, "cannot write %s", first_sym);
	return 1;
}

/* The index is better, or of the present sender, and agrees. The folder is locked. */
static int replace_index(const char *dir, const char *host, const char *sender,
			 const struct build_id *id, void *index, size_t size, struct error *err)
{
	cleanup(free_at_exit) char *refused = path_of(dir, id, "refused");
	cleanup(free_at_exit) char *sym = path_of(dir, id, "sym");
	cleanup(free_at_exit) char *first = xasprintf("%s/" FIRST_DIR, dir);
	cleanup(free_at_exit) char *first_sym = path_of(first, id, "sym");
	bool is_of_other = access(sym, F_OK) == 0 && strcmp(sender, host) != 0;
	int kept = is_of_other ? keep_first(dir, id, err) : 0;
	int r = kept < 0 ? kept : put_index(dir, host, sender, id, index, size, err);

	if (r > 0)
		unlink(refused);
	else if (kept > 0)
		unlink(first_sym);
	return r;
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
	if (has && check_agrees(dir, host, sender, id, index, size, err) < 0) {
		note_refused(dir, host, id, is);
		return -EEXIST;
	}
	return replace_index(dir, host, sender, id, index, size, err);
}

/* Removes a host's indexes in `dir`. Of these builds, drop_first() in `names_in`. */
static int forget_in(const char *dir, const char *names_in, const char *host, struct error *err)
{
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
		drop_first(names_in, entry->d_name, n - 5);
		if ((unlink(sym) < 0 && errno != ENOENT) || (unlink(from) < 0 && errno != ENOENT))
			r = error_errno(err, -errno, "cannot remove %s", sym);
	}
	closedir(d);
	return r;
}

int fleet_names_forget(const char *fleet, const char *host, struct error *err)
{
	cleanup(free_at_exit) char *dir = names_dir(fleet);
	cleanup(free_at_exit) char *first = xasprintf("%s/" FIRST_DIR, dir);
	int r = forget_in(dir, dir, host, err);

	return r < 0 || access(first, F_OK) < 0 ? r : forget_in(first, dir, host, err);
}
