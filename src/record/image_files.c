/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/image_files.h"

#include <stdio.h>
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

/* The build id of a file, if it is the one with this inode (0: any). */
static bool read_build_id(const char *path, uint64_t ino, struct build_id *out)
{
	struct file_mapping file = { 0 };
	struct elf_file elf;
	bool is_read;

	if (file_map(path, &file, NULL) < 0)
		return false;
	is_read = (!ino || file.ino == ino) && elf_open(&elf, file.base, file.size, NULL) == 0 &&
		  elf_build_id(&elf, out);
	file_unmap(&file);
	return is_read;
}

/* Where the process's file can be reached from here, and whether its path leads there as well. */
static char *reach(const struct image_files *f, int32_t pid, const char *path, bool *is_hidden)
{
	char *inside = xasprintf("%s/%d/root%s", f->proc, pid, path);
	struct stat seen, here;

	if (stat(inside, &seen) == 0) {
		*is_hidden = stat(path, &here) < 0 || here.st_dev != seen.st_dev ||
			     here.st_ino != seen.st_ino;
		return inside;
	}
	free(inside);
	*is_hidden = true;
	return xasprintf("%s/%d/exe", f->proc, pid);
}

static void index_symbols(struct image_files *f, const char *file, const struct build_id *id)
{
	static const struct symbolizer_config config;
	struct image image = { .kind = IMAGE_FILE, .build_id = *id, .path = file };

	if (!f->symbolizer)
		f->symbolizer = symbolizer_new(&config);
	symbolizer_table(f->symbolizer, &image, NULL, 0);
}

struct build_id image_files_look(struct image_files *f, int32_t pid, const struct image *image)
{
	bool is_hidden;
	cleanup(free_at_exit) char *file = reach(f, pid, image->path, &is_hidden);
	struct build_id id = { 0 };

	if (image->build_id.len && !is_hidden)
		return image->build_id;
	if (!read_build_id(file, image->ino, &id) &&
	    (is_hidden || !read_build_id(image->path, image->ino, &id)))
		return image->build_id;
	/* /proc/PID/exe may be another file than the one that was mapped. */
	if (image->build_id.len && !build_id_equal(&image->build_id, &id))
		return image->build_id;
	if (is_hidden)
		index_symbols(f, file, &id);
	return id;
}
