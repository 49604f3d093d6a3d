/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a synth (pt_synth.h) is asked for. */
#pragma once

#include "perfdata/perfdata.h"
#include "trace/itrace.h"
#include "trace/pt_trace.h"

struct pt_synth_config {
	struct itrace itrace;
	struct perfdata *data; /* gets the new events, by perfdata_add_counter() */
	struct pt_trace *trace;
	struct event_sink *sink; /* may be set later: pt_synth_run() */
};

/* Takes branches in a row: pt_synth_take_branches(). */
typedef int pt_synth_row_fn(void *context, const struct event *first,
			    const struct pt_event *branches, size_t n);
