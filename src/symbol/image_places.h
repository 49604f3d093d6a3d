/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside symbol/: the files in the user's folders, by name. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct listed_file {
	char *path;
	const char *name; /* in path */
};

/* All files below some folders, by name. They are listed at the first question. */
struct image_places {
	VEC(char *) dirs;
	VEC(char *) missing;  /* given folders that do not exist */
	pthread_mutex_t lock; /* of the rest */
	bool is_listed;
	VEC(struct listed_file) files;
};

/*
 * A folder is one below `root` if that exists, else the one at its plain path. Links to files
 * count; links to folders are not followed.
 */
void image_places_init(struct image_places *p, const char *root, const char *const *dirs, size_t n);
void image_places_fini(struct image_places *p);

/* All files, in the order of their names and paths. */
const struct listed_file *image_places_all(struct image_places *p, size_t *n);

/* The files of a name, in the order of their paths. */
const struct listed_file *image_places_find(struct image_places *p, const char *name, size_t *n);

/* The only one of a name, or the only one below the root. NULL: there are several, or none. */
const char *image_places_only(struct image_places *p, const char *name, const char *root);
