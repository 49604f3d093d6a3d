/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Split debug information. The first byte chooses a side:
 *
 *   0  in the row: files, each with its size (ULEB128) before its bytes. The first is the image.
 *      The others are the .dwo files and packages that it asks for, by their places.
 *   1  in the process that asks: the rest is a wish, as a child that somebody has taken over could
 *      send it. No file outside of the search's root may be opened, nor one before the wished
 * place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "scratch_root.h"

#include "symbol/file_debug.h"
#include "symbol/lines/file_lines.h"
#include "symbol/split_files.h"

#define FILES_MAX 8

static struct {
	struct reader files[FILES_MAX];
	uint32_t n;
} input;

/* ---- in the row ---- */

static void read_files(struct reader *r)
{
	input.n = 0;
	while (input.n < FILES_MAX && reader_left(r)) {
		uint64_t size = reader_uleb(r);

		size = MIN(size, reader_left(r));
		input.files[input.n++] = reader_over(reader_bytes(r, size), size);
	}
}

static void copy_file(uint32_t i, struct file_mapping *out)
{
	*out = (struct file_mapping){ .is_small = true };
	out->size = reader_left(&input.files[i]);
	out->base = xmalloc(out->size + 1);
	memcpy((void *)out->base, input.files[i].at, out->size);
}

/* The first file from the wished place on. Several threads may ask. */
static int open_input_file(struct parser_job *job, const struct buf *wish, struct file_mapping *out)
{
	uint8_t kind = wish->len ? wish->data[0] : 0;
	uint32_t first = wish->len > 1 ? wish->data[1] : 0;

	(void)job;
	if ((kind != WISH_SPLIT && kind != WISH_PACKAGE) || first + 1 >= input.n)
		return -1;
	copy_file(first + 1, out);
	return (int)first;
}

static void run_row(const struct parser_row *row)
{
	static const struct build_id any = { 0 };
	struct buf answer = { 0 };
	struct file_mapping image;
	struct parser_job job = { .file = &image,
				  .request = reader_over(&any, sizeof(any)),
				  .answer = &answer,
				  .open = open_input_file };

	copy_file(0, &image);
	row->run(&job);
	if (!row->check(answer.data, answer.len))
		abort();
	buf_fini(&answer);
	file_unmap(&image);
}

/* ---- in the process that asks ---- */

#define INSIDE  "inside the root"
#define OUTSIDE "outside of it"

static char root[160];

/* A .dwo in the image's folder, links that lead out, and one of the same name outside. */
static void make_tree(void)
{
	static const struct {
		const char *path, *text;
	} files[] = { { "secret.dwo", OUTSIDE },
		      { "root/app", INSIDE },
		      { "root/app.dwp", INSIDE },
		      { "root/a.dwo", INSIDE },
		      { "root/src/a.dwo", INSIDE } };
	char path[256], target[256];

	snprintf(root, sizeof(root), "%s/root", scratch_root);
	snprintf(path, sizeof(path), "%s/src", root);
	if (file_mkdirs(path, 0700, NULL) < 0)
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", scratch_root, files[i].path);
		if (file_replace(path, files[i].text, strlen(files[i].text), NULL) < 0)
			abort();
	}
	snprintf(path, sizeof(path), "%s/link.dwo", root);
	snprintf(target, sizeof(target), "%s/secret.dwo", scratch_root);
	if (symlink(target, path) < 0)
		abort();
}

static void serve_wish(struct reader *wish)
{
	const struct debug_search search = { .root = root,
					     .debug_dir = "/debug",
					     .image_path = "/app" };
	const struct buf whole = { .data = (void *)wish->at, .len = reader_left(wish) };
	struct file_mapping file = { 0 };
	char *path = NULL;
	uint64_t id;
	int r = split_file_serve(&search, wish, &file, &path, &id);

	if (r >= 0 && (!path || strncmp(path, root, strlen(root)) != 0 || whole.len < 2 ||
		       r < (uint8_t)whole.data[1]))
		abort();
	if (r >= 0 && file.size == strlen(OUTSIDE) && !memcmp(file.base, OUTSIDE, file.size))
		abort();
	if (r < 0 && (path || file.base))
		abort();
	file_unmap(&file);
	free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_over(data, size);

	if (scratch_root_make())
		make_tree();
	if (reader_u8(&r) & 1) {
		serve_wish(&r);
		return 0;
	}
	read_files(&r);
	if (input.n) {
		run_row(&file_debug_row);
		run_row(&file_lines_row);
	}
	return 0;
}
