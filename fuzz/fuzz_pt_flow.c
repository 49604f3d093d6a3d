/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flow of Intel PT: the first 64 bytes are code that repeats through all of memory but a hole,
 * the rest is trace, decoded twice: with all branches and with calls alone, which must count the
 * same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "pt/flow.h"

enum { CODE = 64 };

static size_t read_code(void *context, uint32_t space, uint64_t addr, uint8_t *out, size_t size)
{
	(void)space;
	if ((addr >> 12 & 7) == 7)
		return 0;
	for (size_t i = 0; i < size; i++)
		out[i] = ((const uint8_t *)context)[(addr + i) % CODE];
	return size;
}

static void ignore(void *context, const struct pt_event *events, size_t n)
{
	(void)context;
	(void)events;
	(void)n;
}

static struct pt_flow_stats decode(const uint8_t *data, size_t size, bool all_branches)
{
	struct pt_memory memory = { read_code, (void *)data };
	struct pt_flow_config config = { .clock = { .ctc_numerator = 100,
						    .ctc_denominator = 2,
						    .mtc_shift = 3,
						    .max_ratio = 20 },
					 .events = ignore };
	struct pt_code *code = pt_code_new(&memory, 0, 64, all_branches);
	struct pt_flow *flow = pt_flow_new(&config, code);
	struct pt_flow_stats stats;
	uint8_t *own = xmalloc(size - CODE + 1); /* so that a read beyond it is seen */

	memcpy(own, data + CODE, size - CODE);
	for (int i = 0; i < 20; i++) /* until it is hot */
		pt_flow_feed(flow, own, size - CODE);
	stats = *pt_flow_stats(flow);
	pt_flow_free(flow);
	pt_code_free(code);
	free(own);
	return stats;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pt_flow_stats all, calls;

	if (size < CODE || size > 4096)
		return 0;
	all = decode(data, size, true);
	calls = decode(data, size, false);
	/* How far an endless loop was followed is a matter of how long the runs are. */
	if ((all.insns != calls.insns && !all.errors[PT_ERR_LOOP]) ||
	    memcmp(all.errors, calls.errors, sizeof(all.errors)) != 0)
		abort();
	return 0;
}
