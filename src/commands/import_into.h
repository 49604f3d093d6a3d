/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assay import --into: the session becomes a part of a history (store/history/history.h). It is
 * made under a hidden name, which readers of the history pass over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct pushed_names;

/*
 * Finds the hidden folder for a new part, and removes such folders that imports left which were
 * killed. The caller frees *dir. -E2BIG: the history has too many parts.
 */
int import_into_begin(const char *history, char **dir, struct error *err);

/*
 * Gives the part its name. `pushed`: somebody else chose the times and the names; NULL: nobody did.
 * The times must be of this week: a part of the far future would never be the oldest, and drive out
 * all others. The history has so many names at most (store/history/pushed_names.h). The hidden
 * folder is gone afterwards, also on failure.
 */
int import_into_finish(const char *history, const char *dir, const struct pushed_names *pushed,
		       struct error *err);
