/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/lazy_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static void *open_first(const char *sonames, char *name, size_t size)
{
	void *library = NULL;

	for (const char *at = sonames; *at && !library; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		snprintf(name, size, "%.*s", (int)n, at);
		library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		at += n;
	}
	return library;
}

bool lazy_library_is_installed(const char *sonames)
{
	char name[64];
	void *library = open_first(sonames, name, sizeof(name));

	if (library)
		dlclose(library);
	return library;
}

/* The library stays until the process ends. */
int lazy_library_load(const char *sonames, const struct lazy_function *functions, size_t n,
		      struct error *err)
{
	char name[64] = "";
	void *library = open_first(sonames, name, sizeof(name));

	if (!library)
		return error_set(err, -ENOENT, "cannot load %s; is its package installed? %s",
				 sonames, dlerror());
	for (size_t i = 0; i < n; i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function)
			return error_set(err, -ENOENT, "%s has no %s", name, functions[i].name);
		memcpy(functions[i].pointer, &function, sizeof(function));
	}
	return 0;
}
