/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples counted without a profile, to compare with one. */
#pragma once

#include "sessions.h"

#define N_SEEDS 12

static inline struct profile *load(const struct fake *f, const struct query *q, const char *keys)
{
	struct profile_request request = { .session = &f->joined,
					   .symbols = f->symbols,
					   .query = q,
					   .with_functions = true,
					   .with_chains = true };

	if (keys)
		assert_int_equal(key_list_parse(&request.keys, keys, NULL), 0);
	return profile_load(&request);
}
