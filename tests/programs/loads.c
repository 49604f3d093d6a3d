/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens and closes a library again and again; all the time goes to plugin_work() in it. */
#include <dlfcn.h>

#include "work.h"

int main(int argc, char **argv)
{
	struct until until = until_argument(argc, argv);
	uint64_t x = 1;

	while (until_next(&until)) {
		void *library = dlopen(argc > 2 ? argv[2] : "./libplugin.so", RTLD_NOW);
		uint64_t (*work)(uint64_t);

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&work = dlsym(library, "plugin_work");
		for (int i = 0; i < 100; i++)
			x = work(x);
		dlclose(library);
	}
	printf("%llx\n", (unsigned long long)x);
	return 0;
}
