/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples on their way into the call tree and the tally, some at a time.
 *
 * The tables do not fit into the caches, and where a sample goes nobody can guess: a
 * lookup waits for memory once for its slot and once for its node. Sample by sample that is
 * most of what adding costs. So samples are gathered, and the batch goes through the tables in
 * stages, each of which fetches what the next one reads: the misses overlap.
 * The order of samples is kept, so that the tables are as they would be without.
 */
#pragma once

#include "store/tables.h"

#define BATCH_SAMPLES 64
#define BATCH_STEPS   512 /* a chain may be longer: it is a batch of its own */

struct batch {
	struct batch_sample {
		uint64_t samples, period;
		uint32_t class, n_steps;
	} samples[BATCH_SAMPLES];
	uint32_t n;
	VEC(struct tree_step) steps; /* of all samples, one behind the other */
};

void batch_fini(struct batch *b);

/*
 * Room for a chain of n frames at the end of the batch, outermost frame first, for the caller to
 * fill (image, offset) before batch_add(). Valid until the next call.
 */
struct tree_step *batch_steps(struct batch *b, uint32_t n);

/* The sample of the chain that was filled last. True: the batch is full, settle it. */
bool batch_add(struct batch *b, const struct tree *tree, const struct batch_sample *sample);

/* All of the batch goes into the tables, and the batch is empty. */
void batch_settle(struct batch *b, struct tree *tree, struct tally *tally);
uint64_t batch_memory(const struct batch *b);
