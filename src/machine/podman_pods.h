/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of podman's pods. Only podman's database has them, neither its storage nor its libraries'
 * files.
 *
 *	bolt_state.db   up to podman 4.7, a bbolt file: the bucket allPods has a name for each id.
 *	                Pages of little-endian numbers. A bucket is a tree of branch and leaf pages;
 *	                a small bucket is inside its own value (go.etcd.io/bbolt, page.go).
 *	db.sql          since podman 4.8, SQLite: the table PodConfig, whose first columns are ID
 *	                and Name. Pages of big-endian numbers (sqlite.org/fileformat2.html).
 *
 * Both are read as bytes, because SQLite's library would lock a file that podman writes, and in
 * another user's folder. podman may write at that moment. So entries that don't fit are left out,
 * and a changed file is read again. A limit of entries bounds the time.
 */
#pragma once

#include <stddef.h>

#include "machine/container_names.h"

/* The first bytes select the format; a file of neither format has no names. */
void podman_parse_pods(struct container_names *n, const void *bytes, size_t size);
