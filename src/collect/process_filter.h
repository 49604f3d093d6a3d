/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A choice of processes by user and by name, for the in-kernel sampler. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/bpf/shared.h"

struct error;

struct process_filter {
	bool has_uid;
	uint32_t uid;     /* effective */
	const char *comm; /* a glob, as fnmatch(3) has it, for the first thread's name; NULL: any */
};

/* -EINVAL: it has more than COMM_TOKENS_MAX tokens, so no name fits. */
int comm_masks_make(const char *glob, struct comm_masks *out, struct error *err);
bool comm_masks_fit(const struct comm_masks *masks, const char *text);
