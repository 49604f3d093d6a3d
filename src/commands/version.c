/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/version.h"

#include <stdio.h>

#include "config.h"

int version_print(void)
{
	printf("assay %s\n", ASSAY_VERSION);
	for (const char *const *f = (const char *const[]){ ASSAY_FEATURES, NULL }; *f; f++)
		printf("  %s\n", *f);
	return 0;
}
