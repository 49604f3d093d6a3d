/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether this machine takes the in-kernel sampler. This is the one place that decides:
 * record, daemon, prospect and doctor all ask here, and so never contradict each other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "counter/reason.h"

enum sampler_obstacle {
	OBSTACLE_NONE,
	OBSTACLE_BUILD,       /* this assay has no BPF program */
	OBSTACLE_PERMISSION,  /* this user lacks capabilities */
	OBSTACLE_LOCKDOWN,    /* BPF may not read kernel memory */
	OBSTACLE_FILTER,      /* bpf(2) is refused to who has the capabilities */
	OBSTACLE_NO_PROC,     /* nothing tells what runs, nor in which pid namespace we are */
	OBSTACLE_NO_TYPES,    /* no BTF, or none that can be read */
	OBSTACLE_OTHER_TYPES, /* the BTF of another kernel */
	OBSTACLE_OLD_KERNEL,  /* it lacks what the program needs */
	OBSTACLE_REFUSED,     /* all that is known to be needed is there: a fault of assay or of
				 the kernel */
};

struct sampler_support {
	enum sampler_obstacle obstacle;
	enum reason reason; /* whose remedy helps against the obstacle; may be REASON_NONE */
	bool can_unwind;    /* by unwind tables; else by frame pointer */
	char why[640];      /* of the obstacle, else of !can_unwind; no full stop */
};

/* By permissions and features. On a machine of files, they alone decide. */
void sampler_support_check(const struct counter_sources *sources, struct sampler_support *out);

/* In addition, all programs of the sampler are loaded once, which takes some 50 ms. */
void sampler_support_try(const struct counter_sources *sources, struct sampler_support *out);
