/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last lines of `record`: samples, losses, sizes and costs, and warnings about missing samples.
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>

struct counters;
struct recorder_result;

/* All of it stays the caller's. */
struct record_summary {
	const char *output; /* path of the session or recording */
	const struct counters *counters;
	bool has_trace;  /* Intel PT */
	bool is_program; /* a front end, which prints a summary itself */
};

void record_summary_print(const struct record_summary *s, const struct recorder_result *r);
