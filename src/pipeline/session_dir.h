/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes room for a new session. An existing session is kept as DIR.old, as perf does. */
#pragma once

#include <stdbool.h>

struct error;

/*
 * Renames a session at `dir` to DIR.old (and removes an older DIR.old), or removes an empty
 * directory. Refuses anything else there, and sessions of a newer assay (-EPROTONOSUPPORT). Returns
 * 1 if a session was renamed, 0 if the place was free, or a negative errno.
 */
int session_dir_make_room(const char *dir, struct error *err);

/* Undoes it after a failed start: removes `dir`, and renames DIR.old back if it `was_renamed`. */
void session_dir_put_back(const char *dir, bool was_renamed);
