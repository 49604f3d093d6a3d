/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of perf script: a line a sample, the frames of its call chain on the lines below.
 *
 *   comm  pid[/tid] [cpu] flags time: period event: addr sym+off (dso)
 *   comm  pid[/tid] [cpu] flags time: period event: payload
 *   <tab> addr sym+off (dso)
 *   <tab> addr sym (inlined)
 *
 * Any of the fields but the process and one of time and event may be missing, as -F chooses
 * them; comm may have blanks and digits. Lines of perf script --header, and of side-band
 * events (--show-mmap-events and the like), are known; of the latter only LOST counts.
 * The format is what perf's builtin-script.c prints (perf-script(1), perf 3.10 to 6.x).
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
 * Reads all samples; lines that are none are counted in `facts`. 0, or what the sink refused with.
 */
int perf_script_read(struct slice text, struct foreign_sink *sink, struct foreign_facts *facts);
