/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples on their way into the call tree and the tally, many at a time.
 *
 * The tables are larger than the caches, and the places of samples are unpredictable. So a lookup
 * waits for memory twice, for its slot and for its node. For single samples, these waits take most
 * of the time. A batch goes through the tables in stages, and each stage prefetches the memory that
 * the next stage reads. So the cache misses overlap. Samples keep their order, so the tables are
 * the same as without batches.
 *
 * Not safe for threads, as the tables.
 */
#pragma once

#include "store/tables.h"

#define BATCH_SAMPLES 64
#define BATCH_STEPS   512 /* a longer chain is a batch alone */

struct batch {
	struct batch_sample {
		uint64_t samples, period;
		uint64_t time_ns; /* 0: not known exactly */
		uint32_t class, n_steps;
	} samples[BATCH_SAMPLES];
	uint32_t n;
	VEC(struct tree_step) steps; /* of all samples, one after the other */
};

void batch_fini(struct batch *b);

/*
 * Returns room for a chain of n frames at the end of the batch. The caller fills in image and
 * offset, outermost frame first, and then calls batch_add(). The room is valid until the next call.
 */
struct tree_step *batch_steps(struct batch *b, uint32_t n);

/*
 * Adds the sample of the chain that was filled last. Returns true when the batch is full: call
 * batch_settle().
 */
bool batch_add(struct batch *b, const struct tree *tree, const struct batch_sample *sample);

/*
 * Adds all samples of the batch to the tables, their exact times to *times, and empties the batch.
 */
void batch_settle(struct batch *b, struct tree *tree, struct tally *tally,
		  struct sample_times *times);
uint64_t batch_memory(const struct batch *b);
