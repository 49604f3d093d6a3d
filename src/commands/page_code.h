/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures of a report, with source and assembly for the page. */
#pragma once

#include <stdio.h>

struct error;
struct picture;
struct picture_source;
struct profile_request;

/* Writes a picture into a file, which is a whole one or none. path NULL: nothing is to do. */
int picture_write(const struct picture_source *source,
		  void (*print)(const struct picture *pic, FILE *out), const char *path,
		  struct error *err);

/*
 * The heaviest functions of the session, with their lines and instructions as far as their files
 * are here: JSON as of `assay annotate`. The request is that of the report. The caller frees the
 * text. NULL: there is none.
 */
char *page_code(const struct profile_request *of);
