/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The classes of a group block, by kind: (counter, application, comm, cgroup). New processes come
 * all the time, but mostly of a kind that came a moment ago, so what is left to tell is their
 * process id. Kinds begin anew with every block, so that a damaged one costs no other.
 */
#pragma once

#include "store/block.h"

void kinds_encode(struct block_encoder *e, struct buf *out, const struct profile_class *classes,
		  uint32_t n);

/* Fills the block's classes, all of them or none. False: they don't decode. */
bool kinds_decode(struct unpacker *u, struct reader *r, const struct block_header *h,
		  struct segment *seg);
