/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/fs/mountpoint.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"

#define MOUNTINFO_LIMIT ((size_t)16 << 20)

/* Blanks and the like are "\ooo" in /proc/PID/mountinfo (proc(5)). */
static void mountpoint_unescape(char *s)
{
	char *to = s;
	unsigned int byte;

	for (; *s; s++) {
		if (s[0] == '\\' && sscanf(s + 1, "%3o", &byte) == 1) {
			*to++ = (char)byte;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/*
 * "36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw": the fifth field is the place, the
 * first behind the dash the type. Unescapes the place in the line. False: it is not `path`.
 */
static bool mount_line_parse(char *line, const char *path, char *type, size_t size)
{
	char *dash = strstr(line, " - "), *place = line;

	for (int i = 0; i < 4 && place; i++) {
		place = strchr(place, ' ');
		place += place != NULL;
	}
	if (!dash || !place || place > dash)
		return false;
	snprintf(type, size, "%.*s", (int)strcspn(dash + 3, " "), dash + 3);
	place[strcspn(place, " ")] = '\0';
	mountpoint_unescape(place);
	return !strcmp(place, path);
}

char *mountpoint_type(const char *path)
{
	cleanup(free_at_exit) char *text = NULL;
	char *rest, *found = NULL, type[64];
	size_t size;

	if (file_read_all("/proc/self/mountinfo", MOUNTINFO_LIMIT, &text, &size) < 0)
		return NULL;
	rest = text;
	/* The last one lies on top. */
	for (char *line; (line = strsep(&rest, "\n"));) {
		if (!mount_line_parse(line, path, type, sizeof(type)))
			continue;
		free(found);
		found = xstrdup(type);
	}
	return found;
}

/* realpath(3) for a path that may be a dead mount, which can't be accessed. */
static char *mountpoint_resolve(const char *path)
{
	cleanup(free_at_exit) char *copy = xstrdup(path);
	cleanup(free_at_exit) char *parent = NULL;
	size_t len = strlen(copy);
	char *slash, *name;

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	slash = strrchr(copy, '/');
	name = slash ? slash + 1 : copy;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return realpath(copy, NULL);
	if (slash)
		*slash = '\0';
	parent = realpath(!slash ? "." : slash == copy ? "/" : copy, NULL);
	return parent ? xasprintf("%s/%s", strcmp(parent, "/") ? parent : "", name) : NULL;
}

static int free_stale(const char *path, struct error *err)
{
	cleanup(free_at_exit) char *type = mountpoint_type(path);
	struct statvfs st;

	if (!type)
		return 0;
	if (strcmp(type, MOUNT_TYPE))
		return error_set(err, -EBUSY, "%s: a file system of type %s is mounted there", path,
				 type);
	/* stat(2) may be answered from memory. */
	if (statvfs(path, &st) == 0 || (errno != ENOTCONN && errno != ECONNABORTED))
		return error_set(err, -EBUSY, "%s: another daemon's oprofilefs is mounted there",
				 path);
	if (umount2(path, MNT_DETACH) < 0)
		return error_errno(err, -errno,
				   "%s: a killed daemon's oprofilefs can't be unmounted", path);
	return free_stale(path, err);
}

int mountpoint_prepare(const char *path, char **out, struct error *err)
{
	cleanup(free_at_exit) char *real = mountpoint_resolve(path);
	struct stat st;
	int r;

	if (!real)
		return error_errno(err, -errno, "%s", path);
	r = free_stale(real, err);
	if (r < 0)
		return r;
	if (mkdir(real, 0755) < 0 && errno != EEXIST)
		return error_errno(err, -errno, "%s: cannot make the directory", real);
	/* What the last name is a link to. */
	free(real);
	real = realpath(path, NULL);
	if (!real || stat(real, &st) < 0)
		return error_errno(err, -errno, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, -ENOTDIR, "%s: not a directory", real);
	r = free_stale(real, err);
	if (r < 0)
		return r;
	*out = take_ptr(real);
	return 0;
}
