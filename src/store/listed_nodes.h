/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call tree nodes of a block at function level: the block lists its codes, and a node names its
 * code by the number in the list.
 *
 * Half of such a block would else be addresses of new calls. At function level, few codes have many
 * callers. In the list, a code takes the distance to the one before it, and a call takes the
 * difference of two numbers. Blocks of single addresses have one call for most codes, so they gain
 * nothing.
 */
#pragma once

#include "store/block.h"
#include "store/listed_tree.h"

/* As nodes_encode(). The tree loses its lists of calls. */
void listed_nodes_encode(struct block_encoder *e, struct buf *out, struct listed_tree *tree,
			 uint32_t first, uint32_t *disk_ids);

/* Whether the bytes are of this layout: those of nodes_encode() never begin so. */
bool nodes_are_listed(const uint8_t *bytes, size_t size);

/* As nodes_decode_codes(), of bytes that are listed. */
int listed_nodes_decode(struct unpacker *u, const uint8_t *bytes, size_t size, uint32_t first,
			uint32_t n, uint32_t n_images, struct coded_nodes *out);
