/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folders of podman's and CRI-O's containers (containers-storage.conf(5)):
 *
 *	of root     /var/lib/containers/storage, and graphroot of /etc/containers/storage.conf, else
 *	            of /usr/share/containers/storage.conf
 *	of a user   ~/.local/share/containers/storage, graphroot of
 *	            ~/.config/containers/storage.conf, and rootless_storage_path of root's file,
 *which may use $HOME, $USER and $UID
 *
 * The files are read once. Users' files are hostile.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"

struct storage_places {
	VEC(char *) paths;
};

#define STORAGES_OF_ROOT (-1)

/* Adds the folders of root or of a user, with `root` in front. An unknown user has none. */
void storage_places_find(struct storage_places *places, const char *root, int64_t user);
void storage_places_fini(struct storage_places *places);

/* A key's text in the section [storage] of such a file; the caller's. NULL: no such key. */
char *storage_conf_get(const char *text, const char *key);
