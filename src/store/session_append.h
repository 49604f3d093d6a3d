/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins sessions on disk that were written side by side. */
#pragma once

struct error;

/*
 * Moves the segments of the native session `part` behind those of the session `dir`, as if one
 * recorder had written all. Renumbers them and adds the samples before them to their headers. Both
 * sessions must be whole and ours, without a writer. After success, `part` is gone. After a
 * failure, both are unchanged, except for the segments that were moved already.
 */
int session_append(const char *dir, const char *part, struct error *err);
