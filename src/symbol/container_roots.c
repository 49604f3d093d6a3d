/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/container_roots.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/intmap.h"
#include "base/secret.h"
#include "machine/storage_places.h"

struct listing {
	struct container_roots *roots;
	const char *root;
};

/* Takes the path over. */
static void listing_add(struct listing *l, char *path)
{
	if (l->roots->paths.n < CONTAINER_ROOTS_MAX)
		vec_push(&l->roots->paths, path);
	else
		free(path);
}

/* Processes of one container have the same root. */
static void list_running(struct listing *l)
{
	cleanup(free_at_exit) char *proc = xasprintf("%s/proc", l->root);
	cleanup(free_at_exit) char *own = xasprintf("%s/", l->root);
	DIR *d = opendir(proc);
	struct intmap known = { 0 };
	const struct dirent *entry;
	struct stat st;

	if (stat(own, &st) == 0)
		intmap_put(&known, hash_secret_u64(st.st_dev) ^ st.st_ino, NULL);
	while (d && (entry = readdir(d))) {
		char *path;
		bool is_new = false;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		path = xasprintf("%s/%s/root", proc, entry->d_name);
		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			intmap_put(&known, hash_secret_u64(st.st_dev) ^ st.st_ino, &is_new);
		if (is_new)
			listing_add(l, path);
		else
			free(path);
	}
	if (d)
		closedir(d);
	intmap_fini(&known);
}

/* FOLDER/ID/NAME */
static void list_layers(struct listing *l, const char *folder, const char *name)
{
	DIR *d = opendir(folder);
	const struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char *path;

		if (entry->d_name[0] == '.')
			continue;
		path = xasprintf("%s/%s/%s", folder, entry->d_name, name);
		if (access(path, X_OK) == 0)
			listing_add(l, path);
		else
			free(path);
	}
	if (d)
		closedir(d);
}

static void list_storages(struct listing *l, int64_t user)
{
	struct storage_places places = { 0 };

	storage_places_find(&places, l->root, user);
	vec_foreach (&places.paths, storage) {
		cleanup(free_at_exit) char *layers = xasprintf("%s/overlay", *storage);

		list_layers(l, layers, "diff");
	}
	storage_places_fini(&places);
}

void container_roots_init(struct container_roots *roots, const char *root)
{
	static const struct {
		const char *folder, *name;
	} engines[] = {
		{ "/var/lib/docker/overlay2", "diff" },
		{ "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots", "fs" },
	};
	struct listing l = { roots, root };

	*roots = (struct container_roots){ 0 };
	list_running(&l);
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		cleanup(free_at_exit) char *folder = xasprintf("%s%s", root, engines[i].folder);

		list_layers(&l, folder, engines[i].name);
	}
	list_storages(&l, STORAGES_OF_ROOT);
	list_storages(&l, geteuid());
}

void container_roots_fini(struct container_roots *roots)
{
	vec_foreach (&roots->paths, path)
		free(*path);
	vec_fini(&roots->paths);
}
