/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of perf script. A sample has a line, and its frames have the lines below.
 *
 *   comm  pid[/tid] [cpu] flags time: period event: addr sym+off (dso)
 *   comm  pid[/tid] [cpu] flags time: period event: payload
 *   <tab> addr sym+off (dso)
 *   <tab> addr sym (inlined)
 *
 * -F chooses the fields. The process is always there, and the time or the event; all others may
 * be missing. comm may have blanks and digits. The reader passes over lines of perf script --header
 * and of side-band events (--show-mmap-events and the like), but counts LOST. The source of the
 * format is perf's builtin-script.c (perf-script(1), perf 3.10 to 6.x).
 */
#pragma once

#include "foreign/foreign.h"

/* The first line of a sample, or a side-band record. */
struct perf_script_head {
	struct foreign_sample sample; /* without frames */
	struct slice rest;            /* behind the event; of a record: from its name on */
	bool has_time, has_event, is_side_band;
};

bool perf_script_parse_head(struct slice line, struct perf_script_head *h);

/* Whether the line is the first of a sample. */
bool perf_script_is_sample(struct slice line);

/*
 * Reads all samples, and counts other lines in `facts`. 0, or the error of the sink.
 */
int perf_script_read(struct slice text, struct foreign_sink *sink, struct foreign_facts *facts);
