/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PMU of Intel Processor Trace: the defaults of its config terms, and the values that this
 * processor supports. The bits of terms come from the PMU's format/, the abilities of the processor
 * from its caps/ (the kernel's Documentation/ABI/testing/sysfs-bus-event_source-devices-caps and
 * perf-intel-pt(1)). Used inside of counter/, except for the texts about a finished counter.
 */
#pragma once

#include "base/buf.h"
#include "counter/draft.h"

#define INTEL_PT "intel_pt"

/* What an event has before its own terms: tsc, MTCs where there are some, pt and branch. */
void intel_pt_defaults(const struct counter_sources *sources, struct perf_event_attr *attr);

/*
 * To be called after the terms. Sets the fixed bits, and refuses values that this processor lacks
 * with a list of the supported ones. -EINVAL; -EOPNOTSUPP: the processor has no Intel PT.
 */
int intel_pt_check(const struct counter_sources *sources, const char *spec, struct draft *d,
		   struct error *err);

/* Modifiers: u and k alone. */
int intel_pt_modifiers(const char *letters, const char *spec, struct error *err);

/* Why there is no such PMU: one sentence, without a full stop. */
void intel_pt_absence(const struct counter_sources *sources, struct buf *out);

/* Of a finished counter. */

/* So that samples find a PSB in their few KB: PSBs as often as can be, unless the user said how. */
void intel_pt_for_samples(const struct counter_sources *sources, struct counter *c);

/* About how many bytes of trace there are from PSB to PSB; 0: not known. */
uint64_t intel_pt_psb_bytes(const struct counter_sources *sources, const struct counter *c);

/* The bits of attr.config that a term has; 0: there is no such term. */
uint64_t intel_pt_bits(const struct counter_sources *sources, const char *term);
