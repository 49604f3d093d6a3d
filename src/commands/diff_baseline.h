/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The old sessions of `diff --against-history`. */
#pragma once

#include <stdint.h>

#include "base/mem.h"

struct error;

struct diff_baseline {
	VEC(char *) paths; /* the newest first */
};

/*
 * The last sessions in the directory `dir`, at most `most`, that have ended. `except` is left out.
 * -ENOENT: there are fewer than two.
 */
int diff_baseline_find(const char *dir, const char *except, uint64_t most,
		       struct diff_baseline *out, struct error *err);
void diff_baseline_fini(struct diff_baseline *b);
