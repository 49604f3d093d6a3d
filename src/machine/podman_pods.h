/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of podman's pods, from podman's database: of its storage and its libraries, only the
 * database has them.
 *
 *	bolt_state.db   up to podman 4.7, a bbolt file: the bucket allPods has a name for each id.
 *	                Pages of little-endian numbers; a bucket is a tree of branch and leaf pages,
 *	                or a small one stands in its own value (go.etcd.io/bbolt, page.go).
 *	db.sql          since podman 4.8, SQLite: the table PodConfig, whose first columns are ID
 *and Name. Pages of big-endian numbers (sqlite.org/fileformat2.html).
 *
 * Both are read as bytes: SQLite's library would lock a file that podman writes, and in another
 * user's folder. podman may write at that moment: what does not fit is left out, and the file is
 * read again when it has changed. The time is bounded by the number of entries that are looked at.
 */
#pragma once

#include <stddef.h>

#include "machine/container_names.h"

/* Which of both the first bytes tell; any other file has no names. */
void podman_parse_pods(struct container_names *n, const void *bytes, size_t size);
