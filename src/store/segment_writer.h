/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the segment files of a session. A block is in the file whole or not at all.
 *
 * A disk may take seconds, and the thread that reads the kernel's rings can't wait so long. So
 * another thread can write for it. The caller waits as long as a healthy disk takes, and learns of
 * a failure at once. Slower writes stay with the thread, up to WRITER_BYTES;
 * segment_writer_result() returns their results later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/sharing.h"

struct error;
struct segment_writer;

/* Bytes that may wait for the disk: at a daemon's rate, a few minutes of seconds. */
#define WRITER_BYTES (4u << 20)

/* `behind`: with a thread, if one can be made. Files are made in `dir`. */
struct segment_writer *segment_writer_new(const char *dir, const struct sharing *sharing,
					  bool behind);

/*
 * Puts bytes at the offset `at` of a segment, which is the end of its file. The file is made if it
 * is missing. Returns 0 when the bytes are written, and 1 when they wait for the disk. Negative:
 * they are not written and the file is unchanged. -EBUSY: WRITER_BYTES are waiting already.
 */
int segment_writer_put(struct segment_writer *w, uint32_t segment, uint64_t at,
		       const uint8_t *bytes, size_t size, struct error *err);

/*
 * The results of puts that returned 1, in their order. *n_done: the puts that were completed since
 * the last call. Returns 0 if none is left, 1 if some still wait (never with `waits`). Negative:
 * the next put failed; it and all later puts are dropped.
 */
int segment_writer_result(struct segment_writer *w, bool waits, size_t *n_done, struct error *err);

/* Waits for the thread. NULL is fine. */
void segment_writer_free(struct segment_writer *w);

/* For tests: all writers use this function instead of pwrite(2). NULL: pwrite(2) again. */
typedef ssize_t (*writer_pwrite)(int fd, const void *bytes, size_t size, off_t at);
void segment_writer_set_pwrite(writer_pwrite f);
