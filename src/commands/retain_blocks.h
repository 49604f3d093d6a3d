/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay retain --level functions: the blocks of a history (store/history/blocks.h). */
#pragma once

#include <stdbool.h>

struct error;

struct retain_blocks_args {
	const char *path;   /* of a history or a daemon's directory */
	const char *output; /* a directory, which must not exist */
	bool quiet;
};

/*
 * Makes the blocks, and prints their number and sums. A part that can't be read is left out with a
 * warning.
 */
int retain_blocks(const struct retain_blocks_args *args, struct error *err);
