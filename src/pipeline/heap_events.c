/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/heap_events.h"

#include <math.h>

void heap_events_describe(struct counter_info out[N_HEAP_EVENTS], uint64_t mean_bytes)
{
	static const char *const texts[N_HEAP_EVENTS][2] = {
#define X(id, name, unit) { name, unit },
		HEAP_EVENTS(X)
#undef X
	};

	for (int i = 0; i < N_HEAP_EVENTS; i++)
		out[i] = (struct counter_info){
			.name = texts[i][0],
			.spec = texts[i][0],
			.unit = texts[i][1],
			.count = i == HEAP_EVENT_ALLOC_BYTES ? mean_bytes : 0,
			.in_user = true,
		};
}

struct heap_estimate heap_estimate(uint64_t bytes, uint64_t mean_bytes)
{
	double blocks = -1 / expm1(-(double)bytes / (double)mean_bytes);

	return (struct heap_estimate){ (double)bytes * blocks, blocks };
}
