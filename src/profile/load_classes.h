/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The classes of a segment while a profile is loaded (load.c). Inside profile/. */
#pragma once

#include <stdbool.h>

#include "profile/context.h"
#include "profile/load_part.h"

/* Sets the columns of `part` that have an entry for each class. */
void load_add_classes(struct profile *p, struct load_part *part);

/* What a row has beside its class; 0: nothing, or not known. */
struct row_extra {
	uint32_t waker; /* of profile->wakers */
	uint32_t parallelism;
};

struct row_extra load_row_extra(const struct profile *p, const struct load_part *part,
				const struct count_row *row);

/* The place of the group of an extra and part->groups's index; *is_new: it has none yet. */
uint32_t *load_extra_group(struct load_part *part, const struct row_extra *extra,
			   uint32_t class_and_context, bool *is_new);

/* The values of the profile's class keys for class i, as index_group() wants them. */
void load_class_values(struct profile *p, const struct load_part *part, uint32_t i,
		       enum sample_context context, const struct row_extra *extra,
		       uint32_t *values);

/* Whether samples are kept apart by the key, in rows or in columns. */
bool load_wants_key(const struct profile *p, enum profile_key key);

/*
 * Sets part->alike. Classes with the same values of all keys that the request needs are alike.
 * False: there are too many that differ.
 */
bool load_find_alike(const struct profile *p, struct load_part *part);

/* Which columns there are is known when all samples have been looked at. */
void load_find_lanes(struct profile *p, struct load_part *parts);

/* Whether a lane has several applications, and which unit masks a merged one has. */
void load_describe_lanes(struct profile *p, const struct load_part *parts);

/* Of the two in part->apps: of one class, or of two in one lane. */
uint32_t load_both_apps(uint32_t a, uint32_t b);

/* Whether no filter needs both the class and the code of a row. */
bool load_takes_any_row(const struct query *q);

/* Notes the names of processes and threads, by the samples of their classes. */
void load_add_names(struct profile *p, const struct load_part *part);
