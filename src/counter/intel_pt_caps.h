/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The abilities of this processor's Intel PT, in words: from the driver's caps/ in sysfs, else from
 * CPUID (leaf 7, EBX bit 25; leaf 0x14: Intel SDM volume 3, "Detection of Intel Processor Trace").
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct counter_sources;

/* Whether the processor says that it has Intel PT, by itself or by its driver. */
bool intel_pt_is_there(const struct counter_sources *sources);

/* One thing that it can, or can't. */
struct intel_pt_cap {
	const char *key;   /* as the file in caps/ */
	const char *title; /* "cycle-accurate timing" */
	const char *short_title;
	bool has;
	char text[200]; /* a sentence: its purpose, and its terms with the possible values */
};

/* In the order of importance. Nothing is visited where nothing is known. */
void intel_pt_each_cap(const struct counter_sources *sources,
		       void (*visit)(void *context, const struct intel_pt_cap *cap), void *context);

/*
 * Appends the abilities as a list, for example "cycle-accurate timing, MTC timing, 2 address
 * filters"; nothing if there are none.
 */
void intel_pt_summary(const struct counter_sources *sources, struct buf *out);
