/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code to the function that holds it, for blocks that leave the machine (store/history/blocks.h).
 *
 * All addresses of a function become one place, which every reader of sessions finds in this
 * function again. Readers look for callers one byte before the return address. So the place is one
 * byte behind the function's start, and only a function of one byte that called nothing has its
 * start itself.
 *
 * Functions are those of the image's symbol table or, if it is stripped, those of its unwind
 * tables. Code of no function keeps its offset, as a better file may name it later. If its offset
 * means nothing outside the process (image.h: UNKNOWN, JIT, BPF), the offset becomes 0.
 */
#pragma once

#include <stdbool.h>

#include "machine/image.h"

struct code_symbol;
struct functions;
struct store;
struct symbolizer;

/* Whether an offset of the image means nothing outside its process. */
static inline bool image_is_of_process(const struct image *image)
{
	return image->kind == IMAGE_UNKNOWN || image->kind == IMAGE_JIT || image->kind == IMAGE_BPF;
}

/* How a frame is used: its code is looked up at its offset, or one byte before. */
enum code_use { CODE_LEAF, CODE_CALLER, N_CODE_USES };

/* `images` and `symbols` outlive it. */
struct functions *functions_new(const struct image_table *images, struct symbolizer *symbols);
void functions_free(struct functions *f); /* NULL is fine */

/*
 * A name or line that the session has for code without a file, in the order of the recording. The
 * text stays the caller's and outlives `f`. All come before the first functions_place().
 */
void functions_give(struct functions *f, const struct code_symbol *symbol);

struct code_addr functions_place(struct functions *f, struct code_addr code, enum code_use use);

/* Gives back the memory that the image's names are mapped to, until its next functions_place(). */
void functions_rest(const struct functions *f, image_id image);

/* Whether the names of the image take so much memory that some of it should rest in between. */
bool functions_are_many(const struct functions *f, image_id image);

/* Tells a store the given names of the functions that functions_place() has found so far. */
void functions_name(struct functions *f, struct store *store);
