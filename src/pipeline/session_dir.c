/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/session_dir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "store/session.h"

static char *without_slashes(const char *dir)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	return xstrndup(dir, len);
}

static bool is_session(const char *dir)
{
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples", dir);
	struct stat st;

	return stat(samples, &st) == 0 && S_ISDIR(st.st_mode);
}

int session_dir_make_room(const char *path, struct error *err)
{
	cleanup(free_at_exit) char *dir = without_slashes(path);
	cleanup(free_at_exit) char *old = xasprintf("%s.old", dir);
	struct stat st;
	int r;

	if (lstat(dir, &st) < 0)
		return errno == ENOENT ? 0 : error_errno(err, -errno, "%s", dir);
	if (S_ISDIR(st.st_mode) && rmdir(dir) == 0)
		return 0;
	if (!S_ISDIR(st.st_mode) || !is_session(dir))
		return error_set(err, -EEXIST,
				 "%s is in the way and is not a session; give another place with "
				 "-o, or remove it",
				 dir);
	r = session_refuse_newer(dir, err);
	r = r < 0 ? r : session_refuse_newer(old, err);
	if (r < 0)
		return r;
	if (lstat(old, &st) == 0) {
		if (!is_session(old))
			return error_set(
				err, -EEXIST,
				"%s cannot be renamed to %s, which exists and is not a session",
				dir, old);
		r = file_remove_tree(old, err);
		if (r < 0)
			return r;
	}
	if (rename(dir, old) < 0)
		return error_errno(err, -errno, "cannot rename %s to %s", dir, old);
	return 1;
}

void session_dir_put_back(const char *path, bool was_renamed)
{
	cleanup(free_at_exit) char *dir = without_slashes(path);
	cleanup(free_at_exit) char *old = xasprintf("%s.old", dir);

	file_remove_tree(dir, NULL);
	if (was_renamed)
		(void)!rename(old, dir);
}
