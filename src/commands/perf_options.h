/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf's names of options, for people who know perf: a table for each command that perf has, too.
 */
#pragma once

#include "cli/options.h"

extern const struct option_alias perf_record_options[], perf_report_options[],
	perf_annotate_options[], perf_script_options[], perf_stat_options[], perf_top_options[],
	perf_diff_options[];

/* perf's commands that have another name here: "list" is "events". NULL for others. */
const char *perf_command_here(const char *name);
