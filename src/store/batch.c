/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/batch.h"

void batch_fini(struct batch *b)
{
	vec_fini(&b->steps);
	b->n = 0;
}

struct tree_step *batch_steps(struct batch *b, uint32_t n)
{
	vec_reserve(&b->steps, MAX(b->steps.n + n, (size_t)2 * BATCH_STEPS));
	return b->steps.data + b->steps.n;
}

bool batch_add(struct batch *b, const struct tree *tree, const struct batch_sample *sample)
{
	tree_hash_steps(tree, b->steps.data + b->steps.n, sample->n_steps);
	b->steps.n += sample->n_steps;
	b->samples[b->n++] = *sample;
	return b->n == BATCH_SAMPLES || b->steps.n >= BATCH_STEPS;
}

void batch_settle(struct batch *b, struct tree *tree, struct tally *tally,
		  struct sample_times *times)
{
	const struct tree_step *steps = b->steps.data;

	tree_fetch_nodes(tree, steps, (uint32_t)b->steps.n);
	for (uint32_t i = 0; i < b->n; i++) {
		const struct batch_sample *s = &b->samples[i];

		uint32_t row = tally_add(tally, s->class, tree_descend(tree, steps, s->n_steps),
					 s->samples, s->period);

		if (s->time_ns && s->samples <= UINT32_MAX)
			vec_push(times, (struct timed_sample){ s->time_ns, row,
							       (uint32_t)s->samples, s->period });
		steps += s->n_steps;
	}
	b->n = 0;
	b->steps.n = 0;
}

uint64_t batch_memory(const struct batch *b)
{
	return b->steps.cap * sizeof(*b->steps.data);
}
