/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/kept_names.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_id.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/pieces.h"
#include "fleet/fleet_names.h"
#include "symbol/cache.h"

#define NAME_BYTES_MAX (256u << 20)

/* Whether the folder `to` has no index of this build, or one of a worse source of names. */
static bool is_index_wanted(const char *from, const char *to, const char *name)
{
	cleanup(free_at_exit) char *hex = xstrndup(name, strcspn(name, "."));
	struct build_id id;
	int is, has;

	if (!build_id_parse(hex, &id))
		return false;
	is = cache_status(from, &id);
	has = cache_status(to, &id);
	return is >= 0 && names_quality((enum symbol_status)is) >
				  (has < 0 ? 0 : names_quality((enum symbol_status)has));
}

/* Piece by piece, as an index may have many MiB. */
static void copy_names(const char *source, const char *copy)
{
	struct file_mapping file;
	struct file_bytes bytes;

	if (file_map(source, &file, NULL) < 0)
		return;
	bytes = (struct file_bytes){ .data = file.base,
				     .size = file.size,
				     .rest = file.guard ? piece_rest : NULL };
	if (file.size <= NAME_BYTES_MAX)
		file_replace_bytes(copy, FILE_MODE_OF_UMASK, &bytes, NULL);
	if (file_is_cut(&file)) /* its end was read as zeros */
		unlink(copy);
	file_unmap(&file);
}

void kept_names_copy(const char *from, const char *to)
{
	DIR *d = opendir(from);
	const struct dirent *entry;

	while (d && (entry = readdir(d))) {
		cleanup(free_at_exit) char *source = xasprintf("%s/%s", from, entry->d_name);
		cleanup(free_at_exit) char *copy = xasprintf("%s/%s", to, entry->d_name);
		const char *dot = strrchr(entry->d_name, '.');

		if (dot && !strcmp(dot, ".sym") && is_index_wanted(from, to, entry->d_name))
			copy_names(source, copy);
	}
	if (d)
		closedir(d);
}
