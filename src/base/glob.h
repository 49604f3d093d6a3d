/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that a user chooses by a glob (fnmatch(3)): "nginx*", "lib?.so". */
#pragma once

#include <stdbool.h>

/*
 * Whether the glob matches the whole name, or is the name: "[kernel]" is a name with brackets,
 * which a glob alone would read as a set of letters.
 */
bool glob_names(const char *glob, const char *name);

/* The same for a path or its last part. */
bool glob_names_file(const char *glob, const char *path);
