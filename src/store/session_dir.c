/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"

#define RESERVE_BYTES 8192

static char *reserve_path(const char *segments_dir)
{
	return xasprintf("%s/reserve", segments_dir);
}

void session_dir_hold_reserve(const char *segments_dir)
{
	static const char zeros[RESERVE_BYTES];
	cleanup(free_at_exit) char *path = reserve_path(segments_dir);
	cleanup(close_at_exit) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0 && file_write_all(fd, zeros, sizeof(zeros)) < 0)
		unlink(path);
}

void session_dir_give_up_reserve(const char *segments_dir)
{
	cleanup(free_at_exit) char *path = reserve_path(segments_dir);

	unlink(path);
}

int session_dir_make(const char *dir, const char *segments_dir, struct sharing *sharing,
		     struct error *err)
{
	cleanup(free_at_exit) char *parent = xasprintf("%s/..", dir);
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples", dir);
	int r = access(segments_dir, F_OK)
			? file_mkdirs(segments_dir, 0700, err)
			: error_set(err, -EEXIST, "%s is there already", segments_dir);

	if (r < 0)
		return r;
	*sharing = sharing_below(parent);
	/* From the innermost: a folder that can be entered has permissions inside already. */
	if (!sharing_give_dir(sharing, segments_dir) || !sharing_give_dir(sharing, samples) ||
	    !sharing_give_dir(sharing, dir))
		sharing->is_shared = false;
	return 0;
}
