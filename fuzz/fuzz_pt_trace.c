/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording of Intel PT: what its side band says, its pieces, and samples of all kinds made of
 * it. No file is opened: all paths lie below a folder that is not there.
 */
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "base/mem.h"
#include "event/event.h"
#include "perfdata/perfdata.h"
#include "symbol/symbols.h"
#include "trace/pt_synth.h"

/* Whether the samples stand in the order of time, as the headers say. */
static int take(struct event_sink *sink, const struct event *e)
{
	(void)sink;
	if (e->type != EVENT_SAMPLE && e->type != EVENT_TRACE_ERROR &&
	    e->type != EVENT_TRACE_UNVERIFIED)
		abort();
	return 0;
}

/* The decoder's tables of calls and of code. */
const struct fuzz_limits fuzz_limits = { .floor_kib = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = xmalloc(size + 1); /* so that a read beyond it is seen */
	struct perfdata_bytes bytes = { .base = copy, .size = size, .name = "fuzz" };
	const struct symbolizer_config nowhere = { .root = "/nowhere/at/all" };
	struct pt_trace_config config = { .places = &nowhere, .detail = PT_ALL_BRANCHES };
	struct event_sink sink = { take };

	memcpy(copy, data, size);
	if (perfdata_open(&bytes, 1, &config.data, NULL) == 0 &&
	    perfdata_open(&bytes, 1, &config.side_band, NULL) == 0) {
		struct pt_synth_config synth = { .data = config.data };

		itrace_parse("i50ibxwpoIeg8l4", &synth.itrace, NULL);
		if (pt_trace_open(&config, &synth.trace, NULL) == 0) {
			struct pt_synth *s = pt_synth_new(&synth);

			pt_synth_run(s, 1000000, &sink);
			pt_synth_run(s, UINT64_MAX, &sink);
			pt_synth_free(s);
			pt_trace_close(synth.trace);
		}
	}
	perfdata_free(config.side_band);
	perfdata_free(config.data);
	free(copy);
	return 0;
}
