/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "report/report.h"

/* A format is its file, a declaration here and a line in the list. */
extern const struct report_format text_format, csv_format, json_format, xml_format;

const struct report_format *const report_formats[] = {
	&text_format, &csv_format, &json_format, &xml_format, NULL,
};

const struct report_format *report_format_find(const char *name)
{
	for (const struct report_format *const *f = report_formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}
