/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The place of a new session: an existing one is kept as DIR.old, as perf does. */
#pragma once

#include <stdbool.h>

struct error;

/*
 * Makes room for a session at `dir`: a session there is renamed to DIR.old (replacing an
 * older .old), an empty directory is removed. Anything else there is refused.
 * Returns 1 when a session was renamed, 0 when the place was free, or a negative errno.
 */
int session_dir_make_room(const char *dir, struct error *err);

/* Undoes it after a failed start: removes `dir`, and if it `was_renamed`, puts DIR.old back. */
void session_dir_put_back(const char *dir, bool was_renamed);
