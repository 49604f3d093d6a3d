/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The newest records of an endless recording. Records older than some time, or beyond some bytes,
 * are dropped. They stay in memory until a user requests them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct record_ring;

/* Records of the last keep_ns, of at most max_bytes in all (both coarsely: a piece more). */
struct record_ring *record_ring_new(uint64_t keep_ns, size_t max_bytes);
void record_ring_free(struct record_ring *r); /* NULL is fine */

/* Copies a record; times may come a little out of order. */
void record_ring_push(struct record_ring *r, const void *record, size_t size, uint64_t time_ns);

/* Takes all held records, oldest first; the ring is empty afterwards. */
void record_ring_take(struct record_ring *r,
		      void (*visit)(void *context, const void *record, size_t size), void *context);
