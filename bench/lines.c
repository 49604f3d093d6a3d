/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses to functions, files and lines, as llvm-symbolizer prints them.
 *
 *   lines [-c CACHE] [-r N] [-t] IMAGE < ADDRESSES     link addresses, in hexadecimal, one a line
 *
 * Prints "FUNCTION\nFILE:LINE:COLUMN\n" for every frame, innermost first, and an empty line after
 * each address; "??" and 0 for what is not known. -c: with a cache of indexes in this directory.
 * -t: says on stderr what the parts took; -r: looks all of them up N times for that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "symbol/lines.h"

#define FLUSH_BYTES (1 << 16)

struct addresses {
	uint64_t *data;
	size_t n, cap;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Reads them as offsets in the image. */
static bool read_addresses(const char *image, struct addresses *out)
{
	struct file_mapping file;
	struct elf_file elf;
	char line[64];

	if (file_map(image, &file, NULL) < 0 || elf_open(&elf, file.base, file.size, NULL) < 0)
		return false;
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t offset = UINT64_MAX;

		elf_file_off(&elf, strtoull(line, NULL, 16), &offset);
		vec_push(out, offset);
	}
	file_unmap(&file);
	return true;
}

/* Standard output, a full buffer at a time. */
struct printer {
	size_t len;
	char text[FLUSH_BYTES];
};

static void flush(struct printer *p)
{
	file_write_all(STDOUT_FILENO, p->text, p->len);
	p->len = 0;
}

static void put(struct printer *p, const char *text, size_t len)
{
	if (len > sizeof(p->text) - p->len)
		flush(p);
	len = MIN(len, sizeof(p->text)); /* no name is so long */
	memcpy(p->text + p->len, text, len);
	p->len += len;
}

static void put_number(struct printer *p, char separator, uint32_t n)
{
	char digits[11];
	size_t i = sizeof(digits);

	do
		digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	digits[--i] = separator;
	put(p, digits + i, sizeof(digits) - i);
}

static void put_frames(struct printer *p, const struct line_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *function = *frames[i].function ? frames[i].function : "??";
		const char *file = *frames[i].file ? frames[i].file : "??";

		put(p, function, strlen(function));
		put(p, "\n", 1);
		put(p, file, strlen(file));
		put_number(p, ':', frames[i].line);
		put_number(p, ':', frames[i].column);
		put(p, "\n", 1);
	}
	if (!n)
		put(p, "??\n??:0:0\n", 10);
	put(p, "\n", 1);
}

int main(int argc, char **argv)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct image image = { .kind = IMAGE_FILE };
	struct addresses addresses = { 0 };
	struct line_frame frames[LINES_MAX_FRAMES];
	const struct symbol_table *table;
	static struct printer out;
	struct symbolizer *s;
	bool with_times = false;
	int rounds = 1, option;
	double start = now_ms(), opened, found;
	size_t n = 0;

	while ((option = getopt(argc, argv, "c:r:t")) != -1) {
		if (option == 'c')
			config.cache_dir = optarg;
		else if (option == 'r')
			rounds = atoi(optarg);
		else if (option == 't')
			with_times = true;
		else
			return 2;
	}
	if (optind + 1 != argc || !read_addresses(argv[optind], &addresses)) {
		fprintf(stderr, "Usage: lines [-c CACHE] [-r N] [-t] IMAGE < ADDRESSES\n");
		return 2;
	}
	image.path = argv[optind];
	s = symbolizer_new(&config);
	table = symbolizer_table(s, &image, NULL, 0);
	lines_status(s, table);
	opened = now_ms();
	for (int r = 1; r < rounds; r++)
		vec_foreach (&addresses, at) {
			n += lines_find(s, table, *at, frames, LINES_MAX_FRAMES);
		}
	found = now_ms();
	vec_foreach (&addresses, at) {
		put_frames(&out, frames, lines_find(s, table, *at, frames, LINES_MAX_FRAMES));
	}
	flush(&out);
	if (with_times)
		fprintf(stderr,
			"open %.1f ms (%s, %s)\nfind %.1f ns (%zu frames)\nall %.1f ms\n%s\n",
			opened - start, symbol_status_keys[symbol_table_status(table)],
			line_status_keys[lines_status(s, table)],
			rounds > 1 ? (found - opened) * 1e6 / (double)(rounds - 1) /
					     (double)addresses.n
				   : 0.0,
			n, now_ms() - start, lines_detail(s, table));
	symbolizer_free(s);
	vec_fini(&addresses);
	return 0;
}
