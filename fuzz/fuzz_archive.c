/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Archives. A session with any image paths is archived: nothing is written outside of the archive.
 * Then files are put into the archive, as if somebody had sent it, and the session's code is named
 * by them.
 *
 * The input is a list of items, each with a byte of its kind:
 *
 *   0  an image: a byte of its kind, an offset in it, its path
 *   1  a file of the archive: its path, size and bytes
 *
 * Texts end with a NUL, and numbers are ULEB128.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limits.h"
#include "scratch_root.h"

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/reader.h"
#include "replay/archive.h"
#include "store/native.h"
#include "store/session.h"
#include "symbol/symbols.h"

#define ITEMS_MAX 32
#define PATH_SIZE 256

static char session_dir[160], archive_dir[160];

static struct {
	struct image images[ITEMS_MAX];
	uint64_t offsets[ITEMS_MAX];
	uint32_t n_images;
	struct archived_file {
		const char *path;
		const uint8_t *bytes;
		size_t size;
	} files[ITEMS_MAX];
	uint32_t n_files;
} input;

static void make_root(void)
{
	if (!scratch_root_make())
		return;
	snprintf(session_dir, sizeof(session_dir), "%s/session", scratch_root);
	snprintf(archive_dir, sizeof(archive_dir), "%s/archive", scratch_root);
}

/* ---- the input ---- */

static const char *read_text(struct reader *r)
{
	const char *text = (const char *)r->at, *end = memchr(text, 0, reader_left(r));

	reader_bytes(r, end ? (size_t)(end - text) + 1 : reader_left(r));
	return end && end - text < PATH_SIZE ? text : "";
}

/*
 * A binary that is there would be copied with its debug file. Then the target would measure the
 * disk, and depend on this machine.
 */
static bool is_on_this_machine(const char *path)
{
	return access(path, F_OK) == 0;
}

static void read_image(struct reader *r)
{
	struct image *image = &input.images[input.n_images];

	*image = (struct image){ .kind = reader_u8(r) % N_IMAGE_KINDS, .ino = 1 };
	input.offsets[input.n_images] = reader_uleb(r);
	image->path = read_text(r);
	input.n_images += *image->path && !is_on_this_machine(image->path);
}

static void read_file(struct reader *r)
{
	struct archived_file *file = &input.files[input.n_files];
	uint64_t size;

	file->path = read_text(r);
	size = reader_uleb(r);
	file->size = MIN(size, reader_left(r));
	file->bytes = reader_bytes(r, file->size);
	/* The target must not write outside of the archive either. */
	input.n_files += *file->path && !strstr(file->path, "..");
}

static void read_input(struct reader *r)
{
	input.n_images = input.n_files = 0;
	for (int i = 0; i < ITEMS_MAX && reader_left(r); i++) {
		if (reader_u8(r) & 1)
			read_file(r);
		else
			read_image(r);
	}
}

/* ---- the session and its archive ---- */

static void write_session(void)
{
	struct counter_info counter = { "cpu-clock", "cpu-clock", "ns", 49, 0, 0, true, true };
	const struct session_info info = { .version = "0",
					   .command = "",
					   .target = "",
					   .hostname = "",
					   .os_release = "",
					   .arch = "x86_64",
					   .cpu_model = "",
					   .collector = "",
					   .stacks = "",
					   .note = "",
					   .counters = &counter,
					   .n_counters = 1 };
	const struct session_end end = { .exit_status = 0 };
	struct image_table *images = image_table_new();
	struct strings strings;
	struct store *store;
	uint64_t n;

	strings_init(&strings);
	if (native_store.open(session_dir, &info, images, &strings, &store, NULL) < 0)
		abort();
	for (uint32_t i = 0; i < input.n_images; i++) {
		struct code_addr frame = { image_intern(images, &input.images[i]),
					   input.offsets[i] };
		struct sample sample = { .class = { .app = frame.image },
					 .frames = &frame,
					 .n_frames = 1,
					 .samples = 1 };

		native_store.add(store, &sample, NULL);
	}
	native_store.close(store, &end, &n, NULL);
	image_table_free(images);
	strings_fini(&strings);
}

/* Nothing but the session and its archive may be in the folder. */
static void check_folder(void)
{
	DIR *d = opendir(scratch_root);
	const struct dirent *entry;

	while ((entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    strcmp(entry->d_name, "session") && strcmp(entry->d_name, "archive"))
			abort();
	closedir(d);
}

static bool write_archive(void)
{
	const struct symbolizer_config config = { .cache_dir = "" };
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = symbolizer_new(&config);
	struct session *s;
	struct archive_result result;
	struct error err = { 0 };
	int r;

	if (session_open(session_dir, &s, NULL) < 0)
		abort();
	r = archive_write(s, NULL, symbols, archive_dir, &result, &err);
	if (r < 0 && (!*err.text || access(archive_dir, F_OK) == 0))
		abort(); /* no reason, or remains */
	archive_result_fini(&result);
	session_close(s);
	check_folder();
	return r >= 0;
}

/* With `files`, even an empty one, no name comes from the kernel that runs here. */
static void write_files(void)
{
	cleanup(free_at_exit) char *files = xasprintf("%s/files", archive_dir);

	file_mkdirs(files, 0700, NULL);
	for (uint32_t i = 0; i < input.n_files; i++) {
		const struct archived_file *file = &input.files[i];
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", archive_dir, file->path);

		*strrchr(path, '/') = '\0';
		if (file_mkdirs(path, 0700, NULL) < 0)
			continue;
		path[strlen(path)] = '/';
		file_replace(path, (const char *)file->bytes, file->size, NULL);
	}
}

/* ---- reading it ---- */

static void name_code(const struct session *s, struct symbolizer *symbols)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t n = 1; n < s->segments[i]->n_nodes; n++) {
			const struct code_addr *code = &s->segments[i]->nodes[n].code;
			const struct image *image = &s->segments[i]->images[code->image.n];
			const struct symbol_table *t = symbolizer_table(symbols, image, NULL, 0);
			uint32_t at = symbol_find(t, code->offset);

			if (at != NO_SYMBOL && !symbol_name(symbols, t, at))
				abort();
		}
}

static void read_archive(void)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct archive_places places;
	struct symbolizer *symbols;
	struct session *s;

	/* A file may have replaced the session's own. */
	if (session_open(archive_dir, &s, NULL) < 0)
		return;
	archive_places_init(&places, archive_dir, NULL, &config);
	symbols = symbolizer_new(&config);
	name_code(s, symbols);
	symbolizer_free(symbols);
	archive_places_fini(&places);
	session_close(s);
}

/* The tables of its session. */
const struct fuzz_limits fuzz_limits = { .floor_kib = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_over(data, size);

	make_root();
	read_input(&r);
	if (!input.n_images)
		return 0;
	write_session();
	if (write_archive()) {
		write_files();
		read_archive();
	}
	file_remove_tree(session_dir, NULL);
	file_remove_tree(archive_dir, NULL);
	return 0;
}
