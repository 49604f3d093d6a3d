/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "open/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

static int through_folder(const char *path, struct unix_address *a, struct error *err)
{
	const char *slash = strrchr(path, '/');
	cleanup(free_at_exit) char *folder =
		slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
	int n;

	a->dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (a->dir < 0)
		return error_errno(err, -errno, "'%s'", folder);
	n = snprintf(a->name.sun_path, sizeof(a->name.sun_path), "/proc/self/fd/%d/%s", a->dir,
		     slash ? slash + 1 : path);
	return n < (int)sizeof(a->name.sun_path)
		       ? 0
		       : error_set(err, -ENAMETOOLONG, "'%s': the name is too long for a socket",
				   path);
}

int unix_address_of(const char *path, struct unix_address *out, struct error *err)
{
	struct unix_address a = { .name.sun_family = AF_UNIX, .size = sizeof(a.name), .dir = -1 };
	int r = 0;

	if (strlen(path) < sizeof(a.name.sun_path))
		strcpy(a.name.sun_path, path);
	else
		r = through_folder(path, &a, err);
	if (r < 0)
		unix_address_fini(&a);
	else
		*out = a;
	return r;
}

void unix_address_fini(struct unix_address *a)
{
	if (a->dir >= 0)
		close(a->dir);
	a->dir = -1;
}
