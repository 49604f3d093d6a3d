/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns addresses into functions, files and lines, and prints them as llvm-symbolizer does.
 *
 *   lines [-c CACHE] [-r N] [-t] IMAGE < ADDRESSES
 *
 * Input is a link address in each line, in hexadecimal. For every frame, innermost first, the
 * program prints "FUNCTION\nFILE:LINE:COLUMN\n", and an empty line after each address. Unknown
 * names are "??", and unknown numbers are 0.
 *
 *   -c  keep a cache of indexes in this directory
 *   -t  print the time of each part on stderr
 *   -r  look all addresses up N times, for -t
 */
#include <ctype.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "symbol/lines/lines.h"

#define FLUSH_BYTES (1 << 16)

struct addresses {
	uint64_t *data;
	size_t n, cap;
};

struct segments {
	struct elf_segment *data;
	size_t n, cap;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* What the file has in memory, once: a table to look 10,000 addresses up in. */
static bool read_segments(const char *image, struct segments *out)
{
	struct file_mapping file;
	struct elf_segment segment;
	struct elf_file elf;
	bool is_elf;

	if (file_map(image, &file, NULL) < 0)
		return false;
	is_elf = elf_file_open(&elf, file.base, file.size, NULL) == 0;
	for (uint32_t i = 0; is_elf && elf_segment(&elf, i, &segment); i++)
		if (segment.type == PT_LOAD)
			vec_push(out, segment);
	file_unmap(&file);
	return is_elf;
}

static uint64_t offset_of(const struct segments *segments, uint64_t link_addr)
{
	vec_foreach (segments, s)
		if (link_addr - s->link_addr < s->file_size)
			return s->file_off + (link_addr - s->link_addr);
	return UINT64_MAX;
}

/* Reads them as offsets in the image. */
static bool read_addresses(const char *image, struct addresses *out)
{
	cleanup(free_at_exit) char *text = NULL;
	struct segments segments = { 0 };

	if (!read_segments(image, &segments) ||
	    file_read_fd(STDIN_FILENO, SIZE_MAX, &text, NULL) < 0)
		return false;
	for (const char *at = text; *at;) {
		uint64_t link_addr = 0;

		at += at[0] == '0' && at[1] == 'x' ? 2 : 0;
		for (; isxdigit((unsigned char)*at); at++)
			link_addr = link_addr << 4 | (uint64_t)((*at & 15) + (*at > '9' ? 9 : 0));
		if (*at++ != '\n')
			return false;
		vec_push(out, offset_of(&segments, link_addr));
	}
	vec_fini(&segments);
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

/* Where `len` bytes can be put. No frame is longer than the buffer: DWARF's names are cut before.
 */
static char *room_for(struct printer *p, size_t len)
{
	if (len > sizeof(p->text) - p->len)
		flush(p);
	return len <= sizeof(p->text) ? p->text + p->len : NULL;
}

static char *put_number(char *at, char separator, uint32_t n)
{
	size_t len = 1;

	for (uint64_t above = 10; n >= above; above *= 10)
		len++;
	*at++ = separator;
	for (size_t i = len; i-- > 0; n /= 10)
		at[i] = (char)('0' + n % 10);
	return at + len;
}

static void put_frame(struct printer *p, const struct line_frame *f)
{
	const char *function = *f->function ? f->function : "??";
	const char *file = *f->file ? f->file : "??";
	size_t function_len = strlen(function), file_len = strlen(file);
	char *at = room_for(p, function_len + file_len + 32);

	if (!at)
		return;
	at = (char *)mempcpy(at, function, function_len);
	*at++ = '\n';
	at = (char *)mempcpy(at, file, file_len);
	at = put_number(at, ':', f->line);
	at = put_number(at, ':', f->column);
	*at++ = '\n';
	p->len = (size_t)(at - p->text);
}

static void put_frames(void *context, size_t index, const struct line_frame *frames, size_t n)
{
	static const struct line_frame unknown = { .function = "", .file = "" };
	struct printer *p = context;

	(void)index;
	for (size_t i = 0; i < n; i++)
		put_frame(p, &frames[i]);
	if (!n)
		put_frame(p, &unknown);
	*room_for(p, 1) = '\n';
	p->len++;
}

static void count_frames(void *context, size_t index, const struct line_frame *frames, size_t n)
{
	(void)index, (void)frames;
	*(size_t *)context += n;
}

int main(int argc, char **argv)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct image image = { .kind = IMAGE_FILE };
	struct addresses addresses = { 0 };
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
		lines_find_each(s, table, addresses.data, addresses.n, count_frames, &n);
	found = now_ms();
	lines_find_each(s, table, addresses.data, addresses.n, put_frames, &out);
	flush(&out);
	if (with_times)
		fprintf(stderr,
			"open %.1f ms (%s, %s)\nfind %.1f ns (%zu frames)\nall %.1f ms\n%s\n",
			opened - start, symbol_status_keys[symbol_table_status(table)],
			line_status_texts[lines_status(s, table)],
			rounds > 1 ? (found - opened) * 1e6 / (double)(rounds - 1) /
					     (double)addresses.n
				   : 0.0,
			n, now_ms() - start, lines_detail(s, table));
	symbolizer_free(s);
	vec_fini(&addresses);
	return 0;
}
