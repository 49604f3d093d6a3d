/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of containers and pods by their ids, and their text form: one "ID NAME" a line.
 *
 * All of it is hostile: containers choose names. An id is short and of plain characters. A name is
 * cut at 255 bytes, and its control characters become '?'. There are at most 65,536 names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_NAME_SIZE 256
#define CONTAINER_TEXT_MAX  (8 << 20) /* bytes of a file of names */

struct container_names;

struct container_names *container_names_new(void);
void container_names_free(struct container_names *n); /* NULL is fine */

/* A later name of an id replaces the former. False: not an id, not a name, or no room. */
bool container_names_put(struct container_names *n, const char *id, const char *name);

/* The name of a whole id, or of its first 12 digits if the text had these; NULL: none. */
const char *container_names_find(const struct container_names *n, const char *id);

/*
 * Adds the lines of `text`, which it overwrites. Empty lines and lines that begin with # are
 * skipped. Returns the number of the first line that is not "ID NAME" (0: none); the other lines
 * are added.
 */
unsigned int container_names_parse(struct container_names *n, char *text);

/*
 * Splits a line "ID NAME" into both, which are parts of it. False: the line is empty or begins with
 * #. The name is "" if there is none; container_names_put() says whether both are good.
 */
bool container_line_split(char *line, char **id, char **name);
