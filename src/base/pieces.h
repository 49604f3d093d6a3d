/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large mapped bytes, read piece by piece. The memory of a piece is given back once it was read. So
 * a process needs one piece of memory for a file of any size.
 *
 *	for (size_t n; size; at += n, size -= n) {
 *		n = piece_size(at, size);
 *		…
 *		piece_rest(at, n);
 *	}
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)1 << 20)

/* The next piece of `left` bytes. It ends at a multiple of PIECE_BYTES, or with the bytes. */
static inline size_t piece_size(const void *at, size_t left)
{
	size_t n = PIECE_BYTES - ((uintptr_t)at & (PIECE_BYTES - 1));

	return n < left ? n : left;
}

/*
 * The bytes are part of a mapping, and they were not changed in memory: they are read again from
 * the file at the next use. A page that is only partly of the piece stays.
 */
static inline void piece_rest(const void *at, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)at + page - 1) / page * page;
	uintptr_t to = ((uintptr_t)at + size) / page * page;

	if (to > from)
		madvise((void *)from, to - from, MADV_DONTNEED);
}
