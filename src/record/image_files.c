/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/image_files.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "symbol/symbols.h"

struct image_files {
	char *proc;
	struct symbolizer *symbolizer; /* made when the first file is hidden */
};

struct image_files *image_files_new(const char *proc)
{
	struct image_files *f = xcalloc(1, sizeof(*f));

	f->proc = xstrdup(proc);
	return f;
}

void image_files_free(struct image_files *f)
{
	if (!f)
		return;
	symbolizer_free(f->symbolizer);
	free(f->proc);
	free(f);
}

/* Whether this is the file that was mapped; its build id, if it has one. */
static bool is_file_of(const char *path, const struct image *image, struct build_id *id)
{
	struct file_mapping file = { 0 };
	struct elf_file elf;
	bool is_it;

	if (file_map(path, &file, NULL) < 0)
		return false;
	*id = (struct build_id){ 0 };
	if (elf_open(&elf, file.base, file.size, NULL) == 0 && elf_build_id(&elf, id) &&
	    image->build_id.len)
		is_it = build_id_equal(id, &image->build_id);
	else
		is_it = !image->build_id.len && (!image->ino || file.ino == image->ino);
	is_it = is_it && !file_is_cut(&file);
	file_unmap(&file);
	return is_it;
}

char *image_files_find(const char *proc, int32_t pid, const struct image *image,
		       struct build_id *id)
{
	static const char mark[] = " (deleted)"; /* what /proc/PID/maps puts behind the path */
	size_t len = strlen(image->path);
	bool is_marked = len > strlen(mark) && !strcmp(image->path + len - strlen(mark), mark);
	int n = (int)(is_marked ? len - strlen(mark) : len);
	char *paths[] = {
		proc ? xasprintf("%s/%d/root%.*s", proc, pid, n, image->path) : NULL,
		proc ? xasprintf("%s/%d/exe", proc, pid) : NULL,
		xstrndup(image->path, (size_t)n),
	};
	char *found = NULL;
	struct build_id any;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (!found && paths[i] && is_file_of(paths[i], image, id ? id : &any))
			found = paths[i];
		else
			free(paths[i]);
	}
	return found;
}

static void index_symbols(struct image_files *f, const char *file, const struct build_id *id)
{
	static const struct symbolizer_config config;
	struct image image = { .kind = IMAGE_FILE, .build_id = *id, .path = file };

	if (!f->symbolizer)
		f->symbolizer = symbolizer_new(&config);
	symbolizer_table(f->symbolizer, &image, NULL, 0);
}

/* Whether the path leads to another file here, or to none. */
static bool is_hidden(const char *found, const char *path)
{
	struct stat there, here;

	return stat(found, &there) == 0 && (stat(path, &here) < 0 || here.st_dev != there.st_dev ||
					    here.st_ino != there.st_ino);
}

struct build_id image_files_look(struct image_files *f, int32_t pid, const struct image *image)
{
	struct build_id id = { 0 };
	cleanup(free_at_exit) char *file = image_files_find(f->proc, pid, image, &id);

	if (!file)
		return image->build_id;
	if (is_hidden(file, image->path))
		index_symbols(f, file, &id);
	return id;
}
