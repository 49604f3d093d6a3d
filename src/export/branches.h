/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of a recording's branch stacks: the input of compilers and linkers that optimise.
 *
 * An entry of a stack is a branch taken. The newest entry comes first. The code between the target
 * of a branch and the next newer branch is a range without a branch taken.
 *
 *   entry i+1: from ──► to ─┐ range
 *   entry i:   from ◄───────┘ ──► to
 *
 * Places are of one image, as offsets in its file.
 */
#pragma once

#include <stdint.h>

#include "base/build_id.h"
#include "base/mem.h"

struct error;
struct replay;

#define NOT_HERE UINT64_MAX /* an end of a branch that is in another image */

struct branch_count {
	uint64_t from, to; /* of a range: its first and its last instruction */
	uint64_t count, mispredicted;
	bool is_from_elsewhere; /* a range: it was entered from another image */
};

struct branch_list {
	struct branch_count *data;
	size_t n, cap;
};

struct branches {
	char *path; /* of the image */
	struct build_id build_id;
	struct branch_list branches, ranges;
	struct branch_list addresses; /* of the samples themselves: `from` */
	uint64_t n_samples;           /* with a branch stack */
};

/*
 * Reads the recording to its end. `image`: a glob of its path or name; NULL: the image with the
 * most branches. Lists are sorted by their places. *damage describes a damaged recording. -ENODATA:
 * there are no branch stacks, or none in the image.
 */
int branches_load(struct replay *replay, const char *image, struct branches *out,
		  struct error *damage, struct error *err);
void branches_fini(struct branches *b);

/*
 * After branches_load(): the name of an event that it left out, as its branch records are call
 * stacks (PERF_SAMPLE_BRANCH_CALL_STACK); NULL: there is none. The text belongs to the replay.
 */
const char *branches_call_stack_event(struct replay *replay);
