// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads each library that it is given, and runs its function `work` until a sample must have hit
 * it: many_libraries LIBRARY… */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

enum { RUN_NS = 2000000 }; // two periods of 999 Hz

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		void (*work)(void) = library ? (void (*)(void))dlsym(library, "work") : NULL;

		if (!work) {
			fprintf(stderr, "many_libraries: %s\n", dlerror());
			return 1;
		}
		for (long end = now_ns() + RUN_NS; now_ns() < end;)
			work();
	}
	return 0;
}
