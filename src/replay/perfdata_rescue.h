/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a readable file of a perf.data file that could not be written to its end.
 */
#pragma once

#include <stdint.h>

/*
 * Keeps the records from `start` on that end before `limit`. If a piece of trace crosses the limit,
 * its first part is kept, and its record is written again. Cuts the file there, at *end. 0 or a
 * negative errno.
 */
int perfdata_rescue_cut(int fd, uint64_t start, uint64_t limit, uint64_t *end);
