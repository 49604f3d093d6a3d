/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command reads: a session, or a perf.data file, which is made one for the time that
 * the command runs. The one place that knows the difference.
 */
#pragma once

#include "store/session.h"

struct error;

/*
 * Opens the session at `path`, or imports the perf.data there ("-": standard input) into $TMPDIR
 * or memory and opens that; it is removed when the process ends, however it does. The session's
 * warnings then say what is missing of the file, and *is_damaged whether it was damaged (exit
 * status 1, after the result).
 */
int input_open(const char *path, struct session **out, bool *is_damaged, struct error *err);
