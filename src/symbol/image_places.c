/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/image_places.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files/file.h"

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void image_places_list(struct image_places *p, const char *dir)
{
	char *const roots[] = { (char *)dir, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	const FTSENT *entry;

	while (walk && (entry = fts_read(walk))) {
		struct listed_file file;

		if (entry->fts_info != FTS_F &&
		    (entry->fts_info != FTS_SL || !file_is_regular(entry->fts_path)))
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
	pthread_mutex_init(&p->lock, NULL);
	for (size_t i = 0; i < n; i++) {
		cleanup(free_at_exit) char *below = xasprintf("%s/%s", root, dirs[i]);

		if (*root && is_folder(below))
			vec_push(&p->dirs, take_ptr(below));
		else if (is_folder(dirs[i]))
			vec_push(&p->dirs, xstrdup(dirs[i]));
		else
			vec_push(&p->missing, xstrdup(dirs[i]));
	}
}

void image_places_fini(struct image_places *p)
{
	vec_foreach (&p->files, file)
		free(file->path);
	vec_foreach (&p->dirs, dir)
		free(*dir);
	vec_foreach (&p->missing, dir)
		free(*dir);
	vec_fini(&p->files);
	vec_fini(&p->dirs);
	vec_fini(&p->missing);
	pthread_mutex_destroy(&p->lock);
}

const struct listed_file *image_places_all(struct image_places *p, size_t *n)
{
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->dirs.n && !p->is_listed; i++)
		image_places_list(p, p->dirs.data[i]);
	if (p->files.n && !p->is_listed)
		qsort(p->files.data, p->files.n, sizeof(*p->files.data), image_places_by_name);
	p->is_listed = true;
	pthread_mutex_unlock(&p->lock);
	*n = p->files.n;
	return p->files.data;
}

const struct listed_file *image_places_find(struct image_places *p, const char *name, size_t *n)
{
	size_t low = 0, high, n_files;
	const struct listed_file *files = image_places_all(p, &n_files);

	for (high = n_files; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(files[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < n_files && !strcmp(files[high].name, name);)
		high++;
	*n = high - low;
	return files ? files + low : NULL;
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

const char *image_places_only(struct image_places *p, const char *name, const char *root)
{
	size_t n;
	const struct listed_file *files = image_places_find(p, name, &n);
	const char *found = find_only_one(files, n, NULL);

	return found || !*root ? found : find_only_one(files, n, root);
}
