/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A choice of processes by user and by name, for the in-kernel sampler. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct process_filter {
	bool has_uid;
	uint32_t uid;     /* effective */
	const char *comm; /* a glob, as fnmatch(3) has it, for the first thread's name; NULL: any */
};

#define COMM_TOKENS_MAX 31

/*
 * A glob as an automaton of bits. State bit n: the first n tokens fit the text so far. A byte `b`
 * turns state s to ((s & takes[b]) << 1) | (s & stays); it begins as 1. The text fits if bit `end`
 * is set at last. A token is a character, a ? or a bracket expression.
 */
struct comm_masks {
	uint32_t takes[256]; /* bit n: the byte fits token n */
	uint32_t stays;      /* bit n: a star is between tokens n - 1 and n */
	uint32_t end;
};

/* -EINVAL: it has more than COMM_TOKENS_MAX tokens, so no name fits. */
int comm_masks_make(const char *glob, struct comm_masks *out, struct error *err);
bool comm_masks_fit(const struct comm_masks *masks, const char *text);
