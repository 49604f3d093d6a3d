/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/import_into.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "store/history/history.h"
#include "store/history/pushed_names.h"

#define HIDDEN_PREFIX ".import-"
/* A history is read part by part; assay retain makes one of those of ten minutes. */
#define MAX_PARTS 4096
#define LEFT_S    3600 /* no import takes so long */
#define SAME_NAME 1000 /* tries to find a name that is free */
/* Numbers behind names have nine digits at most, and merging adds to them. */
#define NAME_NUMBERS 899999990u
#define BEFORE_NS    (7 * UINT64_C(86400) * NS_PER_SECOND)
#define AFTER_NS     (300 * NS_PER_SECOND) /* clocks differ */

static void remove_left(const char *parts, const char *name)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", parts, name);
	struct stat st;

	if (stat(path, &st) == 0 &&
	    clock_wall_ns() / NS_PER_SECOND > (uint64_t)st.st_mtim.tv_sec + LEFT_S)
		file_remove_tree(path, NULL);
}

static size_t count_parts(const char *parts)
{
	const struct dirent *entry;
	DIR *dir = opendir(parts);
	size_t n = 0;

	while (dir && (entry = readdir(dir))) {
		n += entry->d_name[0] != '.';
		if (!strncmp(entry->d_name, HIDDEN_PREFIX, strlen(HIDDEN_PREFIX)))
			remove_left(parts, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return n;
}

int import_into_begin(const char *history, char **dir, struct error *err)
{
	cleanup(free_at_exit) char *parts = xasprintf("%s/samples/current", history);
	int r = file_mkdirs(parts, 0777, err);

	if (r < 0)
		return r;
	if (count_parts(parts) >= MAX_PARTS)
		return error_set(err, -E2BIG,
				 "'%s' has %d parts or more: make fewer of them by 'assay retain "
				 "--tier minutes=10m %s'",
				 history, MAX_PARTS, history);
	/* Processes of two containers may have the same number. */
	*dir = xasprintf("%s/" HIDDEN_PREFIX "%d-%" PRIx64, parts, (int)getpid(), clock_wall_ns());
	return 0;
}

static int check_times(const struct part_extent *e, struct error *err)
{
	uint64_t now = clock_wall_ns();

	if (e->first_ns + BEFORE_NS < now || e->first_ns > now + AFTER_NS ||
	    e->last_ns > now + AFTER_NS)
		return error_set(err, -ERANGE,
				 "the samples are not of the last seven days (seconds since 1970: "
				 "%" PRIu64 ")",
				 e->first_ns / NS_PER_SECOND);
	return 0;
}

static int sync_all(const char *dir, struct error *err)
{
	cleanup(close_at_exit) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0)
		return error_errno(err, -errno, "cannot write '%s' to the disk", dir);
	return 0;
}

/*
 * The number is random, because no name may be used again. A merged part may still replace a part
 * that had the name, and would hide the new one.
 */
static int name_part(const char *dir, uint64_t start_ns, struct error *err)
{
	char name[HISTORY_NAME_SIZE];

	for (unsigned int i = 0; i < SAME_NAME; i++) {
		cleanup(free_at_exit) char *path = NULL;
		uint32_t random;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return error_errno(err, -errno, "cannot name '%s'", dir);
		history_part_name(start_ns, 2 + random % NAME_NUMBERS, name);
		path = xasprintf("%.*s/%s", (int)(strrchr(dir, '/') - dir), dir, name);
		if (rename(dir, path) == 0)
			return 0;
		if (errno != EEXIST && errno != ENOTEMPTY)
			return error_errno(err, -errno, "cannot name '%s'", path);
	}
	return error_set(err, -EEXIST, "'%s' has too many parts of one time", dir);
}

int import_into_finish(const char *history, const char *dir, const struct pushed_names *pushed,
		       struct error *err)
{
	struct part_extent extent;
	int r = 0;

	if (!history_extent(dir, &extent))
		r = error_set(err, -EBADMSG, "the times of the samples are not known");
	if (r >= 0 && pushed)
		r = check_times(&extent, err);
	r = r < 0 ? r : sync_all(dir, err);
	if (r >= 0 && pushed)
		r = pushed_names_add(history, pushed, clock_wall_ns() / NS_PER_SECOND, err);
	r = r < 0 ? r : name_part(dir, extent.first_ns, err);
	if (r < 0)
		file_remove_tree(dir, NULL);
	return r;
}
