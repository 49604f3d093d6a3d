/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a session's segments, as its writer sees them: blocks that are put one behind the
 * other, each whole or not at all.
 *
 * A disk may take seconds, and who reads the kernel's rings can't wait for it: so a thread can
 * write in his place. He waits for it as long as a disk that is well takes, and so learns of
 * failures at once; what takes longer stays with the thread, up to a limit, and what became of it
 * is told later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/sharing.h"

struct error;
struct segment_writer;

/* What may wait for the disk: a few minutes of a second each, at a daemon's rate. */
#define WRITER_BYTES (4u << 20)

/* With a thread, `behind`; where there can be none, without. Files are made in `dir`. */
struct segment_writer *segment_writer_new(const char *dir, const struct sharing *sharing,
					  bool behind);

/*
 * The bytes at `at` of a segment, behind all that it has; the file is made if need be. 0: they are
 * there. 1: not yet. Negative: they are not, and the file is as it was: -EBUSY, where as much waits
 * as may.
 */
int segment_writer_put(struct segment_writer *w, uint32_t segment, uint64_t at,
		       const uint8_t *bytes, size_t size, struct error *err);

/*
 * What became of puts that returned 1, in their order: *n_done of them are there since this was
 * asked last. 0: so are all. 1: not yet. Negative: the next one is not, nor are those behind it,
 * which are given up. With `waits`, it is never 1.
 */
int segment_writer_result(struct segment_writer *w, bool waits, size_t *n_done, struct error *err);

/* Waits for the thread. NULL is fine. */
void segment_writer_free(struct segment_writer *w);

/* Of all writers from now on, for tests: instead of pwrite(2); NULL: that. */
typedef ssize_t (*writer_pwrite)(int fd, const void *bytes, size_t size, off_t at);
void segment_writer_set_pwrite(writer_pwrite f);
