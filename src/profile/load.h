/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The segments of a session into a profile. Inside profile/. */
#pragma once

#include "profile/load_part.h"

/* Adds all samples that the query takes, and sets index->parts. */
void load_segments(struct profile *p);

/* Whether the profile has the row of the block at hand. The first pass must have seen all rows. */
bool load_takes_sample(const struct profile *p, const struct load_part *part,
		       const struct count_row *row);

/* The group of a row that is taken; NO_GROUP: the first pass has not seen such a row. */
uint32_t load_known_group(const struct profile *p, struct load_part *part,
			  const struct count_row *row);
