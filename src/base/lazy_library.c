/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/lazy_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"

/* The library stays until the process ends. */
int lazy_library_load(const char *soname, const struct lazy_function *functions, size_t n,
		      struct error *err)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return error_set(err, -ENOENT, "cannot load %s; is its package installed? %s",
				 soname, dlerror());
	for (size_t i = 0; i < n; i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function)
			return error_set(err, -ENOENT, "%s has no %s", soname, functions[i].name);
		memcpy(functions[i].pointer, &function, sizeof(function));
	}
	return 0;
}
