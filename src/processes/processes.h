/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Printing a process report: what `assay report --processes` and `prospect` share. */
#pragma once

#include "processes/process_report.h"

enum processes_format { PROCESSES_TEXT, PROCESSES_JSON, PROCESSES_CSV, PROCESSES_HTML };
#define PROCESSES_FORMATS "text|json|csv|html"

struct processes_output {
	enum processes_format format;
	const char *path;    /* NULL: standard output */
	bool wide, no_pager; /* of text */
	bool is_csv_raw;     /* base/csv.h */
};

/* Of PROCESSES_FORMATS. */
enum processes_format processes_format_find(const char *name);

int processes_print(struct process_report *r, const struct processes_output *o, struct error *err);
