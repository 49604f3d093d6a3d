/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assay import --into: the session becomes a part of a history (store/history/history.h). It is
 * made under a hidden name, which readers of the history pass over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

/*
 * Finds the hidden folder for a new part, and removes such folders that imports left which were
 * killed. The caller frees *dir. -E2BIG: the history has too many parts.
 */
int import_into_begin(const char *history, char **dir, struct error *err);

/*
 * Gives the part its name. `is_pushed`: somebody else chose the times, so they must be of this
 * week: a part of the far future would never be the oldest, and drive out all others. The hidden
 * folder is gone afterwards, also on failure.
 */
int import_into_finish(const char *dir, bool is_pushed, struct error *err);
