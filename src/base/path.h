/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of paths, as texts: nothing is looked up. */
#pragma once

#include <stddef.h>

/* What follows the last '/', or all. A part of `path`; "" for a path that ends with '/'. */
const char *path_file_name(const char *path);

/* The length of the text before the last '/': 0 without a '/', and for "/x". */
size_t path_folder_len(const char *path);

/* Returns that text: "." without a '/', "/" for "/x". The caller frees it. */
char *path_folder(const char *path);

/* The path as a pattern of glob(3) that matches nothing else. The caller frees it. */
char *path_to_pattern(const char *path);
