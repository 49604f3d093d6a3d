/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay report --latency: how long the calls of each function took, of a processor trace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

struct input;

struct latency_command {
	struct input *in;
	const char *input, *output, *format, *sort, *cache;
	const char *html,
		*perfetto; /* files to write calls over time to, in place of the report … */
	const char *time;  /* … of this window (script_time_parse()); NULL: of all time */
	const char *tids;  /* likewise, of these threads: numbers, separated by commas; NULL: all */
	uint64_t limit;
	bool wide, no_pager, is_csv_raw;
};

/* 0; -EINVAL: wrong usage; another negative errno. *is_damaged: what comes before was reported. */
int latency_report(const struct latency_command *c, bool *is_damaged, struct error *err);
