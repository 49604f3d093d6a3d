/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a profile by call path, then second, then class. This is the key of their table,
 * and a table that is filled in the order of its key needs no sorting and no index.
 */
#pragma once

#include "profile/profile.h"

struct error;

struct node_second {
	uint32_t node, group;
	uint64_t second; /* since the session's start, in whole seconds of the clock */
	struct weight weight;
};

/* Visits each of them once, in this order; the profile was loaded with_samples. 0 or -errno. */
typedef void node_second_visitor(void *context, const struct node_second *row);
int node_seconds_each(struct profile *p, node_second_visitor *visit, void *context,
		      struct error *err);
