/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the sample files of OProfile (operf, oprofiled, or our own --store=oprofile) to a
 * session. They have neither times nor stacks: all samples are of one second, with the one frame
 * that they are in; arcs of the call graph are kept beside them (machine/image.h).
 */
#pragma once

#include <stdbool.h>

#include "import/import.h"

bool import_is_oprofile(const char *path);

/*
 * As import_file(). A sample file that can't be read is damage: the others are in the session,
 * and out->damage names the first.
 */
int import_oprofile(const struct import_config *config, struct import_result *out,
		    struct error *err);
