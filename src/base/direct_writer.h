/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing gigabytes to a file from the front to the back, past the page cache.
 *
 *   bytes ──copied──► blocks of two megabytes ──a thread, O_DIRECT──► disk
 *
 * The page cache costs more than the disk: a new page for each 4 KB, cleared, accounted, written
 * back and thrown away. A copy into memory that is used again and again and a direct write of it
 * take a tenth of that (docs/intel-pt.md has the numbers), and the caller waits for no disk as long
 * as blocks are free. Where the file system can't write directly, the thread writes as usual.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct direct_writer;

enum {
	DIRECT_BLOCK = 2 << 20,  /* what is written at once: a huge page */
	DIRECT_BLOCKS_MAX = 128, /* that wait for the disk at most; then the caller waits */
};

/* Writes from the file's beginning on; `fd` stays the caller's. Begins a thread. */
struct direct_writer *direct_writer_new(int fd);

void direct_writer_put(struct direct_writer *w, const void *bytes, size_t size);

/* What was put up to now, but for the last bytes of a page, goes to the disk soon. */
void direct_writer_flush(struct direct_writer *w);

/* The negative errno of the first write that failed, after which nothing is written; 0. */
int direct_writer_failure(struct direct_writer *w);

/*
 * Writes the rest and waits for all; the file is then one that is written as usual. Frees, too.
 * *written: the bytes from the file's beginning on that are on it. NULL is fine.
 */
int direct_writer_close(struct direct_writer *w, uint64_t *written);
