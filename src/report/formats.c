/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "report/formats.h"

const struct report_format *report_format_find(const char *name)
{
	for (const struct report_format *const *f = report_formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}
