/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The classes of a group block, packed by kind. A kind is (counter, application, comm, cgroup). New
 * processes appear all the time, but most have the kind of a recent process, so only their process
 * id has to be stored. Every block has its own kinds, so a damaged block does not make others
 * unreadable.
 */
#pragma once

#include "store/block.h"

void kinds_encode(struct block_encoder *e, struct buf *out, const struct profile_class *classes,
		  uint32_t n);

/* Fills in the block's classes, all or none. False: they don't decode. */
bool kinds_decode(struct unpacker *u, struct reader *r, const struct block_header *h,
		  struct segment *seg);
