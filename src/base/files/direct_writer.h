/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes gigabytes to a file, from the front to the back and past the page cache. Several threads
 * may put bytes, and none waits for the disk.
 *
 *   bytes ──copied──► blocks of two megabytes ──a thread, O_DIRECT──► disk
 *
 * The page cache costs more than the disk: each 4 KB need a new page, which is cleared, accounted,
 * written back and dropped. A copy into reused memory and a direct write take a tenth of that time
 * (docs/intel-pt.md has the numbers). Nobody waits for the disk while blocks are free. If the file
 * system has no direct writes, the thread writes through the page cache.
 *
 * The bytes of one put stay together. A put takes its place in the file under a lock and copies
 * without it. So a thread that is held up while copying delays the disk, but no other thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/mem.h"

struct direct_writer;

enum { DIRECT_BLOCK = 2 << 20 /* bytes of one write: a huge page */ };

/*
 * Writes from the beginning of the file. The caller owns `fd`. Starts a thread. `memory_bytes`: the
 * most bytes that wait for the disk, at least some blocks; when it is used up, puts wait, too.
 */
struct direct_writer *direct_writer_new(int fd, uint64_t memory_bytes);

/*
 * Appends the parts one after the other. Returns their offset in the file. Any thread may call it.
 */
uint64_t direct_writer_put(struct direct_writer *w, const struct iovec *parts, size_t n);

/* The size of the file with all puts; the bytes that are written or given up. */
uint64_t direct_writer_size(struct direct_writer *w);
uint64_t direct_writer_done(struct direct_writer *w);

/* All bytes put so far are written soon. */
void direct_writer_flush(struct direct_writer *w);

/* The negative errno of the first failed write, or 0. After a failure nothing is written. */
int direct_writer_failure(struct direct_writer *w);

/* The time that puts waited for the disk because the memory was used up, in ns. */
uint64_t direct_writer_waited_ns(struct direct_writer *w);

/*
 * Writes the rest and waits for all; the file is then one that is written as usual. Frees, too.
 * *written: the bytes from the file's beginning on that are on it. NULL is fine.
 */
int direct_writer_close(struct direct_writer *w, uint64_t *written);
