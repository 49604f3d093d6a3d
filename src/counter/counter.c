/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/counter.h"

#include <assert.h>

void counter_fini(struct counter *c)
{
	free(c->name);
	free(c->spec);
	free(c->cpus);
	free(c->filter);
	free(c->probed);
}

void counters_fini(struct counters *c)
{
	vec_foreach (c, counter)
		counter_fini(counter);
	vec_fini(c);
}

void counters_drop(struct counters *c, size_t n)
{
	assert(n <= c->n);
	while (c->n > n)
		counter_fini(&c->data[--c->n]);
}
