/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folders of sessions: the old ones of `diff --against-history`, and both sides of `diff
 * --in-turn`. */
#pragma once

#include <stdint.h>

#include "base/mem.h"

struct error;

struct dated_session {
	char *path;
	uint64_t start_ns; /* when it was begun: wall clock */
};

struct diff_baseline {
	VEC(struct dated_session) sessions; /* the newest first */
};

/*
 * The last sessions in the directory `dir`, at most `most`, that have ended. `except` is left out;
 * it may be NULL.
 * -ENOENT: there are fewer than two.
 */
int diff_baseline_find(const char *dir, const char *except, uint64_t most,
		       struct diff_baseline *out, struct error *err);
void diff_baseline_fini(struct diff_baseline *b);
