/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of a report over time: the samples of each row in steps of seconds. For each event, all
 * series add up to the report's total.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "report/report.h"

/* One key. The profile must be loaded with_slices. */
extern const struct view series_view;

/*
 * Prints {"header": …, "start_seconds": …, "step_seconds": …, "steps": …, "series": […], "lost":
 * […]} (docs/report-json.md). `step_s`: the length of a step, which grows to that of the profile's
 * slices, and until there are at most SERIES_MAX_STEPS; 0: as short as SERIES_STEPS permit.
 */
#define SERIES_STEPS     300
#define SERIES_MAX_STEPS 20000
void series_print_json(const struct report *r, uint64_t step_s, FILE *out);
