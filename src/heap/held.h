/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampled blocks that have not been released, with their stacks. Equal stacks are kept once.
 * One thread uses it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/image.h"
#include "store/store.h"

/* Limits: about 80 bytes a block, and 16 a frame of a stack. */
#define HELD_BLOCKS_MAX ((size_t)1 << 20)
#define HELD_FRAMES_MAX ((size_t)4 << 20)

struct held_block {
	uint64_t id;
	struct profile_class class;
	uint64_t bytes, blocks; /* that it stands for */
	uint64_t size, left;    /* its own bytes, and those that are still held */
	uint32_t stack;
	bool is_cut; /* its stack (pipeline_sample) */
};

struct held;

struct held *held_new(void);
void held_free(struct held *h); /* NULL is fine */

/* False: there is no room, or the id is there already. `block->stack` is set here. */
bool held_add(struct held *h, const struct held_block *block, const struct code_addr *frames,
	      uint32_t n_frames);

/* False: the block is not there. */
bool held_remove(struct held *h, uint64_t id);

/*
 * A part of a mapping ends; the block goes with its last part. False: the block is not there.
 */
bool held_shrink(struct held *h, uint64_t id, uint64_t bytes);

/* `block->bytes` are those of the part that is left. */
typedef void (*held_visitor)(void *context, const struct held_block *block,
			     const struct code_addr *frames, uint32_t n_frames);
void held_each(const struct held *h, held_visitor visit, void *context);
