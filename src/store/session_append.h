/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions that were written side by side become one on disk. */
#pragma once

struct error;

/*
 * Puts the segments of the native session `part` behind those of the session `dir`, as if they had
 * been written there: numbered on, and told how many samples came before them. Both are whole,
 * are ours, and nobody writes to them any more. `part` is gone after success; after a failure
 * both are as they were but for segments that were put there already.
 */
int session_append(const char *dir, const char *part, struct error *err);
