/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/heap_library.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "config.h"
#include "heap/shared.h"

#define LIBRARY "libassay-heap.so"

/* The folder of the running program. */
static char *program_dir(void)
{
	char path[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		return NULL;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return xstrdup(path);
}

/* Installed, unpacked, built. */
static char *find_beside(const char *dir)
{
	static const char *const places[] = { "/../" ASSAY_LIBDIR "/assay", "/../lib/assay", "" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s%s/" LIBRARY, dir, places[i]);
		char *real = realpath(path, NULL);

		if (real)
			return real;
	}
	return NULL;
}

char *heap_library_find(struct error *err)
{
	const char *own = getenv("ASSAY_HEAP_LIBRARY");
	cleanup(free_at_exit) char *dir = program_dir();
	char *path = own ? realpath(own, NULL) : dir ? find_beside(dir) : NULL;

	if (!path)
		error_set(err, -ENOENT,
			  "--alloc needs " LIBRARY ", which is not beside this assay: %s",
			  own ? own : "install assay whole, or set ASSAY_HEAP_LIBRARY");
	else if (strpbrk(path, ": "))
		error_set(err, -EINVAL,
			  "%s: the loader can't preload a file with a colon or a space in its "
			  "path",
			  path);
	else
		return path;
	free(path);
	return NULL;
}

struct heap_variables heap_library_variables(const char *library, const char *ring)
{
	const char *own = getenv("LD_PRELOAD");

	return (struct heap_variables){
		.preload = xasprintf("LD_PRELOAD=%s%s%s", library, own && *own ? ":" : "",
				     own ? own : ""),
		.ring = xasprintf(HEAP_VARIABLE "=%s", ring),
	};
}

void heap_variables_fini(struct heap_variables *v)
{
	free(v->preload);
	free(v->ring);
}
