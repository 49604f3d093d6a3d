/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable mappings of one process, ordered by address and not overlapping.
 *
 * Sorted arrays of at most MAPPINGS_RUN mappings, one behind the other, and binary searches. Most
 * processes have one array. A program can have 65,530 mappings and change them all the time: in a
 * single array, each change would move a megabyte.
 *
 * There is no cache in front: on real call chains, neither four entries with random replacement (as
 * in Prospect) nor the last hit made a lookup cheaper (docs/benchmarks.md).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/image.h"

struct mapping {
	uint64_t start, end; /* run-time addresses, end exclusive */
	uint64_t file_off;   /* of start */
	image_id image;
	bool is_absolute; /* offsets are run-time addresses: JIT code */
};

#define MAPPINGS_RUN 256

struct mapping_run {
	struct mapping *data;
	uint32_t n, cap; /* n is at least 1 */
};

struct address_space {
	struct mapping_run *runs;
	size_t n_runs, runs_cap;
	size_t n; /* mappings */
};

void address_space_fini(struct address_space *a);
void address_space_copy(struct address_space *to, const struct address_space *from);
void address_space_clear(struct address_space *a);

/* Maps [start, end), as mmap with MAP_FIXED does: mappings that it overlaps are cut or removed. */
void address_space_map(struct address_space *a, const struct mapping *mapping);

/* The mapping that covers addr, or else the first behind it, or NULL. */
const struct mapping *address_space_next(const struct address_space *a, uint64_t addr);

/* The mapping that covers addr, or NULL. */
const struct mapping *address_space_find(const struct address_space *a, uint64_t addr);
