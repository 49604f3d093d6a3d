/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `assay events intel_pt`: the abilities of this processor's Intel PT, and the obstacles to its
 * use.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct counter_sources;
struct error;

/* Is an operand of `assay events` the PMU itself: "intel_pt", "intel_pt//"? */
bool is_intel_pt_itself(const char *name);

/*
 * Writes all that is known. -ENODEV where it can't be recorded here, with the reason; what the
 * processor could do is written all the same.
 */
int explain_intel_pt(const struct counter_sources *sources, bool as_json, FILE *out,
		     struct error *err);
