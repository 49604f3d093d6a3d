/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a perf.data recording, with their build ids. */
#pragma once

#include <stdio.h>

struct build_id;
struct error;

/* A file; its build id may be empty. It can come many times. */
typedef void build_id_visitor(void *context, const char *path, const struct build_id *id);

/* All files of the header and of the mapping records. 0 or a negative errno. */
int build_ids_each(const char *path, build_id_visitor *each, void *context, struct error *err);

/* A line for people: the id and the path, in which control characters become visible. */
void build_ids_print(FILE *out, const char *hex, const char *path);
