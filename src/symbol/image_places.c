/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/image_places.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "elf/elf_file.h"
#include "guard/open.h"
#include "machine/image_file.h"
#include "symbol/table.h"

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void image_places_list(struct image_places *p, const char *dir)
{
	char *const roots[] = { (char *)dir, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	const FTSENT *entry;

	while (walk && (entry = fts_read(walk))) {
		struct listed_file file;

		if (entry->fts_info != FTS_F &&
		    (entry->fts_info != FTS_SL || !is_file(entry->fts_path)))
			continue;
		file.path = xstrdup(entry->fts_path);
		file.name = file.path + entry->fts_pathlen - entry->fts_namelen;
		vec_push(&p->files, file);
	}
	if (walk)
		fts_close(walk);
}

static int image_places_by_name(const void *x, const void *y)
{
	const struct listed_file *a = x, *b = y;
	int r = strcmp(a->name, b->name);

	return r ? r : strcmp(a->path, b->path);
}

void image_places_init(struct image_places *p, const char *root, const char *const *dirs, size_t n)
{
	*p = (struct image_places){ 0 };
	for (size_t i = 0; i < n; i++) {
		cleanup(free_at_exit) char *below = xasprintf("%s/%s", root, dirs[i]);
		const char *dir = *root && is_folder(below) ? below : dirs[i];

		if (is_folder(dir))
			image_places_list(p, dir);
		else
			vec_push(&p->missing, xstrdup(dirs[i]));
	}
	if (p->files.n)
		qsort(p->files.data, p->files.n, sizeof(*p->files.data), image_places_by_name);
}

void image_places_fini(struct image_places *p)
{
	vec_foreach (&p->files, file)
		free(file->path);
	vec_foreach (&p->missing, dir)
		free(*dir);
	vec_fini(&p->files);
	vec_fini(&p->missing);
}

/* The files of a name, possibly several. */
static const struct listed_file *image_places_find(const struct image_places *p, const char *name,
						   size_t *n)
{
	size_t low = 0, high = p->files.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(p->files.data[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < p->files.n && !strcmp(p->files.data[high].name, name);)
		high++;
	*n = high - low;
	return p->files.data + low;
}

bool image_place_is_right(const struct symbolizer *s, const struct image *image,
			  const struct file_mapping *file, const struct build_id *found)
{
	bool is_by_inode = !image->build_id.len && !image_has_identity(image);

	return (is_by_inode && *s->root) || image_is_file(image, file, found);
}

static bool image_places_is_of_image(const struct symbolizer *s, const char *path,
				     const struct image *image)
{
	struct file_mapping file = { 0 };
	struct build_id found = { 0 };
	struct elf_file elf;
	bool ok = symbolizer_map(s, path, &file, NULL) >= 0 &&
		  elf_file_open(&elf, file.base, file.size, NULL) >= 0;

	if (ok)
		elf_build_id(&elf, &found);
	ok = ok && image_is_file(image, &file, &found);
	file_unmap(&file);
	return ok;
}

/* Whether the image has an identity beside its name. */
static bool has_identity(const struct image *image)
{
	return image->build_id.len || image_has_identity(image);
}

static bool image_places_is_below(const char *path, const char *root)
{
	size_t n = strlen(root);

	return !strncmp(path, root, n) && path[n] == '/';
}

/* NULL: there are several, or none. Nested folders list the same file twice. */
static const char *find_only_one(const struct listed_file *files, size_t n, const char *root)
{
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (root && !image_places_is_below(files[i].path, root))
			continue;
		if (found && strcmp(found, files[i].path) != 0)
			return NULL;
		found = files[i].path;
	}
	return found;
}

static const char *find_listed(const struct symbolizer *s, const struct image *image,
			       const char *bare)
{
	const char *slash = strrchr(bare, '/'), *found;
	size_t n;
	const struct listed_file *files =
		image_places_find(&s->image_places, slash ? slash + 1 : bare, &n);

	for (size_t i = 0; i < n && has_identity(image); i++)
		if (image_places_is_of_image(s, files[i].path, image))
			return files[i].path;
	if (has_identity(image))
		return NULL;
	found = find_only_one(files, n, NULL);
	return found || !*s->root ? found : find_only_one(files, n, s->root);
}

struct image_place image_place_find(const struct symbolizer *s, const struct image *image)
{
	cleanup(free_at_exit) char *bare = image_path_without_mark(image);
	struct image_place place = { .path = xasprintf("%s%s", s->root, bare), .root = s->root };
	const char *found = NULL;

	if (s->image_places.files.n &&
	    (access(place.path, R_OK) < 0 ||
	     (has_identity(image) && !image_places_is_of_image(s, place.path, image))))
		found = find_listed(s, image, bare);
	if (found) {
		free(place.path);
		place.path = xstrdup(found);
		place.root = image_places_is_below(found, s->root) ? s->root : "";
	}
	place.below = place.path + strlen(place.root);
	return place;
}

char *symbolizer_image_file(const struct symbolizer *s, const struct image *image)
{
	return image_place_find(s, image).path;
}

bool symbolizer_image_owner(const struct symbolizer *s, const struct image *image, uint32_t *user)
{
	struct image_place place = image_place_find(s, image);
	struct stat st;
	bool is_there = guard_stat_below(place.root, place.below, &st) == 0;

	free(place.path);
	if (is_there)
		*user = st.st_uid;
	return is_there;
}

int symbolizer_check_image_dirs(const struct symbolizer *s, struct error *err)
{
	if (s->image_places.missing.n)
		return error_set(err, -ENOENT, "--image-path: %s is not a directory",
				 s->image_places.missing.data[0]);
	return 0;
}
