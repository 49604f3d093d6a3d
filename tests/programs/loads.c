/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens and closes libraries in turn, again and again. All time goes to plugin_work() in them.
 * Prints "moved" if a library was not mapped at the address of the one before.
 */
#include <dlfcn.h>

#include "work.h"

int main(int argc, char **argv)
{
	struct until until = until_argument(argc, argv);
	void *first = NULL;
	uint64_t x = 1, round = 0;

	while (until_next(&until)) {
		const char *name =
			argc > 2 ? argv[2 + round++ % (uint64_t)(argc - 2)] : "./libplugin.so";
		void *library = dlopen(name, RTLD_NOW);
		uint64_t (*work)(uint64_t);

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&work = dlsym(library, "plugin_work");
		if (first && first != *(void **)&work)
			printf("moved\n");
		first = *(void **)&work;
		for (int i = 0; i < 100; i++)
			x = work(x);
		dlclose(library);
	}
	printf("%llx\n", (unsigned long long)x);
	return 0;
}
