/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a perf.data that are imported at once: their number and limits
 * (perfdata_read_part()). */
#pragma once

#include <stdint.h>

#include "perfdata/perfdata.h"

#define IMPORT_PARTS_MAX 8

/*
 * The best number of parts for so many bytes of records on this machine. Each processor gets one
 * part of some megabytes. If memory does not hold the file, there is one part, because each part
 * reads the file again. For tests, $ASSAY_IMPORT_PARTS sets the number.
 */
uint32_t import_count_parts(uint64_t bytes);

/*
 * Cuts [start_off, end_off) into n pieces that take the same time. A later piece steps over the
 * bytes before it, so it is shorter. The first begins with the data, and the last has no end.
 */
void import_split(uint64_t start_off, uint64_t end_off, uint32_t n, struct perfdata_part *out);
