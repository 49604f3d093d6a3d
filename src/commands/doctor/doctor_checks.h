/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The checks of `assay doctor`: the probes of counter/probe.h, and the needs of names and of kernel
 * programs.
 */
#pragma once

#include "counter/probe.h"

struct check {
	const char *name; /* as printed, and the key in JSON */
	probe_function probe;
};

extern const struct check checks[]; /* ends with { NULL } */
