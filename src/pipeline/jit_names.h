/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of JIT code that samples hit, taken from perf map files.
 *
 * A compiler goes on writing its map while it runs and often removes it at the
 * end, in its own mount and pid namespace. So the process's /tmp is
 * held open from its first such sample on, and the map is read when the process has
 * ended or the recording does.
 */
#pragma once

#include <stdint.h>

#include "machine/image.h"

struct jit_names;

struct jit_names *jit_names_new(const char *proc);
void jit_names_free(struct jit_names *j); /* NULL is fine */

/* A sample or a caller hit this address. */
void jit_names_hit(struct jit_names *j, int32_t pid, image_id image, uint64_t addr);

typedef void (*jit_name_visit)(void *context, image_id image, uint64_t start, uint64_t size,
			       const char *name);

/* Reads the map of one process and visits each function that was hit; forgets the process. */
void jit_names_finish(struct jit_names *j, int32_t pid, jit_name_visit visit, void *context);

/* The same for all that are left. */
void jit_names_finish_all(struct jit_names *j, jit_name_visit visit, void *context);
