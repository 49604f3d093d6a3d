/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A segment as its readers see it: tables of names, classes and call tree nodes, and blocks of
 * counts that refer to them. The rows of a block are decoded when they are read
 * (store/row_reader.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "event/loss.h"
#include "machine/image.h"
#include "store/store.h"

/* A node of the call tree. nodes[0] is the root and has no code; parents come before children. */
struct tree_node {
	uint32_t parent;
	struct code_addr code; /* image: index into segment->images */
};

/* The samples of one (class, node) in one block. */
struct count_row {
	uint32_t class, node;
	uint64_t samples, period;
};

struct count_rows {
	struct count_row *data;
	size_t n, cap;
};

/* A sample whose time is known to the microsecond. */
struct timed_sample {
	uint64_t time_ns;
	uint32_t row;     /* its place among the rows of the block */
	uint32_t samples; /* usually 1 */
	uint64_t period;
};

struct sample_times {
	struct timed_sample *data;
	size_t n, cap;
};

struct loss_row {
	enum loss_reason reason;
	uint32_t counter; /* UINT32_MAX: all or not known */
	uint64_t n;
};

/* size_bytes 0: stands for a damaged part; it has a loss and no rows. */
struct block {
	uint64_t first_ns, last_ns; /* time of the first and last sample */
	uint64_t samples;           /* sum over its rows */
	uint32_t n_rows, n_losses;
	/*
	 * The time of the first sample that has an exact one (store/row_reader.h). It may be before
	 * first_ns. 0: the block has no exact times.
	 */
	uint64_t timed_ns;
	uint64_t file_off, size_bytes; /* in the segment's file */
	const struct loss_row *losses;
};

struct segment {
	const char *name; /* the file's name */
	const char *host; /* of a fleet: the host; NULL: the session's */
	const char **strings;
	struct image *images; /* [0] is [unknown] */
	struct profile_class
		*classes; /* app, comm and cgroup are indexes into images and strings */
	struct tree_node *nodes;
	struct code_symbol *symbols; /* an image's may stand in an earlier segment, too */
	struct block *blocks;
	uint32_t n_strings, n_images, n_classes, n_nodes, n_symbols, n_blocks;
};
