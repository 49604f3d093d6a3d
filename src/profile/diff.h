/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The difference of two profiles, function by function or call chain by call chain.
 *
 * Functions are equal by image and name, not by address. So two builds can be compared. The image
 * counts by its file name without a version behind ".so", the function by its demangled name. Code
 * without a name is one row for each image.
 *
 * Weights are compared as shares of their profile's total, because two runs never have the same
 * length. A change is significant if chance is not likely to make it. The test is the pooled
 * two-proportion z-test on the counts of samples:
 *
 *   z = (p2 - p1) / sqrt(p (1 - p) (1/n1 + 1/n2)),  p = (x1 + x2) / (n1 + n2)
 *
 * Samples of a fixed rate are independent draws of the places of the time, as this test needs. The
 * test does not know of other differences between runs (another input, a busy machine).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/strings.h"
#include "profile/profile.h"

enum diff_side { DIFF_OLD, DIFF_NEW };

/* From this |z| on, a change is marked. Chance reaches it once in 100, once in 1000 comparisons. */
#define DIFF_LIKELY  2.576
#define DIFF_CERTAIN 3.291

struct diff_row {
	string_id image, symbol; /* of struct diff; symbol "": code without a name */
	uint64_t self[2], total[2];
	struct weight own[2];   /* as self, by samples and events */
	uint32_t parent, depth; /* trees: index of the row above, NO_INDEX at the top; else 0 */
};

struct diff {
	VEC(struct diff_row) rows; /* trees: parents before children; flat: in no order */
	uint64_t whole[2];         /* what shares are of */
	uint64_t samples[2];       /* what the test is of */
	uint64_t period[2];        /* ns, or events */
	bool is_tree;
	struct strings names;
};

/*
 * Compares one lane of each. `by_period` weighs by events; the test is of samples in any case.
 * For trees the profiles are loaded with chains. *out is the caller's to diff_fini().
 */
void diff_functions(const struct profile *const profiles[2], const uint32_t lanes[2],
		    bool by_period, struct diff *out);
void diff_tree(const struct profile *const profiles[2], const uint32_t lanes[2], bool by_period,
	       struct diff *out);
void diff_fini(struct diff *d);

/* What a row is compared by: its own weight in a list, its total in a tree. */
static inline const uint64_t *diff_weights(const struct diff *d, const struct diff_row *row)
{
	return d->is_tree ? row->total : row->self;
}

double diff_share(const struct diff *d, const struct diff_row *row, enum diff_side side);
double diff_change(const struct diff *d, const struct diff_row *row); /* of shares: -1 … 1 */
double diff_z(const struct diff *d, const struct diff_row *row);

/*
 * Absolute amounts: ns of clocks, else events. `row` NULL: of the whole. A sample stands for its
 * period. As the length of a run is not fixed, the variance of x samples is x periods squared.
 */
double diff_time(const struct diff *d, const struct diff_row *row, enum diff_side side);
double diff_time_variance(const struct diff *d, const struct diff_row *row, enum diff_side side);
double diff_time_z(const struct diff *d, const struct diff_row *row);
