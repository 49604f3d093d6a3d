/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A perf.data file that could not be written to its end: what is there becomes a whole one.
 */
#pragma once

#include <stdint.h>

/*
 * The records from `start` on, up to the last that ends before `limit`; of a piece of trace that
 * crosses it, what is before: its record is written again. *end is where they end, and the file,
 * too. 0 or a negative errno.
 */
int perfdata_rescue_cut(int fd, uint64_t start, uint64_t limit, uint64_t *end);
