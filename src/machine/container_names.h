/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of containers and pods by their ids, and the text that keeps them: a line each, ID NAME.
 *
 * All of it is hostile: names are chosen in containers. An id is short and of plain characters; a
 * name is cut at 255 bytes, its control characters become '?'; there are at most 65,536 names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_NAME_SIZE 256
#define CONTAINER_TEXT_MAX  (8 << 20) /* bytes of a file of names */

struct container_names;

struct container_names *container_names_new(void);
void container_names_free(struct container_names *n); /* NULL is fine */

/* A later name of an id counts. False: it is no id or no name, or there is no room. */
bool container_names_put(struct container_names *n, const char *id, const char *name);

/* Of a whole id, or of its first 12 digits where the text had these; NULL: none. */
const char *container_names_find(const struct container_names *n, const char *id);

/*
 * Takes the lines of a text, which is written to. Empty lines and those that begin with # are left
 * out. Returns the number of the first line that is not ID NAME, 0: all are; the others are taken.
 */
unsigned int container_names_parse(struct container_names *n, char *text);
