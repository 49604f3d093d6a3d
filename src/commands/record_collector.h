/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collector of a recording (the rings, or the sampler in the kernel) and the source of stacks.
 */
#pragma once

#include <stdbool.h>

#include "commands/record_setup.h"
#include "record/recorder.h"

/*
 * Whether the kernel counts the samples: the requested collector or the best one; the rings if it
 * is not possible. s->note then says which functions are missing.
 */
bool record_choose_sampler(struct record_setup *s);

/* The sampler could not be started. So s->note says more than record_choose_sampler() wrote. */
void record_note_fallback(struct record_setup *s);

/*
 * Only BPF can measure off-CPU time. Without it, the command fails rather than recording only a
 * half.
 */
int record_check_off_cpu(const struct record_setup *s, struct error *err);

/* -EPERM: labels were asked for, and rings cannot have them. */
int record_check_labels(const struct record_setup *s, bool in_kernel, struct error *err);

#define LABELS_OPTION(field)                                                                  \
	{                                                                                     \
		0, "labels", "NAME[,NAME…]", OPT_LIST, (field), NULL,                         \
			"also record these labels (Go's pprof.Do; OpenTelemetry), at most 8", \
			"Labels are data of users, so assay records none of them unless you " \
			"name them. *trace* and *span* are the labels trace\\_id and "        \
			"span\\_id. *report --by label:NAME*, *--by trace* and *--by span* "  \
			"show them. It needs root, or CAP_BPF and CAP_PERFMON, and x86-64."   \
	}

/*
 * --python-trampoline: the command that starts next will have Python's perf trampoline. False: it
 * was not asked for, or the sampler in the kernel makes it needless.
 */
bool record_begin_trampoline(const struct record_setup *s, bool in_kernel);

enum stack_source record_choose_stacks(const struct record_setup *s, bool in_kernel);
