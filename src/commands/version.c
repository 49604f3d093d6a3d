/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/version.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/lazy_library.h"
#include "base/mem.h"
#include "config.h"

struct feature {
	const char *name;
	bool is_built;
	const char *sonames; /* of a library that is loaded when it is used; else "" */
};

static bool is_missing(const struct feature *f)
{
	return f->is_built && *f->sonames && !lazy_library_is_installed(f->sonames);
}

int version_print(void)
{
	static const struct feature features[] = { ASSAY_FEATURES };

	printf("assay %s\n", ASSAY_VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		const struct feature *f = &features[i];

		if (is_missing(f))
			printf("  %s: missing, as %s is not installed\n", f->name, f->sonames);
		else
			printf("  %s: %s\n", f->name, f->is_built ? "yes" : "no");
	}
	return 0;
}
