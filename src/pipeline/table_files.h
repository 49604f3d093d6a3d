/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the file of an image for its unwind table, without waiting for its file system
 * (file_jobs.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/files/file.h"
#include "machine/image_file.h"
#include "pipeline/file_jobs.h"
#include "pipeline/image_looks.h"

struct finder;
struct table_file;

/*
 * Begins to open the file of an image that process `pid` has mapped. With `jobs` NULL, it is open
 * at once. `proc`, `finder`: as for user_stacks_new(). file_jobs_take() adds one to *n_ended.
 */
struct table_file *table_file_begin(struct file_jobs *jobs, struct finder *finder, const char *proc,
				    int32_t pid, const struct image *image, uint64_t *n_ended);
void table_file_free(struct table_file *f); /* NULL is fine */

bool table_file_is_ready(struct table_file *f);

/* Waits until it is ready, or until the time (CLOCK_MONOTONIC). False: the time has come. */
bool table_file_wait(struct table_file *f, uint64_t until_ns);

/* What a ready file has. */
struct table_file_parts {
	struct file_mapping file; /* base NULL: it could not be opened */
	enum image_found found;
	int root_fd;         /* of the root below which it was found: the process's, for one; -1 */
	char *name;          /* the path below that root; NULL: the image's. The caller frees it */
	struct build_id key; /* of a trusted file's table in the cache; len 0: not known */
	struct file_look
		*look; /* at the file of a living process; the caller frees it. NULL: none */
};
/* The parts are the caller's from then on. */
struct table_file_parts table_file_take(struct table_file *f);
