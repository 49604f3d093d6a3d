/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of `assay doctor`: those of counter/probe.h, and what names and kernel programs need.
 */
#pragma once

#include "counter/probe.h"

struct check {
	const char *name; /* as printed, and the key in JSON */
	probe_function probe;
};

extern const struct check checks[]; /* ends with { NULL } */
