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

char *path_to_pattern(const char *path)
{
	char *pattern = xmalloc(2 * strlen(path) + 1), *to = pattern;

	for (; *path; *to++ = *path++)
		if (strchr("*?[\\", *path))
			*to++ = '\\';
	*to = '\0';
	return pattern;
}
