/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of containers and pods in a session: the file DIR/containers, beside samples/. A
 * daemon's history has one file for all of its parts, so merging and removing parts does not change
 * it.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "machine/container_names.h"
#include "store/session.h"

/* The path of the file of a session or of a part of a history. The caller frees it. */
char *containers_file(const char *dir);

/* Adds the names of a file that assay wrote. A missing file adds nothing. */
void containers_read(struct container_names *n, const char *file);

/* Shortens a file of more than 4 MiB: removes the older half of the names. */
void containers_trim(const char *file);

/* Adds a name to the file. False: the write failed. */
bool containers_append(const char *file, const char *id, const char *name);

/*
 * Appends the lines of the file `here` whose names the file `there` lacks, or has otherwise. A
 * missing file has no lines. Returns their number.
 */
uint32_t containers_missing(const char *here, const char *there, struct buf *out);

/*
 * Adds lines "ID NAME" to a file that assay wrote, and overwrites `lines`. Other lines are left
 * out. A name replaces that of its id. Above 4 MiB, the names that came first go. Returns a
 * negative errno if the file can't be read or written, if it is no regular file, or if it is larger
 * than CONTAINER_TEXT_MAX; then it is as it was.
 */
int containers_merge(const char *file, char *lines, struct error *err);

/* Adds the names of a session and of its parts. */
void containers_of_session(struct container_names *n, const struct session *s);
