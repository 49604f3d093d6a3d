/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a jitdump: the part of jit_code.h that one thread takes away and another brings back. It
 * opens the file, has the parser read it (jit_piece.h), and keeps an index of the code.
 *
 * One thread at a time uses a reader. Nobody looks code up in a reader that is away.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/loss.h"
#include "foreign/jitdump.h"
#include "guard/budget.h"
#include "machine/jit_index.h"

struct jit_reader_config {
	const char *proc; /* the process lives, and `path` is as it sees it; NULL: it has ended */
	int32_t pid;
	const char *path;
	struct guard_pool *pool; /* of all dumps; NULL: no limit */
};

struct jit_reader {
	char *proc, *path;
	int32_t pid;
	uint32_t user;         /* for file_jobs.h; UINT32_MAX: not known yet */
	int fd;                /* -1: not open */
	bool is_tried;         /* to open it */
	bool is_over;          /* there is nothing more to read, or to find */
	enum loss_reason loss; /* why a dump that was open gives no names, or N_LOSS_REASONS */
	struct guard_pool *pool;
	struct guard_share share;
	struct jitdump dump;
	struct jit_index index; /* of the codes */
	uint32_t flags;         /* of jit_piece.h */
	uint64_t read_off;      /* of the file: records before it were read */
	uint64_t seen_bytes;    /* the file's size then */
	uint64_t read_until_ns; /* records written before then were read; 0: none yet */
};

struct jit_reader *jit_reader_new(const struct jit_reader_config *config);
void jit_reader_free(struct jit_reader *r); /* NULL is fine */

/* Opens the file at the first call. False: there is no readable dump. */
bool jit_reader_open(struct jit_reader *r);

/* Opens the file, and reads the records that were added since the last call. */
void jit_reader_read(struct jit_reader *r);

/* The dump gives no names from now on, as later records could replace the known ones. */
void jit_reader_refuse(struct jit_reader *r, enum loss_reason loss);
