/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of sampled JIT code, from perf map files.
 *
 * A compiler appends to its map as long as it runs, and often removes the map at the end. The map
 * lies in the compiler's own mount and pid namespace. So the process's /tmp is held open from its
 * first JIT sample on. The map is read when the process or the recording ends, by a job
 * (file_jobs.h).
 */
#pragma once

#include <stdint.h>

#include "event/loss.h"
#include "guard/limits.h"
#include "machine/image.h"
#include "pipeline/file_jobs.h"

struct jit_names;

/*
 * Anybody can write a file of that name in /tmp. So a map of another user than the process's or
 * root, or with more than JIT_MAP_LIMIT bytes or JIT_MAP_LINES lines (machine/perf_map.h), is not
 * read, and `lose` is called with the reason. The sampled addresses of a user's processes take
 * JIT_HITS_USER_BYTES at most, and those of all users JIT_HITS_BYTES; then a process has no names.
 */
struct jit_function;
struct jit_names_config {
	const char *proc;       /* copied */
	struct file_jobs *jobs; /* freed before the names are */
	/* A function that was hit. `start` and `size` are runtime addresses and bytes. `name` is
	 * valid during the call. */
	void (*visit)(void *context, image_id image, uint64_t start, uint64_t size,
		      const char *name);
	/* Looks in the process's jitdump first: machine_find_function(). NULL: there are none. */
	bool (*find)(void *context, int32_t pid, uint64_t addr, struct jit_function *out);
	void (*lose)(void *context, enum loss_reason reason);
	void *context;
};

struct jit_names *jit_names_new(const struct jit_names_config *config);
void jit_names_free(struct jit_names *j); /* NULL is fine */

/* A sample, or a caller in its call chain, has this address. */
void jit_names_hit(struct jit_names *j, int32_t pid, image_id image, uint64_t addr);

/*
 * Names what the jitdump of a process has, has its map read for the rest, and forgets the process.
 * file_jobs_take() visits functions of the map.
 */
void jit_names_finish(struct jit_names *j, int32_t pid);

/* The same for all processes that are left; it forgets their addresses alone. */
void jit_names_finish_all(struct jit_names *j);

/* Maps that are still to be read. */
uint32_t jit_names_pending(const struct jit_names *j);
