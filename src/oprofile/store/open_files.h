/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sample files that are being written, found by the parts of their names, so a sample needs one
 * lookup and no text. At most `limit` files are mapped; at the limit, the half that was not used
 * for the longest time is closed.
 */
#pragma once

#include <stdint.h>

struct open_files;
struct sample_file;
struct error;

/* Part of a name: an image, and of anonymous memory the process and the region. */
struct file_image {
	uint32_t image;
	int32_t pid;
	uint64_t start;
};

/* All bytes count: begin with memset(). */
struct file_key {
	struct file_image main, dep, callee;
	uint32_t counter, is_arc;
	int32_t tgid, tid, cpu;
};

/* Counters, to which counts that could not be written are added. An arc is no sample. */
struct unwritten {
	uint64_t *samples, *arcs;
};

struct open_files *open_files_new(uint32_t limit);

/* The file of the key, or NULL: then it is opened by the caller and put here. */
struct sample_file *open_files_find(struct open_files *o, const struct file_key *key);

/* Takes the file over. Closing others can fail as sample_file_flush() does. */
int open_files_put(struct open_files *o, const struct file_key *key, struct sample_file *file,
		   const struct unwritten *u, struct error *err);

/* Applies what all files have gathered. */
int open_files_flush(struct open_files *o, const struct unwritten *u, struct error *err);

/* The bytes by which the files grew, as far as they were flushed. */
uint64_t open_files_grown(const struct open_files *o);

/* Closes all, without a flush. NULL is fine. */
void open_files_free(struct open_files *o);
