/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/glob.h"

#include <fnmatch.h>
#include <string.h>

bool glob_names(const char *glob, const char *name)
{
	return !strcmp(glob, name) || fnmatch(glob, name, 0) == 0;
}

bool glob_names_file(const char *glob, const char *path)
{
	const char *slash = strrchr(path, '/');

	return glob_names(glob, path) || (slash && glob_names(glob, slash + 1));
}
