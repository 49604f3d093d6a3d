/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of containers and pods that a session keeps: the file DIR/containers, beside samples/.
 * A daemon's history has one for all of its parts, so merging and removing parts leave it alone.
 */
#pragma once

#include <stdint.h>

#include "machine/container_names.h"
#include "store/session.h"

/* Of a session or a part of a history. The caller's. */
char *containers_file(const char *dir);

/* Takes the names of a file that assay wrote; nothing where there is none. */
void containers_read(struct container_names *n, const char *file);

/* Cuts a file beyond 4 MiB: the older half of the names goes. */
void containers_trim(const char *file);

/* Adds a name to the file. False: it could not be written. */
bool containers_append(const char *file, const char *id, const char *name);

/* Those of a session and of its parts. */
void containers_of_session(struct container_names *n, const struct session *s);
