/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay buildid-cache --kcore. */
#pragma once

#include <stdbool.h>

struct build_id;
struct error;

/*
 * Copies the code of the kernel whose memory is `kcore` (/proc/kcore) to the cache, unless there is
 * a copy with the same modules at the same addresses. With `is_verbose`, prints the place. The file
 * must be named kcore, with kallsyms and modules beside it, and with ../sys/kernel/notes for the
 * build id. A recording's kcore_dir has no notes.
 */
int buildid_kcore_add(const char *cache, const char *kcore, bool is_verbose, struct error *err);

/* Whether the path has that name. */
bool buildid_kcore_is(const char *path);

/* The build id beside a kcore. */
int buildid_kcore_id(const char *kcore, struct build_id *id, struct error *err);

/* Visits each copy in order: CACHE/[kernel.kcore]/HEX/TIME. The visit may remove the copy. */
void buildid_kcore_each(const char *cache,
			void (*visit)(void *context, const char *hex, const char *time),
			void *context);
