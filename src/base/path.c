/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/path.h"

#include <string.h>

#include "base/mem.h"

const char *path_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

size_t path_folder_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

char *path_folder(const char *path)
{
	size_t len = path_folder_len(path);

	if (!strchr(path, '/'))
		return xstrdup(".");
	return len ? xstrndup(path, len) : xstrdup("/");
}
