/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of sampled JIT code, from perf map files.
 *
 * A compiler appends to its map as long as it runs, and often removes the map at the end. The map
 * lies in the compiler's own mount and pid namespace. So the process's /tmp is held open from its
 * first JIT sample on. The map is read when the process or the recording ends.
 */
#pragma once

#include <stdint.h>

#include "event/loss.h"
#include "machine/image.h"

struct jit_names;

/*
 * Anybody can write a file of that name in /tmp. So a map of another user than the process's or
 * root, or with more than JIT_MAP_LIMIT bytes or JIT_MAP_LINES lines, is not read, and `lose` is
 * called with the reason. `proc` is copied.
 */
#define JIT_MAP_LIMIT ((size_t)16 << 20)
#define JIT_MAP_LINES 400000
typedef void (*jit_names_lose)(void *context, enum loss_reason reason);

struct jit_names *jit_names_new(const char *proc, jit_names_lose lose, void *context);
void jit_names_free(struct jit_names *j); /* NULL is fine */

/* A sample, or a caller in its call chain, has this address. */
void jit_names_hit(struct jit_names *j, int32_t pid, image_id image, uint64_t addr);

/* `name` is valid during the call. `start` and `size` are runtime addresses and bytes. */
typedef void (*jit_name_visit)(void *context, image_id image, uint64_t start, uint64_t size,
			       const char *name);

/* Reads the map of a process, visits each function that was hit, and forgets the process. */
void jit_names_finish(struct jit_names *j, int32_t pid, jit_name_visit visit, void *context);

/* The same for all processes that are left. */
void jit_names_finish_all(struct jit_names *j, jit_name_visit visit, void *context);
