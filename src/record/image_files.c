/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/image_files.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "machine/image_file.h"
#include "symbol/symbols.h"

struct image_files {
	char *proc;
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
	free(f->proc);
	free(f);
}

/* Where a file may be, and whether that is the process's own way to it. */
struct candidate {
	char *path;
	bool is_of_process;
};

/*
 * Whether this is the file that was mapped; its build id, if it has one. By the process's own path
 * the inode is enough: before Linux 6.18, records have another device for a file of overlayfs.
 */
static bool is_file_of(const struct candidate *c, const struct image *image,
		       struct file_mapping *file, struct build_id *id)
{
	struct elf_file elf;
	bool is_it;

	if (!c->path || file_map(c->path, file, NULL) < 0)
		return false;
	*id = (struct build_id){ 0 };
	if (elf_file_open(&elf, file->base, file->size, NULL) == 0)
		elf_build_id(&elf, id);
	is_it = image_is_file(image, file, id) ||
		(c->is_of_process && !image->build_id.len && file->ino == image->ino);
	is_it = is_it && !file_is_cut(file);
	if (!is_it)
		file_unmap(file);
	return is_it;
}

/* *file is the file, mapped. */
static char *find(const char *proc, int32_t pid, const struct image *image,
		  struct file_mapping *file, struct build_id *id)
{
	static const char mark[] = " (deleted)"; /* what /proc/PID/maps puts behind the path */
	size_t len = strlen(image->path);
	bool is_marked = len > strlen(mark) && !strcmp(image->path + len - strlen(mark), mark);
	int n = (int)(is_marked ? len - strlen(mark) : len);
	struct candidate candidates[] = {
		{ proc ? xasprintf("%s/%d/root%.*s", proc, pid, n, image->path) : NULL, true },
		{ proc ? image_map_file(proc, pid, image) : NULL, true },
		{ proc ? xasprintf("%s/%d/exe", proc, pid) : NULL, true },
		{ xstrndup(image->path, (size_t)n), false },
	};
	char *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
		if (!found && is_file_of(&candidates[i], image, file, id))
			found = candidates[i].path;
		else
			free(candidates[i].path);
	}
	return found;
}

char *image_files_find(const char *proc, int32_t pid, const struct image *image,
		       struct build_id *id)
{
	struct file_mapping file = { 0 };
	struct build_id any;
	char *found = find(proc, pid, image, &file, id ? id : &any);

	file_unmap(&file);
	return found;
}

/* The index is in the cache then; a symbolizer keeps each that it made, so this one goes. */
static void index_symbols(const char *path, const struct image *image)
{
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = symbolizer_new(NULL);
	struct image there = *image;

	there.path = path;
	symbolizer_table(symbols, &there, NULL, 0);
}

/* Whether the path leads to another file here, or to none. */
static bool is_hidden(const char *found, const char *path)
{
	struct stat there, here;

	return stat(found, &there) == 0 && (stat(path, &here) < 0 || here.st_dev != there.st_dev ||
					    here.st_ino != there.st_ino);
}

void image_files_look(struct image_files *f, int32_t pid, struct image *image)
{
	struct file_mapping file = { 0 };
	struct build_id id = { 0 };
	cleanup(free_at_exit) char *found = find(f->proc, pid, image, &file, &id);

	if (!found)
		return;
	image->build_id = id;
	image->dev = image->ino = 0;
	if (!id.len)
		image_set_content(image, &file);
	if (!file_is_cut(&file) && is_hidden(found, image->path))
		index_symbols(found, image);
	file_unmap(&file);
}
