/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the in-kernel sampler works on this machine. Only this code decides: record, daemon,
 * prospect and doctor all use it, and so never contradict each other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "counter/reason.h"

enum sampler_obstacle {
	OBSTACLE_NONE,
	OBSTACLE_BUILD,      /* this assay has no BPF program */
	OBSTACLE_PERMISSION, /* this user lacks capabilities */
	OBSTACLE_LOCKDOWN,   /* BPF may not read kernel memory */
	OBSTACLE_FILTER,     /* bpf(2) is refused in spite of the capabilities */
	OBSTACLE_NO_PROC,  /* /proc is missing, so that processes and our pid namespace are unknown
			    */
	OBSTACLE_NO_TYPES, /* no readable BTF */
	OBSTACLE_OTHER_TYPES, /* the BTF of another kernel */
	OBSTACLE_OLD_KERNEL,  /* it lacks a feature that the program needs */
	OBSTACLE_REFUSED,     /* all known needs are met: a fault of assay or of the kernel */
};

struct sampler_support {
	enum sampler_obstacle obstacle;
	enum reason reason; /* with the remedy against the obstacle; may be REASON_NONE */
	bool can_unwind;    /* by unwind tables; else by frame pointer */
	char why[640];      /* of the obstacle, else of !can_unwind; no full stop */
};

/* By permissions and features. On a test's machine of files, they alone decide. */
void sampler_support_check(const struct counter_sources *sources, struct sampler_support *out);

/* In addition, all programs of the sampler are loaded once, which takes some 50 ms. */
void sampler_support_try(const struct counter_sources *sources, struct sampler_support *out);
