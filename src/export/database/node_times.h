/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a profile by call path, then time, then class. This is the key of their table, and
 * a table that is filled in the order of its key needs no sorting and no index.
 */
#pragma once

#include "profile/profile.h"

struct error;

/* Samples with the same key are one, with the sum of their weights. */
typedef void node_time_visitor(void *context, const struct profile_sample *row);

/* Visits each of them once, in this order; the profile was loaded with_samples. 0 or -errno. */
int node_times_each(struct profile *p, node_time_visitor *visit, void *context, struct error *err);
