/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing gigabytes to a file from the front to the back, past the page cache, for several threads
 * of which none may wait for the disk.
 *
 *   bytes ──copied──► blocks of two megabytes ──a thread, O_DIRECT──► disk
 *
 * The page cache costs more than the disk: a new page for each 4 KB, cleared, accounted, written
 * back and thrown away. A copy into memory that is used again and again and a direct write of it
 * take a tenth of that (docs/intel-pt.md has the numbers), and who puts waits for no disk as long
 * as blocks are free. Where the file system can't write directly, the thread writes as usual.
 *
 * What is put together stands together. A place in the file is taken under a lock, and filled
 * without: who is held up while he copies holds up the disk, and nobody else.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/mem.h"

struct direct_writer;

enum { DIRECT_BLOCK = 2 << 20 /* what is written at once: a huge page */ };

/*
 * Writes from the file's beginning on; `fd` stays the caller's. Begins a thread. `memory_bytes`:
 * what may wait for the disk, at least some blocks; then who puts waits, too.
 */
struct direct_writer *direct_writer_new(int fd, uint64_t memory_bytes);

/* The parts, one behind the other. Returns where in the file they are. Any thread. */
uint64_t direct_writer_put(struct direct_writer *w, const struct iovec *parts, size_t n);

/* Up to where the file is taken; up to where it is written, or given up. */
uint64_t direct_writer_size(struct direct_writer *w);
uint64_t direct_writer_done(struct direct_writer *w);

/* What was put up to now goes to the file soon. */
void direct_writer_flush(struct direct_writer *w);

/* The negative errno of the first write that failed, after which nothing is written; 0. */
int direct_writer_failure(struct direct_writer *w);

/* How long somebody who put had to wait for the disk, as its memory was used up; 0: never. */
uint64_t direct_writer_waited_ns(struct direct_writer *w);

/*
 * Writes the rest and waits for all; the file is then one that is written as usual. Frees, too.
 * *written: the bytes from the file's beginning on that are on it. NULL is fine.
 */
int direct_writer_close(struct direct_writer *w, uint64_t *written);
