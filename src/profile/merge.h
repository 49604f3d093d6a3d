/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What classes are merged by: OProfile's --merge. What samples are kept apart by and is not merged
 * becomes columns (struct profile_lane); the event always does.
 */
#pragma once

#include <stdint.h>

#include "profile/key.h"

struct error;

/* X(id, word, help) */
#define MERGES(X)                                                              \
	X(CPU, "cpu", "processors")                                            \
	X(LIB, "lib", "applications: an image counts the same in all of them") \
	X(TID, "tid", "threads")                                               \
	X(TGID, "tgid", "processes, and so their threads")                     \
	X(UNITMASK, "unitmask", "events that differ in their unit mask only")

enum merge_bit {
#define X(id, word, help) MERGE_BIT_##id,
	MERGES(X)
#undef X
		N_MERGES
};

enum merge {
#define X(id, word, help) MERGE_##id = 1 << MERGE_BIT_##id,
	MERGES(X)
#undef X
		MERGE_ALL = (1 << N_MERGES) - 1
};

/*
 * Adds the words of "cpu,tid" to *merge (enum merge); "all" is all of them, "none" none. An
 * unknown word is -EINVAL and names the known ones.
 */
int merge_parse(const char *text, uint32_t *merge, struct error *err);

/* The CLASS keys that are columns then, in the order of the columns. */
struct key_list merge_columns(uint32_t merge);
