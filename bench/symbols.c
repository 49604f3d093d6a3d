/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures the cost of naming: making the index of an image, opening a cached index, looking up a
 * random address, and demangling a name.
 *
 *   symbols [IMAGE…]
 *
 * An image is a file or "kernel". The default is the kernel and the C library. It prints lines of
 * "IMAGE NAME VALUE UNIT".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/files/file.h"
#include "symbol/symbols.h"

#define LOOKUPS 4000000

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double open_table(struct symbolizer *s, const struct image *image,
			 const struct symbol_table **table)
{
	double start = now_ns();

	*table = symbolizer_table(s, image, NULL, 0);
	return now_ns() - start;
}

static void measure_lookups(const char *what, struct symbolizer *s, const struct symbol_table *t)
{
	uint32_t n = symbol_count(t), found = 0, step = n / 1000 + 1;
	uint64_t first = symbol_get(t, 0).offset, span = symbol_get(t, n - 1).offset - first + 1;
	uint64_t random = 88172645463325252ULL;
	double start = now_ns();

	for (int i = 0; i < LOOKUPS; i++) {
		random ^= random << 13; /* Marsaglia's xorshift */
		random ^= random >> 7;
		random ^= random << 17;
		found += symbol_find(t, first + random % span) != NO_SYMBOL;
	}
	printf("%s find %.1f ns\n", what, (now_ns() - start) / LOOKUPS);
	printf("%s found %.1f %%\n", what, 100.0 * found / LOOKUPS);

	start = now_ns();
	for (uint32_t i = 0; i < n; i += step)
		symbol_name(s, t, i);
	printf("%s name %.0f ns\n", what, (now_ns() - start) / (n / step + 1));
}

static void measure(const char *what, const char *cache_dir)
{
	struct symbolizer_config uncached = { .cache_dir = "" },
				 cached = { .cache_dir = cache_dir };
	struct image image = { .kind = IMAGE_FILE, .path = what };
	const struct symbol_table *t;

	if (!strcmp(what, "kernel"))
		image = (struct image){ .kind = IMAGE_KERNEL, .path = "[kernel]" };
	for (int round = 0; round < 4; round++) {
		bool is_cold = round == 0, is_filling = round == 1;
		struct symbolizer *s = symbolizer_new(is_cold ? &uncached : &cached);
		double ns = open_table(s, &image, &t);

		if (is_cold)
			printf("%s symbols %u %s\n", what, symbol_count(t),
			       symbol_status_keys[symbol_table_status(t)]);
		if (!is_filling)
			printf("%s %s %.3f ms\n", what, is_cold ? "make" : "open", ns / 1e6);
		if (round == 3 && symbol_count(t))
			measure_lookups(what, s, t);
		symbolizer_free(s);
	}
}

int main(int argc, char **argv)
{
	char cache_dir[] = "/tmp/assay-bench-XXXXXX";

	if (!mkdtemp(cache_dir)) {
		perror(cache_dir);
		return 1;
	}
	for (int i = 1; i < argc; i++)
		measure(argv[i], cache_dir);
	if (argc < 2) {
		measure("kernel", cache_dir);
		measure("/lib/x86_64-linux-gnu/libc.so.6", cache_dir);
	}
	file_remove_tree(cache_dir, NULL);
	return 0;
}
